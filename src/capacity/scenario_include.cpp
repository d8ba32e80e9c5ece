#include "capacity/scenario_include.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "meshwright/capacity/scenario.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr std::size_t deepest = 8;

Reader read_bounded(const fs::path& file) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  if (!failed && size > most_scenario_bytes)
    throw Error(file.string(), fmt::format("the file has {} bytes, expected at most {}", size, most_scenario_bytes));
  return Reader::file(file);
}

std::vector<fs::path> includes_of(const Reader& document, const fs::path& file) {
  std::vector<fs::path> paths;
  const auto include = document.find("include");
  if (!include) return paths;
  const std::vector<Reader> names = include->is_array() ? include->items() : std::vector<Reader>{*include};
  for (const Reader& name : names) {
    const fs::path path = name.string();
    if (path.empty() || path.is_absolute() || std::ranges::find(path, fs::path("..")) != path.end())
      name.fail(fmt::format("found '{}', expected a file in the scenario's own folder", path.string()));
    paths.push_back(file.parent_path() / path);
  }
  return paths;
}

/// Members of objects one by one; anything else replaces.
void merge(json& base, const json& over) {
  if (!base.is_object() || !over.is_object()) {
    base = over;
    return;
  }
  for (const auto& [key, value] : over.items()) merge(base[key], value);
}

json merged(const fs::path& file, std::vector<fs::path>& open, std::vector<Reader>& files) {
  std::error_code failed;
  const fs::path canonical = fs::weakly_canonical(file, failed);
  if (failed) throw Error(file.string(), "cannot be read: " + failed.message());
  if (std::ranges::find(open, canonical) != open.end())
    throw Error(file.string(), "it includes itself, by way of " + open.back().filename().string());
  if (open.size() >= deepest) throw Error(file.string(), fmt::format("includes are nested more than {} deep", deepest));
  open.push_back(canonical);
  const Reader document = read_bounded(file);
  files.push_back(document);
  if (!document.is_object()) document.fail("expected an object");
  json out = json::object();
  // The last one wins over those before it, so it stands nearer.
  std::vector<fs::path> includes = includes_of(document, file);
  std::vector<json> parts;
  for (auto include = includes.rbegin(); include != includes.rend(); ++include)
    parts.push_back(merged(*include, open, files));
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) merge(out, *part);
  json own = json::parse(document.dump());
  own.erase("include");
  merge(out, own);
  open.pop_back();
  return out;
}

/// True where the document has something at the pointer.
bool has_place(const Reader& document, const std::string& pointer) {
  return json::parse(document.dump()).contains(json::json_pointer(pointer));
}

}  // namespace

std::string WithIncludes::written(const std::string& where) const {
  const std::string main = whole.where() + ":";
  if (files.size() < 2 || !where.starts_with(main)) return where;
  const std::string pointer = where.substr(main.size());
  for (const Reader& file : files) {
    if (has_place(file, pointer)) return file.where() + ":" + pointer;
  }
  return where;
}

WithIncludes with_includes(const fs::path& file) {
  const Reader document = read_bounded(file);
  if (!document.is_object() || !document.has("include")) return {document, {document}};
  std::vector<fs::path> open;
  std::vector<Reader> files;
  const json whole = merged(file, open, files);
  return {Reader::text(whole.dump(), file.string()), std::move(files)};
}

}  // namespace meshwright::capacity
