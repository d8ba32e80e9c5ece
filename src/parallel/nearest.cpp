// The layouts nearest to a refused one that nothing refuses.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/divisors.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::parallel {
namespace {

constexpr double far = 4;                       // doublings of degrees, beyond which nothing is near
constexpr std::size_t most_memory_tests = 200;  // each costs some ten microseconds

struct Near {
  double distance = 0;
  Layout layout;
};

double doublings(int a, int b) { return std::abs(std::log2(static_cast<double>(a) / b)); }

/// Another value of one choice, and how far it is from the one before.
using Change = std::pair<double, std::function<void(Layout&)>>;

/// Other values of what is no degree of the mesh.
std::vector<Change> changes(const Job& job, const Layout& l) {
  std::vector<Change> out;
  const auto degree = [&](int Layout::*field, const std::vector<int>& values, double weight) {
    for (const int value : values) {
      if (value != l.*field) {
        out.emplace_back(weight * doublings(value, std::max(1, l.*field)), [=](Layout& x) { x.*field = value; });
      }
    }
  };
  degree(&Layout::vp, divisors(std::max(1, (job.model.layers + 2) / l.pp), 64), 0.5);
  degree(&Layout::vp, divisors(std::max(1, job.model.layers / l.pp), 64), 0.5);
  degree(&Layout::micro_batch, divisors(job.global_batch, 64), 1);
  if (job.model.is_moe()) degree(&Layout::etp, {1, l.tp}, 0.5);
  for (int zero = 0; zero <= job.framework.rules.max_zero_stage; ++zero) {
    if (zero != l.zero_stage)
      out.emplace_back(0.5 * std::abs(zero - l.zero_stage), [=](Layout& x) { x.zero_stage = zero; });
  }
  for (const Recompute mode : {Recompute::none, Recompute::selective, Recompute::full}) {
    const int steps = std::abs(static_cast<int>(mode) - static_cast<int>(l.recompute));
    if (steps > 0) out.emplace_back(0.5 * steps, [=](Layout& x) { x.recompute = mode, x.recompute_layers = 0; });
  }
  if (l.recompute_layers > 0) out.emplace_back(0.25, [](Layout& x) { x.recompute_layers = 0; });
  for (const PipelineSchedule schedule : job.framework.rules.schedules.rows) {
    if (schedule != l.schedule) out.emplace_back(0.5, [=](Layout& x) { x.schedule = schedule; });
  }
  for (const ContextKind kind : job.framework.rules.cp_kinds.rows) {
    if (l.cp > 1 && kind != context_kind(l, job.framework)) out.emplace_back(0.5, [=](Layout& x) { x.cp_kind = kind; });
  }
  const auto off = [&](bool Layout::*flag, bool value) {
    if (l.*flag != value) out.emplace_back(0.25, [=](Layout& x) { x.*flag = value; });
  };
  off(&Layout::tp_comm_overlap, false), off(&Layout::ep_comm_overlap, false);
  off(&Layout::sequence_parallel, true), off(&Layout::overlap_p2p, true);
  if (job.framework.rules.gathers_beside_reduces && !l.overlap_grad_reduce) off(&Layout::overlap_param_gather, false);
  if (l.hsdp_shard > 0) out.emplace_back(0.5, [](Layout& x) { x.hsdp_shard = 0; });
  if (!l.stages.empty()) out.emplace_back(0.5, [](Layout& x) { x.stages.clear(); });
  if (l.order) out.emplace_back(0.5, [](Layout& x) { x.order.reset(); });
  for (const StageSplit split : {StageSplit::automatic, StageSplit::uneven}) {
    if (split != l.stage_split) out.emplace_back(0.25, [=](Layout& x) { x.stage_split = split; });
  }
  std::ranges::stable_sort(out, {}, &Change::first);
  return out;
}

/// The layout under every split of the accelerators near to its own, nearest first.
std::vector<Near> meshes(const Job& job, const Layout& l) {
  std::vector<Near> out;
  const std::vector<int> experts = job.model.is_moe() ? divisors(job.model.experts, job.accelerators) : std::vector{1};
  for (const int tp : divisors(job.accelerators, job.model.heads)) {
    for (const int cp : divisors(job.accelerators / tp, job.seq_len)) {
      for (const int pp : divisors(job.accelerators / (tp * cp), job.model.layers)) {
        const int dp = job.accelerators / (tp * cp * pp);
        const double mesh = doublings(tp, l.tp) + doublings(cp, l.cp) + doublings(pp, l.pp) + doublings(dp, l.dp);
        if (mesh > far) continue;
        for (const int ep : experts) {
          const double distance = mesh + doublings(ep, l.ep);
          if (distance > far) continue;
          Near near{distance, l};
          near.layout.tp = tp, near.layout.cp = cp, near.layout.pp = pp, near.layout.dp = dp, near.layout.ep = ep;
          if (pp == 1) near.layout.vp = 1;
          if (pp != l.pp) near.layout.stages.clear();
          out.push_back(std::move(near));
        }
      }
    }
  }
  std::ranges::stable_sort(out, {}, &Near::distance);
  return out;
}

/// Layouts that no rule refuses, nearest first, gathered mesh by mesh.
class Neighbours {
 public:
  Neighbours(const Job& job, std::size_t count) : job_(job), count_(count) {}

  void add(const Near& mesh) {
    if (!open(mesh.distance)) return;
    offer(mesh.distance, mesh.layout);
    const std::vector<Change> all = changes(job_, mesh.layout);
    for (std::size_t i = 0; i < all.size() && open(mesh.distance + all[i].first); ++i) {
      Layout once = mesh.layout;
      all[i].second(once);
      offer(mesh.distance + all[i].first, once);
      for (std::size_t j = i + 1; j < all.size() && open(mesh.distance + all[i].first + all[j].first); ++j) {
        Layout twice = once;
        all[j].second(twice);
        offer(mesh.distance + all[i].first + all[j].first, twice);
      }
    }
  }
  bool open(double distance) const {
    if (distance > far || memory_tests_ >= most_memory_tests) return false;
    return found_.size() < count_ || distance < found_.back().distance;
  }
  std::vector<Layout> layouts() const {
    std::vector<Layout> out;
    for (const Near& near : found_) out.push_back(near.layout);
    return out;
  }

 private:
  void offer(double distance, const Layout& layout) {
    if (!open(distance) || refused_by(job_, layout) != nullptr) return;
    if (std::ranges::find(found_, layout, &Near::layout) != found_.end()) return;
    ++memory_tests_;
    if (refused_by_memory(job_, layout) != nullptr) return;
    found_.insert(std::ranges::upper_bound(found_, distance, {}, &Near::distance), {distance, layout});
    if (found_.size() > count_) found_.pop_back();
  }

  const Job& job_;
  std::size_t count_, memory_tests_ = 0;
  std::vector<Near> found_;
};

}  // namespace

std::vector<Layout> nearest_layouts(const Job& job, const Layout& layout, std::size_t count) {
  Neighbours near(job, count);
  if (count == 0) return {};
  for (const Near& mesh : meshes(job, complete(job, layout))) {
    if (!near.open(mesh.distance)) break;
    near.add(mesh);
  }
  return near.layouts();
}

}  // namespace meshwright::parallel
