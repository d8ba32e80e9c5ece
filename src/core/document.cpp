#include "meshwright/core/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "meshwright/core/text.hpp"

namespace meshwright {
namespace {

bool ends_as(std::string_view text, std::initializer_list<std::string_view> endings) {
  if (text.ends_with(".gz")) text.remove_suffix(3);
  return std::ranges::any_of(endings, [&](std::string_view ending) { return text.ends_with(ending); });
}

bool is_yaml(std::string_view content, std::string_view name) {
  if (ends_as(name, {".yaml", ".yml"})) return true;
  if (ends_as(name, {".json"})) return false;
  const std::size_t first = content.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && std::string_view("{[\"").find(content[first]) == std::string_view::npos;
}

}  // namespace

bool names_document(std::string_view text) { return text == stdin_path || ends_as(text, {".json", ".yaml", ".yml"}); }

bool is_document_file(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return !name.ends_with(".gz") && name != stdin_path && names_document(name);
}

std::string shown_path(const std::filesystem::path& path) {
  return path == std::filesystem::path(stdin_path) ? "stdin" : path.string();
}

Reader read_document(std::string_view content, const std::string& name) {
  return is_yaml(content, name) ? Reader::text(yaml_to_json(content, name), name) : Reader::text(content, name);
}

int parse_size(std::string_view text, const std::string& where, int least, int most) {
  struct Suffix {
    std::string_view text;
    double factor;
  };
  static constexpr std::array suffixes = {Suffix{"", 1}, Suffix{"k", 1024}, Suffix{"K", 1024}, Suffix{"M", 1048576}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  // "010", "1e3" and "0x10" are slips more often than counts.
  const std::string_view digits = text.substr(0, text.size() - suffix.size());
  const bool decimal = error == std::errc{} && digits.find_first_not_of("0123456789.") == std::string_view::npos &&
                       (!digits.starts_with('0') || digits == "0" || digits.starts_with("0."));
  for (const Suffix& one : suffixes) {
    const double count = value * one.factor;
    const bool plain = one.factor > 1 || digits.find('.') == std::string_view::npos;
    if (decimal && plain && suffix == one.text && count == std::floor(count) && count >= least && count <= most)
      return static_cast<int>(count);
  }
  throw Error(where, fmt::format("found '{}', expected a whole number from {} to {}, which may end in k (1,024) or M "
                                 "(1,048,576)",
                                 printable(text), least, most));
}

int read_size(const Reader& member, int least, int most) {
  return member.is_string() ? parse_size(member.string(), member.where(), least, most) : member.integer(least, most);
}

}  // namespace meshwright
