#include "calibrate/launch_format.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace meshwright::calibrate {
namespace {

using Formats = std::vector<LaunchFormat>;

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  return from == std::string_view::npos ? "" : text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

/// The key that a line starts with, quotes and all: letters, digits and what joins them.
std::string_view key_of(std::string_view line) {
  const auto in_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./\"'").find(c) != std::string_view::npos;
  };
  std::size_t length = 0;
  while (length < line.size() && in_key(line[length])) ++length;
  return line.substr(0, length);
}

/// The formats that a line can be of, the likeliest first; none where it tells nothing.
Formats formats_of(std::string_view line) {
  using enum LaunchFormat;
  if (line.starts_with("---") || line.starts_with("%YAML")) return {yaml};
  if (line.starts_with("--") || line.ends_with("\\")) return {script};
  if (line.starts_with('{')) return {json, yaml};
  if (line.starts_with('[') && line.size() > 1 && line[1] != ' ') return {toml, yaml, json};
  if (line.starts_with("- ")) return {yaml};
  const std::string_view key = key_of(line), rest = trimmed(line.substr(key.size()));
  if (key.empty() || key.starts_with('-')) return {};
  const bool apart = rest.size() < line.size() - key.size();
  if (rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t")) return {yaml};
  if (rest.starts_with("=(")) return {script};  // an array of Bash
  if (rest.starts_with('=') && !rest.starts_with("==")) return apart ? Formats{toml} : Formats{script, toml};
  return rest.find(" --") != std::string_view::npos ? Formats{script} : Formats{};
}

std::optional<LaunchFormat> named(std::string_view ending) {
  if (ending == ".json") return LaunchFormat::json;
  if (ending == ".yaml" || ending == ".yml") return LaunchFormat::yaml;
  if (ending == ".toml") return LaunchFormat::toml;
  return std::nullopt;
}

}  // namespace

LaunchFormat launch_format(std::string_view text, std::string_view ending) {
  const std::optional<LaunchFormat> said = named(ending);
  if (text.starts_with("#!")) return LaunchFormat::script;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const Formats formats = formats_of(line);
    if (formats.empty()) continue;
    return said && std::ranges::find(formats, *said) != formats.end() ? *said : formats.front();
  }
  return said.value_or(LaunchFormat::script);
}

}  // namespace meshwright::calibrate
