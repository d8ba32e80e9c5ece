#include "calibrate/run_log_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_text.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t longest_value = 1 << 16, longest_section = 128;  // a value may name every module of a model

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

/// Walks over a line.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  bool done() const { return at >= text.size(); }
  char peek() const { return done() ? '\0' : text[at]; }
  void spaces() {
    while (!done() && is_space(text[at])) ++at;
  }
  std::string_view name() {
    const std::size_t start = at;
    while (!done() && in_name(text[at])) ++at;
    return text.substr(start, at - start);
  }
  /// ':' or '=' or a run of dots between a key and its value; false where there is none.
  bool separator() {
    if (peek() == '"' || peek() == '\'') ++at;
    spaces();
    if (peek() == ':' || peek() == '=') {
      ++at;
      spaces();
      return true;
    }
    const std::size_t start = at;
    while (peek() == '.') ++at;
    if (at - start < 2) return false;
    spaces();
    return true;
  }
  /// A quoted text, a list in brackets, or everything up to a blank, a comma, a bar or a closing bracket.
  std::string_view value() {
    const char open = peek();
    const std::size_t start = at;
    if (open == '"' || open == '\'') {
      const std::size_t end = text.find(open, at + 1);
      at = end == std::string_view::npos ? text.size() : end + 1;
      return text.substr(start + 1, at - start - 2);
    }
    if (open == '[') {
      int depth = 0;
      for (; !done(); ++at) {
        depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
        if (depth == 0) break;
      }
      if (!done()) ++at;
      return text.substr(start, at - start);
    }
    while (!done() && !is_space(text[at]) && std::string_view(",|)}]({").find(text[at]) == std::string_view::npos) ++at;
    return text.substr(start, at - start);
  }
};

std::string_view last_part(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

bool says_nothing(std::string_view value) {
  return value.empty() || value == "None" || value == "null" || value == "-1";
}

bool holds(const std::vector<std::string>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::optional<std::string> first_found(const std::vector<std::string>& keys,
                                       const std::map<std::string, std::string>& found) {
  for (const std::string& key : keys) {
    const auto entry = found.find(key);
    if (entry != found.end() && !says_nothing(entry->second)) return entry->second;
  }
  return std::nullopt;
}

bool applies(const LogCondition& when, const std::map<std::string, std::string>& found) {
  if (when.keys.empty()) return true;
  const auto value = first_found(when.keys, found);
  if (!value) return when.or_absent;
  return (when.is.empty() || holds(when.is, *value)) && !holds(when.isnt, *value);
}

/// A printed scalar as JSON: numbers and truth values as such, anything else as a string.
std::string scalar_json(const std::string& printed) {
  if (printed == "True" || printed == "true") return "true";
  if (printed == "False" || printed == "false") return "false";
  std::string digits;
  for (const char c : printed) {
    if (c != ',' && c != '_') digits += c;  // 5,001 and 32_000
  }
  if (const auto number = parse_number(digits)) return fmt::format("{}", *number);
  return json_text(nlohmann::json(printed));
}

/// "[0]*3+[1]*58" and "([0]*3 + [1]*58)" spelled out: every "[x]*n" as n entries.
std::string spelled_out(const std::string& printed) {
  std::string out;
  for (std::size_t i = 0; i < printed.size(); ++i) {
    const std::size_t close = printed[i] == '[' ? printed.find(']', i) : std::string::npos;
    if (close == std::string::npos || close + 1 >= printed.size() || printed[close + 1] != '*') {
      out += printed[i];
      continue;
    }
    int times = 0;
    const char* end = printed.data() + printed.size();
    const auto [rest, error] = std::from_chars(printed.data() + close + 2, end, times);
    const std::string item = printed.substr(i + 1, close - i - 1);
    for (int n = 0; error == std::errc{} && n < std::min(times, 4096); ++n) out += item + ", ";
    i = static_cast<std::size_t>(rest - printed.data()) - 1;
  }
  return out;
}

/// "Et*7|t*8|t*7mL": the layers of each chunk.
std::string layers_json(const std::string& text) {
  std::vector<int> chunks = {0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '|') chunks.push_back(0);
    if (text[i] != 't') continue;
    int times = 1;
    if (i + 1 < text.size() && text[i + 1] == '*')
      std::from_chars(text.data() + i + 2, text.data() + text.size(), times);
    chunks.back() += times;
  }
  if (text.find('(') != std::string::npos) return "";  // repeated groups: not read
  return fmt::format("[{}]", fmt::join(chunks, ", "));
}

/// "[['tok_embeddings', 'layers.0'], ['layers.1', 'norm']]": the layers of each part.
std::string modules_json(std::string_view text) {
  std::vector<int> parts;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' && ++depth == 2) parts.push_back(0);
    if (text[i] == ']') --depth;
    if (depth == 2 && text.substr(i).starts_with("layers.")) ++parts.back();
  }
  return parts.empty() ? "" : fmt::format("[{}]", fmt::join(parts, ", "));
}

