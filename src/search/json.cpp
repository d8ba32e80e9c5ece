#include "meshwright/search/json.hpp"

#include <nlohmann/json.hpp>

#include "meshwright/parallel/json.hpp"

namespace meshwright::search {

namespace {

using json = nlohmann::ordered_json;

json entry_of(const Ranked& ranked) {
  json entry = json::parse(to_json(ranked.prediction));
  entry["value"] = ranked.value;
  entry["why"] = ranked.why;
  json against = json::object();
  for (const Difference& term : ranked.against_best) against[term.term + "_s"] = term.change.value();
  entry["against_best"] = std::move(against);
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

}  // namespace

std::string to_json(const SearchResult& result) {
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
  return out.dump();
}

}  // namespace meshwright::search
