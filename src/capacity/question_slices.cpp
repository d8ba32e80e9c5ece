// Which shape an optically switched slice should have, whether to change it between phases, and failed cubes.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// A phase on one shape: the best layout there, with the order of edges in which its groups lie best.
struct OnShape {
  const SliceShape* shape = nullptr;
  Seconds step{};
  std::string order, layout;  ///< "16x8x8", "tp8 ..."
};

struct PhaseOnShapes {
  std::string name;
  double steps = 0;
  std::vector<OnShape> on;  ///< in the order of the shapes; those on which nothing fits are missing
};

/// Exposed time of communication that takes `ratio` times as long, of which as much as before is hidden.
Seconds exposed(Seconds shown, Seconds hidden, double ratio) {
  return std::max(Seconds{}, shown + (shown + hidden) * (ratio - 1));
}

/// The step with a twist in the wrap-around: the experts' exchange goes with the all-to-all bandwidth of the slice.
Seconds twisted_step(const parallel::Prediction& p, const SliceShape& plain, const SliceShape& twisted) {
  parallel::StepTime t = p.time;
  t.expert_parallel = exposed(t.expert_parallel, p.hidden.expert_parallel, plain.all_to_all / twisted.all_to_all);
  return total(t);
}

/// What the planner is asked again and again.
struct SliceSearch {
  const Asked& asked;
  std::uint64_t candidate;
  Planner planner;

  PlannedPoint plan(const std::vector<int>& edge, const Workload& workload) {
    const std::string topology = fmt::format("\"torus-3d {}\"", fmt::join(edge, "x"));
    return planner.plan(asked.scenario.candidate(candidate, "topology", topology), workload, 0);
  }
  /// The best layout of a search with the short edges first, in every order of the edges; nothing where none fits.
  std::optional<std::pair<PlannedPoint, std::vector<int>>> best_order(std::vector<int> edge, const Workload& workload) {
    std::sort(edge.begin(), edge.end());
    PlannedPoint best = plan(edge, workload);
    if (!best.run) return {};
    std::vector<int> order = edge;
    Workload fixed = workload;
    fixed.layout = best.layout;
    while (std::next_permutation(edge.begin(), edge.end())) {
      PlannedPoint other = plan(edge, fixed);
      if (other.run && other.prediction->step_time < best.prediction->step_time) best = std::move(other), order = edge;
    }
    return std::pair{std::move(best), std::move(order)};
  }
};

Workload only_phase(const Workload& workload, const Phase& phase) {
  Workload one = workload;
  one.schedule.phases = {phase};
  one.schedule.ramp = {};
  return one;
}

