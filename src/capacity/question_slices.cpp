// Which shape an optically switched slice should have, whether to change it between phases, and failed cubes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "capacity/fields.hpp"
#include "capacity/question_parts.hpp"
#include "capacity/random.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/topology/place.hpp"
#include "meshwright/topology/slices.hpp"

namespace meshwright::capacity {
namespace {

using topology::SliceShape;

/// One phase of the workload with its own layout on the slice.
struct PhasePlan {
  std::string name;
  double steps = 0;
  parallel::StepTime time;
  parallel::Hidden hidden;
};

/// Exposed time of communication that takes `ratio` times as long, of which as much as before is hidden.
Seconds exposed(Seconds shown, Seconds hidden, double ratio) {
  return std::max(Seconds{}, shown + (shown + hidden) * (ratio - 1));
}

/// The step on another shape: the experts' exchange goes with the all-to-all bandwidth, the gradients with that of the
/// all-reduce; groups inside a dimension stay as they are.
Seconds step_on(const PhasePlan& plan, const SliceShape& usual, const SliceShape& shape) {
  parallel::StepTime t = plan.time;
  t.expert_parallel = exposed(t.expert_parallel, plan.hidden.expert_parallel, usual.all_to_all / shape.all_to_all);
  t.data_parallel = exposed(t.data_parallel, plan.hidden.data_parallel, usual.all_reduce / shape.all_reduce);
  return total(t);
}

std::vector<PhasePlan> phase_plans(const Asked& asked, const Candidate& candidate, const Workload& workload,
                                   std::optional<parallel::Job>& job) {
  std::vector<PhasePlan> plans;
  for (const Phase& phase : workload.schedule.phases) {
    Workload one = workload;
    one.schedule.phases = {phase};
    one.schedule.ramp = {};
    const PlannedPoint point = planned(asked, candidate, one);
    plans.push_back(
        {phase.name, static_cast<double>(point.run->time.steps), point.prediction->time, point.prediction->hidden});
    job = point.job;
  }
  return plans;
}

struct Assembled {
  double optical = 0, wired = 0;  ///< share of draws
};

/// How often a pod with that many failed cubes still has the slice.
Assembled assembled(const std::vector<int>& pod, const std::vector<int>& edge, int failed, int draws,
                    std::uint64_t seed) {
  int cubes = 1;
  for (const int e : pod) cubes *= e / 4;
  Random random(seed);
  Assembled share;
  for (int d = 0; d < draws; ++d) {
    std::set<int> broken;
    while (static_cast<int>(broken.size()) < std::min(failed, cubes))
      broken.insert(static_cast<int>(random.uniform() * cubes));
    const std::vector<int> list(broken.begin(), broken.end());
    share.optical += topology::assemble_slice(pod, edge, list, true).violation ? 0 : 1.0 / draws;
    share.wired += topology::assemble_slice(pod, edge, list, false).violation ? 0 : 1.0 / draws;
  }
  return share;
}

}  // namespace

Answer optical_slices(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "switching", "failed_cubes", "draws", "seed"});
  const Candidate candidate = candidate_of(asked, q, "candidate");
  const Workload& workload = workload_of(asked, q);
  const Seconds switching = q.has("switching") ? read_time(q.at("switching")) : Seconds::base(300);
  std::optional<parallel::Job> job;
  const std::vector<PhasePlan> plans = phase_plans(asked, candidate, workload, job);
  const Node& node = job->cluster.node;
  if (node.scale_up != hardware::ScaleUpKind::torus_3d)
    throw Error(asked.question.where, fmt::format("{} is no 3D torus with optical switches", candidate.name));
  const std::vector<int> usual_edge = topology::torus_shape(job->accelerators, 3);
  const BytesPerSecond link = node.scale_up_bandwidth / 6;
  const SliceShape usual = topology::evaluate_slice(usual_edge, link);
  const std::vector<SliceShape> shapes = topology::slice_shapes(job->accelerators, link);
  question_json rows = question_json::array();
  std::vector<std::string> lines;
  // Of each shape the whole run; of each phase its best shape.
  double best_one = 1e300, changing = 0;
  std::string one_shape, last;
  std::vector<int> edge = usual_edge;
  int changes = 0;
  for (const SliceShape& s : shapes) {
    double run = 0;
    for (const PhasePlan& p : plans) run += step_on(p, usual, s).value() * p.steps;
    rows.push_back({{"shape", s.text()},
                    {"run_s", run},
                    {"all_to_all", s.all_to_all.value()},
                    {"bisection", s.bisection.value()}});
    if (run < best_one * (1 - 1e-9)) best_one = run, one_shape = s.text(), edge = s.edge;
  }
  question_json phases = question_json::array();
  for (const PhasePlan& p : plans) {
    const auto time_on = [&](const SliceShape& s) { return step_on(p, usual, s); };
    const auto least = std::ranges::min_element(shapes, {}, time_on),
               most = std::ranges::max_element(shapes, {}, time_on);
    changing += time_on(*least).value() * p.steps;
    changes += !last.empty() && last != least->text() ? 1 : 0;
    last = least->text();
    phases.push_back({{"phase", p.name},
                      {"shape", least->text()},
                      {"step_s", time_on(*least).value()},
                      {"worst_shape", most->text()},
                      {"worst_step_s", time_on(*most).value()}});
    if (time_on(*most) < time_on(*least) * 1.001) {
      lines.push_back(fmt::format("{}: every shape takes {} a step", p.name, format(time_on(*least))));
      continue;
    }
    lines.push_back(fmt::format("{}: best on {} ({} a step), worst on {} ({})", p.name, least->text(),
                                format(time_on(*least)), most->text(), format(time_on(*most))));
  }
  changing += changes * switching.value();
  lines.push_back(fmt::format("one shape for all: {}, {}; a shape for each phase, {} changes of {}: {}", one_shape,
                              format(Seconds::base(best_one)), changes, format(switching),
                              format(Seconds::base(changing))));
  question_json object = {
      {"shapes", rows},         {"phases", phases},   {"one_shape", one_shape},          {"one_shape_s", best_one},
      {"changing_s", changing}, {"changes", changes}, {"switching_s", switching.value()}};
  // The pod is the whole machine that such nodes come in, not the part that the candidate takes of it.
  const auto whole = std::ranges::find(asked.catalog.nodes, node.name, &Node::name);
  const int domain = whole == asked.catalog.nodes.end() ? node.scale_up_domain : whole->scale_up_domain;
  const std::vector<int> pod = topology::torus_shape(std::max(domain, job->accelerators), 3);
  if (job->accelerators % 64 == 0) {
    const int failed = q.integer_or("failed_cubes", 1, 0, 4096);
    const Assembled share = assembled(pod, edge, failed, q.integer_or("draws", 200, 1, 100000),
                                      static_cast<std::uint64_t>(q.integer_or("seed", 1)));
    lines.push_back(
        fmt::format("with {} failed cubes anywhere in a pod of {}x{}x{}, {} of draws still have the slice behind "
                    "optical switches, {} with fixed cables",
                    failed, pod[0], pod[1], pod[2], format_percent(share.optical), format_percent(share.wired)));
    object["failed_cubes"] = failed;
    object["optical"] = share.optical;
    object["wired"] = share.wired;
  }
  return answer(asked, std::move(lines), object);
}

}  // namespace meshwright::capacity
