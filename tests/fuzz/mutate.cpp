#include "fuzz/mutate.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>

namespace meshwright::fuzz {
namespace {

constexpr std::size_t longest = 1 << 16, most_words = 4096;

// What breaks readers: ends of ranges, numbers that are none, empty and deep things, characters that terminals obey.
const std::vector<std::string>& traps() {
  static const std::vector<std::string> all = {"0",
                                               "-0",
                                               "-1",
                                               "1",
                                               "2147483647",
                                               "2147483648",
                                               "-2147483648",
                                               "4294967296",
                                               "9223372036854775807",
                                               "1e308",
                                               "1e309",
                                               "-1e308",
                                               "1e-320",
                                               "NaN",
                                               "Infinity",
                                               "0x10",
                                               "1e400",
                                               "65536",
                                               "16777216",
                                               "16777217",
                                               "null",
                                               "true",
                                               "\"\"",
                                               "[]",
                                               "{}",
                                               "[[]]",
                                               "[[[[[[[[",
                                               "\"\\u0000\"",
                                               "\"\\u001b[31m\"",
                                               "\x1b[2J",
                                               "\xff\xfe",
                                               "\xc3\xa9",
                                               "\xf0\x9f\x9a\x80",
                                               "\xed\xa0\x80",
                                               "\n",
                                               "\r\n",
                                               ",",
                                               ":",
                                               "}",
                                               "]",
                                               "1 GB",
                                               "1e308 GB",
                                               "-1 us",
                                               "50 %",
                                               "1e-300 B/s",
                                               std::string(1, '\0'),
                                               std::string(300, 'a'),
                                               "999999999999999999999999999999"};
  return all;
}

bool in_number(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.'; }

/// First and end of a run of characters of a kind that holds `at` or follows it.
template <class Kind>
std::pair<std::size_t, std::size_t> run_at(const std::string& text, std::size_t at, Kind kind) {
  while (at < text.size() && !kind(text[at])) ++at;
  std::size_t first = at, end = at;
  while (first > 0 && kind(text[first - 1])) --first;
  while (end < text.size() && kind(text[end])) ++end;
  return {first, end};
}

}  // namespace

std::vector<std::string> read_seeds(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.insert(entry.path());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return seeds;
}

Mutator::Mutator(std::vector<std::string> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), generator_(seed) {
  std::set<std::string> words;
  for (const std::string& text : seeds_) {
    for (std::size_t at = 0; at < text.size() && words.size() < most_words;) {
      const auto [first, end] = run_at(text, at, in_word);
      if (end > first) words.insert(text.substr(first, end - first));
      at = std::max(end, at + 1);
    }
  }
  words_.assign(words.begin(), words.end());
}

void Mutator::replace_number(std::string& text) {
  const auto [first, end] = run_at(text, below(text.size()), in_number);
  if (end > first) text.replace(first, end - first, traps()[below(traps().size())]);
}

void Mutator::replace_word(std::string& text) {
  const auto [first, end] = run_at(text, below(text.size()), in_word);
  if (end > first && !words_.empty()) text.replace(first, end - first, words_[below(words_.size())]);
}

void Mutator::change(std::string& text) {
  const std::size_t at = below(text.size() + 1), length = 1 + below(std::size_t{1} << below(8));
  switch (below(9)) {
    case 0:
      return replace_number(text);
    case 1:
      return replace_word(text);
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      return;
    case 3:
      if (at < text.size()) text.erase(at, length);
      return;
    case 4:
      text.insert(at, traps()[below(traps().size())]);
      return;
    case 5:
      if (at < text.size()) text.insert(below(text.size() + 1), text.substr(at, length));
      return;
    case 6: {
      const std::string& other = seeds_[below(seeds_.size())];
      const std::size_t from = below(other.size() + 1);
      if (from < other.size()) text.insert(at, other.substr(from, 4 * length));
      return;
    }
    case 7:
      text.resize(at);
      return;
    default:
      if (at < text.size()) text[at] = static_cast<char>(below(256));
  }
}

std::string Mutator::next() {
  std::string text = seeds_.empty() ? std::string() : seeds_[below(seeds_.size())];
  const std::size_t changes = 1 + below(std::size_t{1} << below(4));
  for (std::size_t i = 0; i < changes; ++i) change(text);
  if (text.size() > longest) text.resize(longest);
  return text;
}

}  // namespace meshwright::fuzz
