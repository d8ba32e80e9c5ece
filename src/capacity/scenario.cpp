#include "meshwright/capacity/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "capacity/fields.hpp"
#include "capacity/scenario_include.hpp"
#include "capacity/scenario_members.hpp"
#include "capacity/scenario_parts.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t longest_name = 200;

std::string read_name(const Reader& r) {
  std::string name = r.at("name").string();
  if (name.empty() || name.size() > longest_name)
    r.at("name").fail(fmt::format("expected a name of 1 to {} bytes", longest_name));
  return name;
}

template <class Item, class Read>
std::vector<Item> read_named(const Reader& list, std::size_t most, Read read) {
  const std::vector<Reader> items = list.items();
  if (items.empty()) list.fail("expected at least one");
  if (items.size() > most) list.fail(fmt::format("it has {} entries, expected at most {}", items.size(), most));
  std::vector<Item> out;
  std::set<std::string> names;
  for (const Reader& item : items) {
    if (const std::string name = read_name(item); !names.insert(name).second)
      item.at("name").fail(fmt::format("the name '{}' stands twice", name));
    out.push_back(read(item));
  }
  return out;
}

void read_uncertainty(const Reader& r, Scenario& scenario) {
  for (const std::string& key : r.keys()) {
    const Reader member = r.at(key);
    if (key == "draws") {
      scenario.draws = member.integer(0, most_draws);
    } else if (key == "seed") {
      scenario.seed = static_cast<std::uint64_t>(member.integer64());
    } else {
      scenario.assumptions.inputs.take_range(member, scenario.assumptions.inputs.named(key, member.where()).name);
    }
  }
}

void check_points(const Scenario& scenario) {
  const std::uint64_t points = scenario.point_count();
  if (points > most_points)
    throw Error(scenario.where,
                fmt::format("{} candidates and {} workloads make {} points or more, expected at most {}",
                            scenario.candidate_count(), scenario.workloads.size(), points, most_points));
}

}  // namespace

Scenario read_scenario(const Reader& r) {
  r.allow_only(keys_of(scenario_members()));
  static const std::vector<std::string> objectives(scenario_objectives.begin(), scenario_objectives.end());
  Scenario scenario;
  scenario.where = r.where();
  scenario.name = r.string_or("name", "scenario");
  scenario.description = r.string_or("description", "");
  if (const auto objective = r.find("objective")) scenario.objective = objectives[objective->one_of(objectives)];
  scenario.assumptions = read_assumptions(r, {});
  if (const auto uncertainty = r.find("uncertainty")) read_uncertainty(*uncertainty, scenario);
  scenario.workloads = read_named<Workload>(r.at("workloads"), 1000, read_workload);
  scenario.candidates = read_named<CandidateRow>(r.at("candidates"), most_points, read_candidate_row);
  if (const auto constraints = r.find("constraints")) scenario.constraints = read_constraints(*constraints);
  if (const auto questions = r.find("questions"))
    scenario.questions = read_named<Question>(*questions, 100, read_question);
  scenario.text = json::parse(r.dump()).dump();
  check_points(scenario);
  for (std::uint64_t i = 0, first = 0; i < scenario.candidates.size(); ++i) {
    scenario.candidate(first);  // a candidate that cannot be read is refused before anything runs
    first += scenario.candidates[i].count();
  }
  return scenario;
}

Scenario read_scenario(const std::filesystem::path& file) {
  const WithIncludes read = with_includes(file);
  try {
    return read_scenario(read.whole);
  } catch (const Error& e) {
    throw Error(read.written(e.where()), e.what_happened());
  }
}

}  // namespace meshwright::capacity
