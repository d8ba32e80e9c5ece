#include "calibrate/run_log_dialect.hpp"

#include <nlohmann/json.hpp>

#include "core/embedded.hpp"
#include "core/json_text.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/parallel/launcher.hpp"

namespace meshwright::calibrate {
namespace {

/// A string, or a list of strings.
std::vector<std::string> strings(const std::optional<Reader>& reader) {
  std::vector<std::string> out;
  if (!reader) return out;
  if (reader->is_string()) return {reader->string()};
  for (const Reader& item : reader->items()) out.push_back(item.string());
  return out;
}

std::string json_of(const Reader& reader, std::string_view key) {
  const auto member = reader.find(key);
  return member ? member->dump() : "";
}

LogCondition read_condition(const Reader& reader) {
  reader.allow_only({"key", "is", "not", "set", "or_absent"});
  return {strings(reader.find("key")), strings(reader.find("is")), strings(reader.find("not")),
          reader.boolean_or("or_absent", false)};
}

LogSetting read_setting(const Reader& reader) {
  reader.allow_only(
      {"to", "key", "names", "values", "otherwise", "set", "unless", "take", "when", "multiply", "absent"});
  LogSetting s;
  s.to = reader.at("to").string();
  s.keys = strings(reader.find("key"));
  if (const auto names = reader.find("names")) {
    for (const parallel::Spelling& name : parallel::launcher_names(s.to, names->string()))
      s.values.emplace_back(name.theirs, json_text(nlohmann::json(name.ours)));
    if (s.values.empty()) names->fail("expected a table of launcher_names() for " + s.to);
  }
  if (const auto values = reader.find("values")) {
    for (const std::string& key : values->keys()) s.values.emplace_back(key, values->at(key).dump());
  }
  s.otherwise = json_of(reader, "otherwise");
  s.constant = json_of(reader, "set");
  s.absent = json_of(reader, "absent");
  s.unless = strings(reader.find("unless"));
  s.take = reader.string_or("take", "");
  if (const auto when = reader.find("when")) s.when = read_condition(*when);
  s.multiply = reader.boolean_or("multiply", false);
  return s;
}

LogStep read_step(const Reader& reader) {
  reader.allow_only({"number", "value", "figure", "times", "batch", "without", "progress_bar", "total"});
  return {.number = strings(reader.find("number")),
          .value = strings(reader.find("value")),
          .figure = reader.at("figure").string(),
          .times = reader.number_or("times", 1),
          .batch = reader.string_or("batch", ""),
          .without = reader.string_or("without", ""),
          .progress_bar = reader.boolean_or("progress_bar", false),
          .total = reader.string_or("total", "")};
}

LogDialect read_dialect(const Reader& reader) {
  reader.allow_only({"name", "title", "framework", "sources", "marks", "tells", "step", "memory", "model_block",
                     "phrases", "settings"});
  LogDialect d;
  d.name = reader.at("name").string();
  d.title = reader.at("title").string();
  d.framework = reader.at("framework").string();
  d.marks = strings(reader.find("marks"));
  d.tells = strings(reader.find("tells"));
  d.step = read_step(reader.at("step"));
  for (const Reader& m : reader.at("memory").items())
    d.memory.push_back({m.at("value").string(), m.string_or("line", ""), m.number_or("times", 1)});
  d.model_block = reader.string_or("model_block", "");
  if (const auto phrases = reader.find("phrases")) {
    for (const Reader& p : phrases->items())
      d.phrases.push_back({p.at("name").string(), p.at("after").string(), p.string_or("before", "")});
  }
  for (const Reader& s : reader.at("settings").items()) d.settings.push_back(read_setting(s));
  return d;
}

std::vector<LogDialect> read_dialects() {
  std::vector<LogDialect> out;
  for (const EmbeddedFile& file : embedded_logs()) {
    out.push_back(read_dialect(Reader::text(file.content, "data/logs/" + std::string(file.name))));
  }
  return out;
}

}  // namespace

const std::vector<LogDialect>& log_dialect_table() {
  static const std::vector<LogDialect> table = read_dialects();
  return table;
}

}  // namespace meshwright::calibrate
