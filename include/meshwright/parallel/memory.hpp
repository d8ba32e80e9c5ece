#pragma once
// Bytes of one device: weights, gradients and optimizer states as they are sharded, activations in flight, logits,
// buffers. A slow part once per key (layer_memory), and arithmetic per layout (memory).
#include <array>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

struct Band;

/// One section of the model, for one micro-batch on one rank.
struct BlockMemory {
  std::array<Bytes, 3> kept;               ///< activations kept until the backward pass, by Recompute
  std::array<Bytes, 3> movable;            ///< of them, what goes where activations are held in host memory
  std::array<Bytes, 3> at_loss;            ///< the same of what comes after the last block: its backward is the next
  std::array<Bytes, 3> redone;             ///< those that exist again while one block is recomputed
  Bytes logits;                            ///< what the loss keeps and what its backward adds
  Bytes run_ahead;                         ///< gathered inputs that a host ahead of the GPU holds
  double parameters = 0;                   ///< held by a rank before ZeRO, without routed experts
  double expert_parameters = 0;            ///< routed experts held by a rank before ZeRO
  double trained = 0, expert_trained = 0;  ///< of both, or beside them (adapters): what has gradients
  double gemm_parameters = 0;              ///< of both, those of linear layers in the recipe's format
};

/// The slow part. Key: (tp, cp, ep, etp, micro_batch, sequence_parallel).
struct LayerMemory {
  std::vector<BlockMemory> sections;  ///< as model_sections() orders them
  Bytes boundary;                     ///< activations of one micro-batch between stages
  double distinct_weights = 0;        ///< elements of linear weights of distinct shapes in the blocks
  Bytes working;                      ///< largest gradient tensors that one block's backward has live at once
  Bytes whole;                        ///< of both, and of the head's: those that tensor ranks do not share
};
LayerMemory layer_memory(const Job& job, const Layout& layout);

/// Numbers of the job that hold for every layout.
struct MemoryConstants {
  double frozen_bytes = 2, frozen_rest_bytes = 2;  ///< of a weight without gradients: of linear layers, of others
  bool adapters = false;                           ///< trained parameters stand beside the model's
  bool frozen_whole = false;                       ///< linear layers without gradients are whole on every rank
  double parameter_bytes = 2, gradient_bytes = 4, optimizer_bytes = 12, cached_weight_bytes = 0,
         weight_gradient_bytes = 0;
  double update_bytes = 0;  ///< of a trained parameter: intermediates of an update of all at once
  double host_optimizer_bytes = 0, host_parameter_bytes = 0;  ///< of a parameter's states in host memory
  int node_ranks = 1;                                         ///< that share it
  bool low_precision_weights = false;                         ///< linear weights are held in the GEMMs' format alone
  double gathered_parameter_bytes = 2, gathered_linear_bytes = 2;  ///< of a parameter, of one of a linear layer
  double gathered_gradient_bytes = 2, gathered_layers = 2;
  double gathered_parameters_least = 0, ddp_bucket_bytes = 0, fragmentation = 1;
  bool keeps_gathered_with_pipeline = false;
  ExpertFold expert_fold;
  Bytes context, communication_buffers;
  Bytes usable;                    ///< of the device: what has to hold `reserved`
  Bytes host_memory;               ///< of a node: what has to hold `host`; 0 = nobody says
  bool moves_activations = false;  ///< to host memory, all but two blocks'
  int moved_layers = 0;            ///< of so many blocks of a stage only; 0 = of all
  int global_batch = 0;
  StackStartUp start_up;
  double run_ahead_blocks = 0;  ///< that a host ahead of the GPU is ahead at most (StackMemory)
  double work_memory = 1;       ///< what comes and goes over what operators keep (Framework::work_memory)
};
MemoryConstants memory_constants(const Job& job);
/// What of the device's memory the stack's processes can fill: the limit that layouts are held against.
Bytes usable_memory(const Job& job);

/// Memory at the worst stage. Arithmetic only: no allocation.
///   weights    parameter_bytes P / N(ZeRO 3), gradients / N(ZeRO 2), optimizer / N(ZeRO 1); N is dp * cp (or the HSDP
///              shard), for routed experts tp * cp * dp / (ep * etp) (Rajbhandari et al. 2020; Megatron Core MoE);
///   activations in flight of the schedule times those of the stage's blocks (Korthikanti et al. 2022), and one block
///              more while it is recomputed; logits and a recomputed block do not exist at the same time;
///   update     what the optimizer's intermediates take beyond the activations and logits of the passes, which are gone
///   by
///              then;
///   start_up   what stands before the first step beyond all that a step needs (StackStartUp): the larger of both peaks
///              has to fit;
///   reserved   fragmentation on what comes and goes, context, and what the host's running ahead holds of gathered
///   inputs:
///              of as many blocks as the queue of launches holds, with a pipeline of the warm-up but two. That part
///              gives way when memory runs short: it never makes a layout not fit.
Memory memory(const MemoryConstants& constants, const LayerMemory& layers, const StageKinds& stages,
              const Layout& layout) noexcept;

/// The same from the job alone.
Memory memory(const Job& job, const Layout& layout);
/// Memory of a device of every pipeline stage, in the order of stages; memory() is the largest of them.
std::vector<Memory> memory_by_stage(const Job& job, const Layout& layout);
/// The peak that the stack's own log shows, to compare with a measured one: allocated or reserved bytes, of the worst
/// stage or of the first one where only rank 0 writes it (nanotron).
Bytes logged_peak(const Job& job, const Layout& layout);

/// What the ranks of one node hold in host memory while they build the model there, before the first step; 0 where it
/// is built on the devices, or sharded as it is built.
Bytes host_start_up(const Job& job, const Layout& layout);

/// Whether more is moved to the host than its `capacity`; never where that is 0, which nobody says.
inline bool more_than_host(Bytes capacity, const Memory& memory) noexcept {
  return capacity > Bytes{} && memory.host > capacity;
}
/// The probability that the peak stays below the usable memory, by how far measured peaks lie from predicted ones
/// (memory_band() of band.hpp); 0 where the host's memory does not hold what is moved there.
double fits_probability(const Job& job, const Memory& memory);
double fits_probability(const Band& memory_band, const Job& job, const Memory& memory);
/// Whether a plan may rest on it: more likely to fit than not.
inline bool plannable(const MemoryConstants& constants, const Memory& memory) noexcept {
  return memory.reserved <= constants.usable && !more_than_host(constants.host_memory, memory);
}
/// By the probability that it fits.
Fit fit(double probability) noexcept;
Fit fit(const Job& job, const Memory& memory);

}  // namespace meshwright::parallel