PhaseOnShapes phase_on(SliceSearch& search, const Workload& one, const std::vector<SliceShape>& shapes) {
  PhaseOnShapes out{.name = one.schedule.phases.front().name, .steps = 0, .on = {}};
  for (const SliceShape& shape : shapes) {
    if (shape.twisted) continue;
    const auto found = search.best_order(shape.edge, one);
    if (!found) continue;
    const auto& [point, order] = *found;
    out.steps = static_cast<double>(point.run->time.steps);
    const std::string text = fmt::format("{}", fmt::join(order, "x"));
    out.on.push_back({&shape, point.prediction->step_time, text, point.layout_text});
    for (const SliceShape& other : shapes) {
      if (other.twisted && other.edge == shape.edge)
        out.on.push_back({&other, twisted_step(*point.prediction, shape, other), text, point.layout_text});
    }
  }
  return out;
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

const OnShape* on_shape(const PhaseOnShapes& phase, const SliceShape* shape) {
  const auto at = std::ranges::find(phase.on, shape, &OnShape::shape);
  return at == phase.on.end() ? nullptr : &*at;
}

/// Which shape in which phase.
struct Chosen {
  double seconds = 0;  ///< steps and changes
  int changes = 0;
  std::vector<const OnShape*> of;  ///< by phase
};

/// The fewest seconds: a phase keeps the shape of the one before unless another gains more than a change costs.
Chosen choose(const std::vector<PhaseOnShapes>& phases, double change) {
  std::vector<Chosen> until;  // by shape of the last phase
  for (const PhaseOnShapes& phase : phases) {
    std::vector<Chosen> next;
    for (const OnShape& here : phase.on) {
      const Chosen* from = nullptr;
      double least = 0;
      for (const Chosen& c : until) {
        const double seconds = c.seconds + (c.of.back()->shape == here.shape ? 0 : change);
        if (from == nullptr || seconds < least) from = &c, least = seconds;
      }
      Chosen chosen = from == nullptr ? Chosen{} : *from;
      chosen.changes += from != nullptr && from->of.back()->shape != here.shape ? 1 : 0;
      chosen.seconds = least + here.step.value() * phase.steps;
      chosen.of.push_back(&here);
      next.push_back(std::move(chosen));
    }
    until = std::move(next);
  }
  return *std::ranges::min_element(until, {}, &Chosen::seconds);
}

void tell_phase(const PhaseOnShapes& phase, const OnShape& chosen, std::vector<std::string>& lines,
                question_json& rows) {
  const OnShape& worst = *std::ranges::max_element(phase.on, {}, &OnShape::step);
  rows.push_back({{"phase", phase.name},
                  {"shape", chosen.shape->text()},
                  {"order", chosen.order},
                  {"layout", chosen.layout},
                  {"step_s", chosen.step.value()},
                  {"worst_shape", worst.shape->text()},
                  {"worst_step_s", worst.step.value()}});
  lines.push_back(fmt::format("{}: {} as {}, {} a step with {}; worst on {} ({})", phase.name, chosen.shape->text(),
                              chosen.order, format(chosen.step), chosen.layout, worst.shape->text(),
                              format(worst.step)));
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
  const std::uint64_t number = q.has("candidate") ? number_of(asked, q.at("candidate")) : 0;
  const Workload& workload = workload_of(asked, q);
  const Seconds switching = q.has("switching") ? read_time(q.at("switching")) : Seconds::base(300);
  const parallel::Job job = *planned(asked, candidate, workload).job;
  const Node& node = job.cluster.node;
  if (node.scale_up != hardware::ScaleUpKind::torus_3d)
    throw Error(asked.question.where, fmt::format("{} is no 3D torus with optical switches", candidate.name));
  const std::vector<SliceShape> shapes = topology::slice_shapes(job.accelerators, node.scale_up_bandwidth / 6);
  SliceSearch search{asked, number, Planner(asked.scenario, asked.catalog, asked.plans)};
  std::vector<PhaseOnShapes> phases;
  for (const Phase& phase : workload.schedule.phases) {
    phases.push_back(phase_on(search, only_phase(workload, phase), shapes));
    if (phases.back().on.empty())
      throw Error(asked.question.where, fmt::format("no layout of phase {} fits any slice", phase.name));
  }
  question_json rows = question_json::array();
  for (const SliceShape& s : shapes) {
    question_json steps = question_json::object();
    for (const PhaseOnShapes& phase : phases) {
      const OnShape* on = on_shape(phase, &s);
      steps[phase.name] = on == nullptr ? question_json() : question_json(on->step.value());
    }
    rows.push_back({{"shape", s.text()},
                    {"step_s", steps},
                    {"all_to_all", s.all_to_all.value()},
                    {"bisection", s.bisection.value()}});
  }
  // With changes that cost more than any run, one shape has to do for all.
  constexpr double never = 1e15;
  const Chosen one = choose(phases, never), best = choose(phases, switching.value());
  question_json told = question_json::array();
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < phases.size(); ++i) tell_phase(phases[i], *best.of[i], lines, told);
  lines.push_back(fmt::format("one shape for all: {}, {}; a shape for each phase, {} changes of {}: {}",
                              one.of.front()->shape->text(), format(Seconds::base(one.seconds)), best.changes,
                              format(switching), format(Seconds::base(best.seconds))));
  question_json object = {{"shapes", rows},
                          {"phases", told},
                          {"one_shape", one.of.front()->shape->text()},
                          {"one_shape_s", one.seconds},
                          {"changing_s", best.seconds},
                          {"changes", best.changes},
                          {"switching_s", switching.value()}};
  if (job.accelerators % 64 == 0) tell_failed_cubes(q, pod_of(asked, job), best.of.front()->shape->edge, lines, object);
  return answer(asked, std::move(lines), object);
}

}  // namespace meshwright::capacity
