#pragma once
// A layout: the degrees of every parallel axis and the choices that go with them.
#include <array>
#include <string>
#include <string_view>

#include "meshwright/core/reader.hpp"

namespace meshwright::parallel {

enum class Recompute { none, selective, full };
inline constexpr std::array<std::string_view, 3> recompute_names = {"none", "selective", "full"};
constexpr std::string_view name(Recompute r) { return recompute_names[static_cast<std::size_t>(r)]; }

enum class PipelineSchedule {
  gpipe,
  one_f_one_b,
  interleaved,
  zero_bubble_h1,
  zero_bubble_h2,
  zero_bubble_v,
  dual_pipe
};
inline constexpr std::array<std::string_view, 7> schedule_names = {"gpipe", "1f1b", "interleaved", "zb-h1",
                                                                   "zb-h2", "zb-v", "dualpipe"};
constexpr std::string_view name(PipelineSchedule s) { return schedule_names[static_cast<std::size_t>(s)]; }

/// How layers are dealt to pipeline stages. `automatic` is what a framework does without further flags: `cost` where
/// its profile says so, else `even`, else `embedding` where that divides.
enum class StageSplit {
  automatic,
  even,       ///< layers / (pp * vp) each
  embedding,  ///< embedding and loss count as a layer each (Megatron: account for them in the pipeline split)
  uneven,     ///< an explicit layout: as equal as whole layers allow, first and last chunk relieved
  cost        ///< by parameter cost of the blocks (nanotron)
};
inline constexpr std::array<std::string_view, 5> stage_split_names = {"automatic", "even", "embedding", "uneven",
                                                                      "cost"};
constexpr std::string_view name(StageSplit s) { return stage_split_names[static_cast<std::size_t>(s)]; }

/// Degrees multiply to the number of accelerators: tp * cp * pp * dp. Experts fold over dp * cp * tp: ep * etp divides
/// it (etp = tensor parallel degree inside an expert; 0 = as the framework does it).
struct Layout {
  int tp = 1, cp = 1, pp = 1, vp = 1, dp = 1, ep = 1, etp = 1;
  int micro_batch = 1;            ///< sequences a pass
  int zero_stage = 1;             ///< 0 none, 1 optimizer, 2 + gradients, 3 + parameters sharded
  int hsdp_shard = 0;             ///< ZeRO-3 over this many ranks, replicated over the rest; 0 = all of dp * cp
  bool sequence_parallel = true;  ///< with tp > 1
  Recompute recompute = Recompute::none;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;     ///< interleaved when vp > 1
  StageSplit stage_split = StageSplit::automatic;                ///< layers over stages
  bool overlap_grad_reduce = true, overlap_param_gather = true;  ///< behind backward and forward
  bool tp_comm_overlap = false;                                  ///< AG/RS inside the GEMMs (userbuffers)
  bool ep_comm_overlap = false;  ///< dispatch/combine behind the other micro-batch's compute
  bool overlap_p2p = true;       ///< pipeline sends behind compute (interleaving at pp 2 needs it)

  int accelerators() const { return tp * cp * pp * dp; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The schedule that runs: 1F1B with virtual stages is interleaved 1F1B, interleaved without them is 1F1B.
constexpr PipelineSchedule effective_schedule(const Layout& layout) {
  if (layout.schedule == PipelineSchedule::one_f_one_b && layout.vp > 1) return PipelineSchedule::interleaved;
  if (layout.schedule == PipelineSchedule::interleaved && layout.vp == 1) return PipelineSchedule::one_f_one_b;
  return layout.schedule;
}
/// Tensor parallel degree inside an expert; etp 0 is Megatron's default, the dense layers' tp.
constexpr int expert_tensor_parallel(const Layout& layout) { return layout.etp == 0 ? layout.tp : layout.etp; }
/// Data parallel degree of expert parameters: tp * cp * dp / (ep * etp), at least 1.
constexpr int expert_data_parallel(const Layout& layout) {
  const int degree = layout.tp * layout.cp * layout.dp / (layout.ep * expert_tensor_parallel(layout));
  return degree < 1 ? 1 : degree;
}
/// Micro-batches a step of one replica, rounded down; at least 1.
constexpr int micro_batches(int global_batch, const Layout& layout) {
  const int count = global_batch / (layout.dp * layout.micro_batch);
  return count < 1 ? 1 : count;
}

/// "tp8 pp16 vp8 dp128 mb1" with the degrees that are not 1.
std::string describe_layout(const Layout& layout);
/// Keys are the field names ("layout" object of plan --json); unknown keys are refused.
Layout read_layout(const Reader& reader);

}  // namespace meshwright::parallel
