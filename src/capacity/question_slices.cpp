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

/// The best shape of one phase, or the one that the phase before had where that is as good.
const SliceShape& shape_for(const PhasePlan& plan, const std::vector<SliceShape>& shapes, const SliceShape& usual,
                            const SliceShape* before) {
  const auto time_on = [&](const SliceShape& s) { return step_on(plan, usual, s); };
  const SliceShape& best = *std::ranges::min_element(shapes, {}, time_on);
  constexpr double as_good = 1.001;
  return before != nullptr && time_on(*before) <= time_on(best) * as_good ? *before : best;
}

/// A shape of its own for each phase.
struct Changing {
  double seconds = 0;  ///< steps and changes
  int changes = 0;
  question_json phases = question_json::array();
  std::vector<std::string> lines;
};

Changing shape_by_phase(const std::vector<PhasePlan>& plans, const std::vector<SliceShape>& shapes,
                        const SliceShape& usual, Seconds switching) {
  Changing out;
  const SliceShape* before = nullptr;
  for (const PhasePlan& p : plans) {
    const auto time_on = [&](const SliceShape& s) { return step_on(p, usual, s); };
    const SliceShape& shape = shape_for(p, shapes, usual, before);
    const SliceShape& worst = *std::ranges::max_element(shapes, {}, time_on);
    const Seconds least = time_on(shape), most = time_on(worst);
    out.changes += before != nullptr && before != &shape ? 1 : 0;
    before = &shape;
    out.seconds += least.value() * p.steps;
    out.phases.push_back({{"phase", p.name},
                          {"shape", shape.text()},
                          {"step_s", least.value()},
                          {"worst_shape", worst.text()},
                          {"worst_step_s", most.value()}});
    out.lines.push_back(most < least * 1.001 ? fmt::format("{}: every shape takes {} a step", p.name, format(least))
                                             : fmt::format("{}: best on {} ({} a step), worst on {} ({})", p.name,
                                                           shape.text(), format(least), worst.text(), format(most)));
  }
  out.seconds += out.changes * switching.value();
  return out;
}

double run_on(const SliceShape& shape, const std::vector<PhasePlan>& plans, const SliceShape& usual) {
  double run = 0;
  for (const PhasePlan& p : plans) run += step_on(p, usual, shape).value() * p.steps;
  return run;
}

/// The whole machine that such nodes come in, not the part that the candidate takes of it.
std::vector<int> pod_of(const Asked& asked, const parallel::Job& job) {
  const Node& node = job.cluster.node;
  const auto whole = std::ranges::find(asked.catalog.nodes, node.name, &Node::name);
  const int domain = whole == asked.catalog.nodes.end() ? node.scale_up_domain : whole->scale_up_domain;
  return topology::torus_shape(std::max(domain, job.accelerators), 3);
}

void tell_failed_cubes(const Reader& q, const std::vector<int>& pod, const std::vector<int>& edge,
                       std::vector<std::string>& lines, question_json& object) {
  const int failed = q.integer_or("failed_cubes", 1, 0, 4096);
  const Assembled share = assembled(pod, edge, failed, q.integer_or("draws", 200, 1, 100000),
                                    static_cast<std::uint64_t>(q.integer_or("seed", 1)));
  lines.push_back(
      fmt::format("with {} failed cubes anywhere in a pod of {}x{}x{}, {} of draws still have the slice behind optical "
                  "switches, {} with fixed cables",
                  failed, pod[0], pod[1], pod[2], format_percent(share.optical), format_percent(share.wired)));
  object["failed_cubes"] = failed;
  object["optical"] = share.optical;
  object["wired"] = share.wired;
}

}  // namespace

Answer optical_slices(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "switching", "failed_cubes", "draws", "seed"});
  const Candidate candidate = candidate_of(asked, q, "candidate");
  const Seconds switching = q.has("switching") ? read_time(q.at("switching")) : Seconds::base(300);
  std::optional<parallel::Job> job;
  const std::vector<PhasePlan> plans = phase_plans(asked, candidate, workload_of(asked, q), job);
  const Node& node = job->cluster.node;
  if (node.scale_up != hardware::ScaleUpKind::torus_3d)
    throw Error(asked.question.where, fmt::format("{} is no 3D torus with optical switches", candidate.name));
  const BytesPerSecond link = node.scale_up_bandwidth / 6;
  const SliceShape usual = topology::evaluate_slice(topology::torus_shape(job->accelerators, 3), link);
  const std::vector<SliceShape> shapes = topology::slice_shapes(job->accelerators, link);
  const auto run = [&](const SliceShape& s) { return run_on(s, plans, usual); };
  const SliceShape& one = *std::ranges::min_element(shapes, {}, run);
  question_json rows = question_json::array();
  for (const SliceShape& s : shapes)
    rows.push_back({{"shape", s.text()},
                    {"run_s", run(s)},
                    {"all_to_all", s.all_to_all.value()},
                    {"bisection", s.bisection.value()}});
  Changing changing = shape_by_phase(plans, shapes, usual, switching);
  std::vector<std::string> lines = std::move(changing.lines);
  lines.push_back(fmt::format("one shape for all: {}, {}; a shape for each phase, {} changes of {}: {}", one.text(),
                              format(Seconds::base(run(one))), changing.changes, format(switching),
                              format(Seconds::base(changing.seconds))));
  question_json object = {{"shapes", rows},
                          {"phases", changing.phases},
                          {"one_shape", one.text()},
                          {"one_shape_s", run(one)},
                          {"changing_s", changing.seconds},
                          {"changes", changing.changes},
                          {"switching_s", switching.value()}};
  if (job->accelerators % 64 == 0) tell_failed_cubes(q, pod_of(asked, *job), one.edge, lines, object);
  return answer(asked, std::move(lines), object);
}

}  // namespace meshwright::capacity
