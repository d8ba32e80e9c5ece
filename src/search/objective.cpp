#include "meshwright/search/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "meshwright/core/error.hpp"
#include "meshwright/parallel/band.hpp"

namespace meshwright::search {
namespace {

std::vector<double> upper_bands(std::span<const Survivor> survivors) {
  std::vector<double> times;
  for (const Survivor& s : survivors) times.push_back(s.prediction.p90.value());
  return times;
}

/// Errors of layouts of one job go together, so each is judged beside all others.
std::vector<double> over_the_fastest(std::span<const Survivor> survivors) {
  if (survivors.empty()) return {};
  std::vector<Uncertainty> layouts;
  for (const Survivor& s : survivors) layouts.push_back(uncertainty(s.job, s.prediction.layout));
  std::vector<double> times = expected_regrets(layouts, own_knowledge(survivors.front().job));
  for (double& time : times) time += 1;
  return times;
}

double step_time(const Outcome& o) { return o.time.value(); }
double least_step_time(const Job&, Seconds time) { return time.value(); }

double accelerator_seconds(const Job& job, Seconds time) { return job.accelerators * time.value(); }

const std::array<Objective, 6>& table() {
  static const std::array<Objective, 6> rows = {
      Objective{.name = "time",
                .title = "step time",
                .unit = "s",
                .value = step_time,
                .least = least_step_time,
                .is_step_time = true},
      Objective{.name = "p90",
                .title = "step time that nine of ten runs stay below",
                .unit = "s",
                .value = step_time,
                .least = least_step_time,
                .of_survivors = upper_bands},
      Objective{.name = "regret",
                .title = "expected time over that of the fastest layout",
                .unit = "",
                .value = step_time,
                .least = least_step_time,
                .of_survivors = over_the_fastest},
      Objective{.name = "memory",
                .title = "device memory",
                .unit = "B",
                .value = [](const Outcome& o) { return o.memory.reserved.value(); }},
      Objective{.name = "gpus",
                .title = "accelerators",
                .unit = "",
                .value = [](const Outcome& o) { return static_cast<double>(o.job.accelerators); },
                .least = [](const Job& job, Seconds) { return static_cast<double>(job.accelerators); },
                .over_counts = true},
      Objective{.name = "gpu-time",
                .title = "accelerator time of a step",
                .unit = "s",
                .value = [](const Outcome& o) { return accelerator_seconds(o.job, o.time); },
                .least = accelerator_seconds,
                .over_counts = true}};
  return rows;
}

}  // namespace

std::span<const Objective> objectives() { return table(); }

const Objective& objective(std::string_view name, const std::string& where) {
  std::vector<std::string> names;
  for (const Objective& row : table()) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw Error(where, fmt::format("unknown objective '{}'{}", name, suggestion(name, names)));
}

void check_front(std::span<const Objective> objectives, const std::string& where) {
  if (objectives.size() < 2) {
    const std::string one = objectives.empty() ? "none" : "'" + objectives.front().name + "'";
    throw Error(where, fmt::format("found {}, expected two or more, as in time,memory", one));
  }
  std::vector<std::string_view> names;
  for (const Objective& row : objectives) {
    if (row.of_survivors)
      throw Error(where, fmt::format("found '{0}', which orders the best layouts alone (--objective {0}); expected "
                                     "objectives that are a number of every layout, as in time,memory",
                                     row.name));
    if (std::ranges::find(names, row.name) != names.end())
      throw Error(where, fmt::format("found '{}' twice", row.name));
    names.push_back(row.name);
  }
}

}  // namespace meshwright::search