/// "['core_attn', 'layernorm']", "core_attn layernorm": those that the row knows, by our names.
std::string names_json(const LogSetting& row, std::string_view printed) {
  const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::vector<std::string_view> known;
  while (!printed.empty()) {
    const auto length = static_cast<std::size_t>(std::ranges::find_if_not(printed, in_name) - printed.begin());
    const auto value =
        std::ranges::find(row.values, printed.substr(0, length), &std::pair<std::string, std::string>::first);
    if (value != row.values.end() && std::ranges::find(known, value->second) == known.end())
      known.push_back(value->second);
    printed.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return known.empty() ? "" : fmt::format("[{}]", fmt::join(known, ", "));
}

std::string whole_json(const std::string& printed) {
  const bool digits = !printed.empty() && std::ranges::all_of(printed, [](char c) { return c >= '0' && c <= '9'; });
  return digits ? scalar_json(printed) : "";
}

/// "[0, 0, 1, 1]" or "0, 1, 2, 3": how many entries, or how many zeros stand first.
std::string list_json(const std::string& printed, bool zeros_at_start) {
  int count = 0, zeros = 0;
  bool first = true;
  for (std::size_t i = 0; i < printed.size();) {
    if (std::isdigit(static_cast<unsigned char>(printed[i])) == 0) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < printed.size() && std::isdigit(static_cast<unsigned char>(printed[i])) != 0) ++i;
    ++count;
    first = first && printed.substr(start, i - start) == "0";
    zeros += first ? 1 : 0;
  }
  return fmt::format("{}", zeros_at_start ? zeros : count);
}

std::string row_json(const LogSetting& row, const std::map<std::string, std::string>& found) {
  if (!applies(row.when, found)) return "";
  if (row.keys.empty()) return row.constant;
  const auto printed = first_found(row.keys, found);
  if (!printed || holds(row.unless, *printed)) return "";
  if (!row.constant.empty()) return row.constant;
  if (row.take == "layers") return layers_json(*printed);
  if (row.take == "modules") return modules_json(*printed);
  if (row.take == "whole") return whole_json(*printed);
  if (row.take == "names") return names_json(row, *printed);
  if (!row.take.empty()) return list_json(spelled_out(*printed), row.take == "zeros_at_start");
  for (const auto& [value, json] : row.values) {
    if (value == *printed) return json;
  }
  if (!row.otherwise.empty()) return row.otherwise;
  return row.values.empty() ? scalar_json(*printed) : "";
}

}  // namespace

LogSettings::LogSettings(const std::vector<LogDialect>& dialects) {
  const auto want = [&](const std::vector<std::string>& keys) { wanted_.insert(keys.begin(), keys.end()); };
  for (const LogDialect& d : dialects) {
    want(d.tells);
    for (const LogSetting& s : d.settings) want(s.keys), want(s.when.keys);
  }
  std::set<std::string, std::less<>> parts;
  for (const std::string& key : wanted_) parts.emplace(last_part(key));
  wanted_.merge(parts);
}

void LogSettings::keep(std::string_view key, std::string_view value) {
  if (value.size() > longest_value || !wanted_.contains(key)) return;
  found_[std::string(key)] = value;
  const std::string full = section_ + "." + std::string(key);
  if (!section_.empty() && wanted_.contains(full)) found_[full] = value;
}

void LogSettings::read(std::string_view line) {
  Cursor c{line};
  while (!c.done()) {
    if (!starts_name(c.peek())) {
      ++c.at;
      continue;
    }
    const std::string_view key = c.name();
    const std::size_t back = c.at;
    if (key.empty() || !c.separator()) {
      c.at = std::max(back, c.at);
      continue;
    }
    const std::string_view value = c.value();
    const bool opens = c.peek() == '(' || c.peek() == '{' || (value.empty() && c.done());
    if (opens && key.size() <= longest_section) {
      section_ = key;
    } else if (!value.empty()) {
      keep(key, value);
    }
  }
}

bool LogSettings::add(std::string_view path, std::string_view value) {
  const std::string_view key = last_part(path);
  const std::size_t section = path.size() > key.size() ? path.rfind('.', path.size() - key.size() - 2) : 0;
  const std::string_view pair = path.size() == key.size() || section == std::string_view::npos
                                    ? path
                                    : path.substr(section == 0 ? 0 : section + 1);
  bool asked = false;
  for (const std::string_view spelled : {key, pair, path}) {
    if (value.size() > longest_value || !wanted_.contains(spelled)) continue;
    found_[std::string(spelled)] = value;
    asked = true;
  }
  return asked;
}

int keys_found(const LogDialect& dialect, const std::map<std::string, std::string>& found) {
  std::set<std::string> keys;
  for (const LogSetting& row : dialect.settings) {
    for (const std::string& key : row.keys) {
      if (found.contains(key)) keys.insert(key);
    }
  }
  return static_cast<int>(keys.size());
}

std::string setting_json(const LogDialect& dialect, const std::map<std::string, std::string>& found,
                         std::string_view to, bool complete) {
  double product = 0;
  for (const LogSetting& row : dialect.settings) {
    if (row.to != to) continue;
    std::string json = row_json(row, found);
    if (json.empty()) continue;
    if (!row.multiply) return json;
    double factor = 0;
    std::from_chars(json.data(), json.data() + json.size(), factor);
    if (factor > 0) product = (product > 0 ? product : 1) * factor;
  }
  if (!std::isfinite(product)) throw Error(std::string(to), "found factors whose product is no number any more");
  if (product > 0) return fmt::format("{}", product);
  for (const LogSetting& row : dialect.settings) {
    if (complete && row.to == to && !row.absent.empty() && applies(row.when, found)) return row.absent;
  }
  return "";
}

}  // namespace meshwright::calibrate
