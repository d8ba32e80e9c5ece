#include "meshwright/search/space.hpp"

#include <algorithm>

namespace meshwright::search {
namespace {

constexpr int most_tensor_parallel = 64, most_context_parallel = 64, most_expert_parallel = 512;
constexpr int most_vp = 16;

std::vector<int> divisors(int n, int most) {
  std::vector<int> out;
  for (int d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

bool has_axis(const Job& job, std::string_view axis) {
  const auto found = std::find(axis_names.begin(), axis_names.end(), axis);
  return job.framework.rules.axes.has(static_cast<std::size_t>(found - axis_names.begin()));
}

std::vector<int> powers_of_two(int most) {
  std::vector<int> out;
  for (int p = 1; p <= most; p *= 2) out.push_back(p);
  return out;
}

// Ranks that share a fast domain: a tensor-parallel group twice as large is still tried, beyond it is hopeless.
int largest_tensor_parallel(const Job& job) {
  const int domain = std::max(job.cluster.node.scale_up_domain, job.cluster.node.accelerators);
  return std::min({2 * domain, most_tensor_parallel, job.accelerators});
}

// A choice is tried both ways where the stack has it.
std::vector<bool> offered(bool has_it) { return has_it ? std::vector{false, true} : std::vector{false}; }

std::vector<int> expert_tensor_degrees(const Job& job, int tp) {
  if (!job.model.is_moe() || tp == 1) return {1};
  return {1, tp};
}

}  // namespace

std::vector<ShardChoice> shard_choices(const Job& job, int max_micro_batch) {
  const Transformer& model = job.model;
  const std::vector<int> expert_degrees =
      model.is_moe() && has_axis(job, "ep") ? divisors(model.experts, std::min(most_expert_parallel, job.accelerators))
                                            : std::vector{1};
  std::vector<ShardChoice> out;
  for (const int tp : divisors(model.heads, has_axis(job, "tp") ? largest_tensor_parallel(job) : 1)) {
    for (const int cp :
         powers_of_two(has_axis(job, "cp") ? std::clamp(job.seq_len / 2, 1, most_context_parallel) : 1)) {
      if (job.accelerators % (tp * cp) != 0) continue;
      for (const int ep : expert_degrees) {
        for (const int etp : expert_tensor_degrees(job, tp)) {
          for (const int mb : powers_of_two(std::min(max_micro_batch, job.global_batch))) {
            for (const bool tp_overlap : offered(tp > 1 && job.framework.rules.can_overlap_tp)) {
              for (const bool ep_overlap : offered(ep > 1 && job.framework.rules.can_overlap_ep)) {
                out.push_back({tp, cp, ep, etp, mb, tp_overlap, ep_overlap});
              }
            }
          }
        }
      }
    }
  }
  return out;
}

std::vector<int> pipeline_degrees(const Job& job, const ShardChoice& shard) {
  return divisors(job.accelerators / (shard.tp * shard.cp), has_axis(job, "pp") ? job.model.layers : 1);
}

int most_virtual_stages(const Job& job, int pp) {
  // Embedding and head may count as a layer each.
  return pp == 1 ? 1 : std::clamp((job.model.layers + 2) / pp, 1, most_vp);
}

bool can_overlap_experts(const Layout& layout) {
  return (layout.pp == 1 || layout.vp > 1) && layout.recompute != Recompute::full;
}

std::vector<Sharding> shardings(const Job& job) {
  std::vector<Sharding> out;
  for (int stage = 0; stage <= job.framework.rules.max_zero_stage; ++stage) out.push_back({stage, 0});
  const int node = job.cluster.node.accelerators;
  if (job.framework.rules.max_zero_stage >= 3 && node > 1 && node < job.accelerators) out.push_back({3, node});
  return out;
}

std::vector<PipelineSchedule> schedules(const Framework& framework, int pp, int vp) {
  if (pp == 1) return {PipelineSchedule::one_f_one_b};
  if (vp > 1) return {PipelineSchedule::interleaved};
  std::vector<PipelineSchedule> out;
  for (const PipelineSchedule s :
       {PipelineSchedule::one_f_one_b, PipelineSchedule::zero_bubble_h1, PipelineSchedule::zero_bubble_h2,
        PipelineSchedule::zero_bubble_v, PipelineSchedule::dual_pipe}) {
    if (runs(framework, s)) out.push_back(s);
  }
  // GPipe has 1F1B's bubble and more activations: only where it is all that the stack has.
  if (out.empty()) out.push_back(PipelineSchedule::gpipe);
  return out;
}

}  // namespace meshwright::search
