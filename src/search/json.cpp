#include "meshwright/search/json.hpp"

#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "meshwright/parallel/json.hpp"

namespace meshwright::search {

namespace {

using json = nlohmann::ordered_json;

json differences_of(const std::vector<Difference>& differences) {
  json out = json::object();
  for (const Difference& term : differences) out[term.term + "_s"] = term.change.value();
  return out;
}

json entry_of(const Ranked& ranked) {
  json entry = json::parse(to_json(ranked.prediction));
  entry["value"] = ranked.value;
  entry["why"] = ranked.why;
  entry["against_best"] = differences_of(ranked.against_best);
  return entry;
}

json front_of(const SearchResult& result) {
  json front = json::array();
  for (const Ranked& ranked : result.pareto) {
    json entry = entry_of(ranked);
    for (std::size_t i = 0; i < ranked.values.size(); ++i) {
      entry["values"][result.pareto_objectives[i]] = ranked.values[i];
    }
    front.push_back(std::move(entry));
  }
  return front;
}

json object_of(const SearchResult& result) {
  json layouts = json::array();
  for (const Ranked& ranked : result.best) layouts.push_back(entry_of(ranked));
  json refused = json::object();
  for (const auto& [rule, count] : result.refused) refused[rule] = count;
  json out = {{"best", layouts.empty() ? json() : layouts.front()},
              {"layouts", layouts},
              {"objective", result.objective},
              {"stated", result.stated},
              {"considered", result.considered},
              {"evaluated", result.evaluated},
              {"passed_over", result.passed_over},
              {"refused", refused},
              {"interrupted", result.interrupted},
              {"search_time_s", result.search_time.value()},
              {"assumptions", result.assumptions}};
  if (!result.pareto_objectives.empty()) out["pareto"] = front_of(result);
  return out;
}

json object_of(const Alternative& other) {
  json out = {{"what", other.what}, {"from", other.from}, {"to", other.to}, {"words", other.words}};
  out.update(json::parse(to_json(other.prediction)));
  return out;
}

json object_of(const WhyNot& answer) {
  json out = {{"wanted", answer.wanted}, {"words", answer.words}, {"violation", nullptr}};
  if (answer.violation) {
    const Violation& v = *answer.violation;
    out["violation"] = {{"rule", v.rule}, {"needed", v.needed}, {"available", v.available}, {"words", v.text()}};
  }
  if (answer.layout) out["layout"] = json::parse(to_json(*answer.layout));
  if (answer.prediction) {
    out["layout"] = json::parse(to_json(answer.prediction->layout));
    out["step_time_s"] = answer.prediction->step_time.value();
    out["against_best"] = differences_of(answer.against_best);
  }
  return out;
}

}  // namespace

std::string to_json(const SearchResult& result) { return json_text(object_of(result)); }

std::string to_json(const Plan& plan) {
  json out = object_of(plan.result);
  const Standings& standings = plan.standings;
  for (std::size_t i = 0; i < standings.layouts.size(); ++i) {
    for (json* entry : {&out["layouts"][i], i == 0 ? &out["best"] : nullptr}) {
      if (entry == nullptr) continue;
      (*entry)["beats_best"] = standings.layouts[i].beats_best;
      (*entry)["expected_regret"] = standings.layouts[i].expected_regret;
    }
  }
  out["alike"] = standings.alike;
  out["measure_next"] = standings.alike.empty() ? json() : out["layouts"][standings.measure]["layout"];
  out["helps"] = json::array();
  for (const Help& help : plan.helps) {
    json entry = {
        {"what", help.what}, {"change", help.change}, {"step_time_s", help.step_time.value()}, {"gain", help.gain}};
    if (help.layout) entry["layout"] = json::parse(to_json(*help.layout));
    out["helps"].push_back(std::move(entry));
  }
  out["alternatives"] = json::array();
  for (const Alternative& other : plan.alternatives) out["alternatives"].push_back(object_of(other));
  if (plan.why_not) out["why_not"] = object_of(*plan.why_not);
  return json_text(out);
}

}  // namespace meshwright::search
