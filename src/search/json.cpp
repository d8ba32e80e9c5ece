#include "meshwright/search/json.hpp"

#include <nlohmann/json.hpp>

#include "meshwright/parallel/json.hpp"

namespace meshwright::search {

std::string to_json(const SearchResult& result) {
  using json = nlohmann::ordered_json;
  json layouts = json::array();
  for (const Ranked& ranked : result.best) {
    json entry = json::parse(to_json(ranked.prediction));
    entry["why"] = ranked.why;
    layouts.push_back(std::move(entry));
  }
  json refused = json::object();
  for (const auto& [rule, count] : result.refused) refused[rule] = count;
  const json out = {{"best", layouts.empty() ? json() : layouts.front()},
                    {"layouts", layouts},
                    {"evaluated", result.evaluated},
                    {"considered", result.considered},
                    {"refused", refused},
                    {"search_time_s", result.search_time.value()},
                    {"assumptions", result.assumptions}};
  return out.dump();
}

}  // namespace meshwright::search
