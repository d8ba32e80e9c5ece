#include "meshwright/search/open.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "meshwright/core/error.hpp"

namespace meshwright::search {
namespace {

/// One value of an open choice: its words and what it says of the job.
struct Value {
  std::string words;
  std::function<void(JobSpec&)> say;
};

std::vector<Value> precision_values() {
  std::vector<Value> values;
  for (const Precision& row : precisions()) {
    const std::string name(row.name);
    values.push_back({"precision " + name, [name](JobSpec& spec) { spec.precision = name; }});
  }
  return values;
}

/// Stacks whose own figures are known, in their newest release.
std::vector<Value> framework_values() {
  std::vector<Value> values;
  for (const Framework& stack : frameworks()) {
    if (stack.releases.empty()) continue;
    values.push_back({"framework " + stack.name, [name = stack.name](JobSpec& spec) {
                        spec.framework = name;
                        spec.framework_version.clear();
                        spec.date.clear();
                      }});
  }
  return values;
}

std::vector<Value> offload_values() {
  std::vector<Value> values;
  for (const bool on : {false, true}) {
    values.push_back({fmt::format("optimizer on the {}", on ? "host" : "device"), [on](JobSpec& spec) {
                        auto recipe = spec.recipe ? nlohmann::ordered_json::parse(spec.recipe->dump())
                                                  : nlohmann::ordered_json::object();
                        recipe["offload"]["optimizer"] = on;
                        spec.recipe = Reader::text(recipe.dump(), "recipe");
                      }});
  }
  return values;
}

struct Choice {
  std::string name;
  std::vector<Value> (*values)();
};
const std::vector<Choice>& choices() {
  static const std::vector<Choice> rows = {
      {"precision", precision_values}, {"framework", framework_values}, {"offload", offload_values}};
  return rows;
}

std::vector<Value> combined(const std::vector<Value>& all, const std::vector<Value>& more) {
  std::vector<Value> out;
  for (const Value& a : all) {
    for (const Value& b : more) {
      out.push_back({a.words.empty() ? b.words : a.words + ", " + b.words, [a, b](JobSpec& spec) {
                       if (a.say) a.say(spec);
                       b.say(spec);
                     }});
    }
  }
  return out;
}

std::vector<Value> values_of(const std::vector<std::string>& open, const std::string& where) {
  std::vector<Value> all = {{}};
  for (const std::string& name : open) {
    const auto row = std::ranges::find(choices(), name, &Choice::name);
    if (row == choices().end())
      throw Error(where, fmt::format("unknown choice '{}'{}", name, suggestion(name, open_choices())));
    all = combined(all, row->values());
  }
  return all;
}

}  // namespace

const std::vector<std::string>& open_choices() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Choice& row : choices()) all.push_back(row.name);
    return all;
  }();
  return names;
}

std::vector<Variant> search_open(const Job& job, const SearchOptions& options, const std::vector<std::string>& open,
                                 const std::string& where) {
  std::vector<Variant> out;
  for (const Value& value : values_of(open, where)) {
    std::optional<Job> variant;
    try {
      variant = with(job, value.say);
    } catch (const Error&) {  // the device has no such units, the stack no such recipe
      continue;
    }
    SearchResult result = search(*variant, options);
    const bool stopped = result.interrupted;
    out.push_back({value.words, *variant, std::move(result)});
    if (stopped) break;
  }
  std::ranges::stable_sort(out, [](const Variant& a, const Variant& b) {
    if (a.result.best.empty() || b.result.best.empty()) return !a.result.best.empty() && b.result.best.empty();
    return a.result.best.front().value < b.result.best.front().value;
  });
  return out;
}

}  // namespace meshwright::search
