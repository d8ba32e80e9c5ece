#include "meshwright/core/members.hpp"

#include <nlohmann/json.hpp>

#include "core/units_detail.hpp"

namespace meshwright::shape {
namespace {

using Json = nlohmann::ordered_json;

JsonSchema made(const Json& schema) { return {schema.dump()}; }
Json parsed(const JsonSchema& shape) { return Json::parse(shape.schema); }

template <class Names>
JsonSchema enumeration(const Names& names) {
  Json list = Json::array();
  for (const auto& name : names) list.push_back(std::string(name));
  return made({{"enum", std::move(list)}});
}

}  // namespace

JsonSchema anything() { return made(Json::object()); }
JsonSchema text() { return made({{"type", "string"}}); }
JsonSchema truth() { return made({{"type", "boolean"}}); }
JsonSchema whole(long long least, long long most) {
  return made({{"type", "integer"}, {"minimum", least}, {"maximum", most}});
}
JsonSchema number(double least, double most) {
  Json schema = {{"type", "number"}};
  constexpr double unbounded = 1e300;
  if (least > -unbounded) schema["minimum"] = least;
  if (most < unbounded) schema["maximum"] = most;
  return made(schema);
}
JsonSchema size(int least, int most) {
  return either({whole(least, most), made({{"type", "string"}, {"pattern", "^[0-9]+([.][0-9]+)?[kKM]?$"}})});
}
JsonSchema one_of(std::span<const std::string> names) { return enumeration(names); }
JsonSchema one_of(std::span<const std::string_view> names) { return enumeration(names); }
JsonSchema quantity(Dimension dimension) {
  return made({{"type", "string"}, {"pattern", quantity_pattern(dimension)}});
}
JsonSchema list(const JsonSchema& of, std::size_t least) {
  Json schema = {{"type", "array"}, {"items", parsed(of)}};
  if (least > 0) schema["minItems"] = least;
  return made(schema);
}
JsonSchema map(const JsonSchema& values) {
  return made({{"type", "object"}, {"additionalProperties", parsed(values)}});
}
JsonSchema either(std::initializer_list<JsonSchema> choices) {
  Json list = Json::array();
  for (const JsonSchema& choice : choices) list.push_back(parsed(choice));
  return made({{"anyOf", std::move(list)}});
}

JsonSchema object(std::span<const Entry> entries) {
  Json schema = {{"type", "object"}, {"properties", Json::object()}}, needed = Json::array();
  for (const Entry& entry : entries) {
    Json member = parsed(*entry.shape);
    if (!entry.doc.empty()) member["description"] = entry.doc;
    schema["properties"][std::string(entry.key)] = std::move(member);
    if (entry.needed) needed.push_back(entry.key);
  }
  if (!needed.empty()) schema["required"] = std::move(needed);
  schema["additionalProperties"] = false;
  return made(schema);
}

JsonSchema document(const JsonSchema& of, std::string_view title) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(parsed(of));
  Json properties = {{"$schema", {{"type", "string"}, {"description", "this schema, for editors"}}}};
  properties.update(schema["properties"]);
  schema["properties"] = std::move(properties);
  return made(schema);
}

}  // namespace meshwright::shape
