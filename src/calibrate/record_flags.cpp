#include "calibrate/record_flags.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "calibrate/record_stacks.hpp"
#include "core/embedded.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

const Json& document() {
  static const Json file = [] {
    for (const EmbeddedFile& own : embedded_recipes()) {
      if (own.name == "record-flags.json") return Json::parse(own.content);
    }
    throw Error("data/recipes", "no record-flags.json");
  }();
  return file;
}

/// The value of the first key that stands in the text; null where none does.
Json first_in(const std::string& text, const Json& values) {
  for (const auto& [key, value] : values.items()) {
    if (text.find(key) != std::string::npos) return value;
  }
  return nullptr;
}

/// What a row makes of a member's value; null for nothing.
Json meaning(const Json& row, const Json& said) {
  const auto text = [](const Json& value) {
    return lower(value.is_string() ? value.get<std::string>() : value.dump());
  };
  if (row.contains("number")) return said.is_number() && said > 0 ? said : Json();
  if (row.contains("positive")) return said.is_number() && said > 0 ? Json(true) : Json();
  if (row.contains("values")) return first_in(text(said), row["values"]);
  if (!said.is_array()) return nullptr;
  Json list = Json::array();
  for (const Json& item : said) {
    if (Json value = first_in(text(item), row["each"]); !value.is_null()) list.push_back(std::move(value));
  }
  return list.empty() ? Json() : list;
}

/// Sets "a/b/c" in nested objects.
void set_path(Json& object, std::string_view path, Json value) {
  Json* at = &object;
  for (std::size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/')) {
    at = &(*at)[std::string(path.substr(0, end))];
    path.remove_prefix(end + 1);
  }
  (*at)[std::string(path)] = std::move(value);
}

/// Whether a benchmark's script is the record's: of its source, release, device and model.
bool is_script_of(const Json& script, const Json& record) {
  const auto said = [&](const char* part, const char* key) {
    return record.value(part, Json::object()).value(key, std::string());
  };
  return script["set"] == record.value("set", std::string()) &&
         script["version"] == said("layout", "framework_version") &&
         script["accelerator"] == said("cluster", "accelerator") &&
         said("model", "name").starts_with(script["model"].get<std::string>());
}

}  // namespace

RecordFlags flags_of_record(const Reader& record) {
  const Json said = Json::parse(record.dump());
  const RecordedStack ran = recorded_stack(record);
  Json meant = Json::object();
  for (const Json& row : document()["tasks"]) {
    const Json stacks = row.value("stacks", Json::array());
    const bool named = stacks.empty() || std::ranges::find(stacks, Json(ran.name)) != stacks.end();
    if (named && row["task"] == ran.task) meant["recipe"].merge_patch(row["recipe"]);
  }
  for (const Json& script : document()["scripts"]) {
    if (is_script_of(script, said)) meant["recipe"].merge_patch(script["recipe"]);
  }
  for (const Json& row : document()["members"]) {
    const Json* object = &said;
    if (row.contains("of")) {
      const auto part = said.find(row["of"].get<std::string>());
      if (part == said.end() || !part->is_object()) continue;
      object = &*part;
    }
    const auto member = object->find(row["member"].get<std::string>());
    if (member == object->end() || member->is_null()) continue;
    if (Json value = meaning(row, *member); !value.is_null())
      set_path(meant, row["field"].get<std::string>(), std::move(value));
  }
  RecordFlags flags;
  const auto read = [&](const char* key) {
    return meant.contains(key) ? std::optional(Reader::text(meant[key].dump(), record.where() + "/flags"))
                               : std::nullopt;
  };
  flags.recipe = read("recipe"), flags.layout = read("layout");
  return flags;
}

}  // namespace meshwright::calibrate
