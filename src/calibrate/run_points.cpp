#include "calibrate/run_points.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibrate/record_stacks.hpp"
#include "calibrate/run_groups.hpp"
#include "meshwright/parallel/run_figures.hpp"

namespace meshwright::calibrate {
namespace {

constexpr double group_cap = 80;           ///< configurations of one stack and device that count fully
constexpr double unmeasured_spread = 0.7;  ///< of media that no benchmark shows: right within a factor of two
constexpr double unmeasured_most = 4;      ///< what their entry can hold

void weigh(std::vector<RunPoint>& points) {
  std::map<std::string, int> sizes;
  const auto group = [](const RunPoint& p) { return p.run->job.framework.name + " " + p.run->accelerator; };
  for (const RunPoint& p : points) sizes[group(p)] += p.run->task == pretraining ? 1 : 0;
  for (RunPoint& p : points) {
    p.weight = std::min(1.0, group_cap / std::max(1, sizes[group(p)]));
    // Routing, dispatchers and their releases make expert models a poor measure of what all models share.
    if (p.run->job.model.is_moe()) p.weight *= 0.1;
    // Tier C records leave part of their layout or measurement to guesses.
    if (p.run->tier == "C") p.weight *= 0.25;
    if (p.run->task != pretraining) p.weight = 0;
  }
}

int place_of(const std::string& release, const Framework& stack) {
  const auto found = std::ranges::find(stack.releases, release, &parallel::Release::version);
  return static_cast<int>(found - stack.releases.begin());
}

}  // namespace

std::vector<RunPoint> points_of(std::span<const RunRecord> runs, bool others) {
  std::map<std::string, std::pair<RunPoint, int>> merged;
  for (const RunRecord& run : runs) {
    if (run.skipped || !run.state.empty() || (run.task != pretraining && !others)) continue;
    const std::string apart = run.task == pretraining ? "" : run.task + "|";
    auto& [point, count] = merged[apart + configuration_of(run)];
    point.run = &run;
    point.log_measured += std::log(run.measured.step_time->value());
    point.model_and_device = run.job.model.name + " on " + run.accelerator;
    point.set = run.set;
    point.device = run.job.cluster.accelerator.name, point.model = run.job.model.name;
    point.stack = run.job.framework.name;
    point.release = run.job.framework.name + " " + run.job.framework.version;
    point.site = run.set + " | " + run.accelerator + " | " + run.framework;
    ++count;
  }
  std::vector<RunPoint> points;
  for (auto& [key, entry] : merged) {
    entry.first.log_measured /= entry.second;
    points.push_back(entry.first);
  }
  weigh(points);
  return points;
}

std::vector<RunParameter> parameters_of(std::span<RunPoint> points) {
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  std::vector<RunParameter> parameters;
  for (RunPoint& p : points) {
    p.parameters.clear();
    for (const RunField& row : run_fields()) {
      const Job& job = p.run->job;
      const auto moves = row.published != nullptr ? row.published : row.enters;
      if (!moves(job, p.run->layout) || row.get(job) <= 0) continue;
      const std::string owner = row.owner(job), release = row.by_release ? job.framework.version : "";
      const std::tuple key{owner, std::string(row.field), release};
      if (owner.starts_with("device ") && !job.spec.overlay.empty()) continue;  // a machine with a table of its own
      if (!index.contains(key)) {
        index[key] = parameters.size();
        const double prior = row.get(job);
        const bool measured = row.measured == nullptr || row.measured(job);
        parameters.push_back({.owner = owner,
                              .field = std::string(row.field),
                              .release = release,
                              .place = release.empty() ? 0 : place_of(release, job.framework),
                              .prior = prior,
                              .spread = measured ? row.spread : unmeasured_spread,
                              .most = measured ? row.most : unmeasured_most,
                              .value = prior});
      }
      p.parameters.push_back(index[key]);
      if (row.of_experts == job.model.is_moe() && p.weight > 0) ++parameters[index[key]].runs;
    }
  }
  std::vector<int> all;
  for (const RunParameter& p : parameters) {
    all.push_back(0);
    for (const RunParameter& q : parameters) all.back() += same_thing(p, q) ? q.runs : 0;
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].runs = all[i];
  return parameters;
}

void keep_parameters(std::vector<RunParameter>& parameters, std::span<RunPoint> points,
                     const std::function<bool(const RunParameter&)>& keep) {
  constexpr std::size_t dropped = static_cast<std::size_t>(-1);
  std::vector<std::size_t> moved(parameters.size(), dropped);
  std::vector<RunParameter> kept;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!keep(parameters[i])) continue;
    moved[i] = kept.size();
    kept.push_back(parameters[i]);
  }
  for (RunPoint& p : points) {
    for (std::size_t& i : p.parameters) i = moved[i];
    std::erase(p.parameters, dropped);
  }
  parameters = std::move(kept);
}

}  // namespace meshwright::calibrate
