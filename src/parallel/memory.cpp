#include "meshwright/parallel/memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "meshwright/core/units.hpp"
#include "meshwright/parallel/band.hpp"
#include "meshwright/parallel/pipeline.hpp"
#include "meshwright/parallel/waits.hpp"
#include "parallel/stage_kinds.hpp"

namespace meshwright::parallel {
namespace {

/// Parameters of one stage on one rank, before ZeRO.
struct Held {
  double dense = 0, experts = 0, gemm = 0;
  double trained = 0, expert_trained = 0;
  double largest = 0;  ///< of one block: what a gather brings in
  void add(double count, const BlockMemory& block) {
    if (count <= 0) return;
    dense += count * block.parameters;
    experts += count * block.expert_parameters;
    trained += count * block.trained;
    expert_trained += count * block.expert_trained;
    gemm += count * block.gemm_parameters;
    largest = std::max(largest, block.parameters + block.expert_parameters);
  }
};

Held held_by(const LayerMemory& layers, const StageKind& stage) noexcept {
  Held held;
  for (const StageSection& section : stage.sections) held.add(section.held, layers.sections[section.section]);
  return held;
}

/// The head is the model's last section.
bool has_head(const LayerMemory& layers, const StageKind& stage) noexcept {
  return !stage.sections.empty() && stage.sections.back().section + 1 == layers.sections.size();
}

void add_states(Memory& m, const MemoryConstants& c, const LayerMemory& layers, const StageKind& stage,
                const Held& held, const Layout& layout) noexcept {
  const StateRanks ranks = state_ranks(layout, c.expert_fold);
  const auto share = [&](int least, double dense, double experts) {
    const bool sharded = layout.zero_stage >= least;
    return sharded ? dense / ranks.dense + experts / ranks.experts : dense + experts;
  };
  const auto trained = [&](int least) { return share(least, held.trained, held.expert_trained); };
  const double all = held.dense + held.experts, linear = all > 0 ? held.gemm / all : 0;
  const double frozen = share(3, held.dense, held.experts) - (c.adapters ? 0 : trained(3));
  const double frozen_linear = c.frozen_whole ? held.gemm : linear * frozen;
  const double high = c.low_precision_weights ? 1 - linear : 1;
  const double low = c.low_precision_weights && layout.zero_stage == 3 ? (1 - high) * trained(3) : 0;
  const double copies = layout.zero_stage < 3 ? held.gemm : 0;  // of what is gathered, below
  // An offload of parameters takes the frozen ones as they rest, but no buffers, as whole ones are.
  const double packed = c.frozen_bytes * frozen_linear, rest = c.frozen_rest_bytes * (1 - linear) * frozen;
  const bool moved = c.host_parameter_bytes > 0, packed_too = moved && !c.frozen_whole;
  m.weights = Bytes::base(c.parameter_bytes * high * trained(3) + low + (packed_too ? 0 : packed) + (moved ? 0 : rest) +
                          c.cached_weight_bytes * copies);
  m.gradients = Bytes::base(c.gradient_bytes * trained(2));
  m.optimizer = Bytes::base(c.optimizer_bytes * trained(1));
  m.update = Bytes::base(c.update_bytes * trained(1));
  m.host = Bytes::base(c.host_optimizer_bytes * trained(1) + c.host_parameter_bytes * trained(3) +
                       (packed_too ? packed : 0) + (moved ? rest : 0));
  const double allocated = layers.distinct_weights + (has_head(layers, stage) ? layers.sections.back().parameters : 0);
  m.buffers = c.communication_buffers + Bytes::base(c.ddp_bucket_bytes * (held.trained + held.expert_trained) +
                                                    c.weight_gradient_bytes * allocated);
  if (layout.zero_stage < 3) return;
  // Gathered parameters with their copies in the GEMMs' format, and gradients that are not scattered yet: of a few
  // blocks, or of the whole stage where a pipeline keeps them over its micro-batches.
  const bool keeps = c.keeps_gathered_with_pipeline && layout.pp > 1;
  const double a_time = std::max(c.gathered_layers * held.largest, c.gathered_parameters_least);
  const double gathered = keeps ? all : std::min(all, a_time);
  m.buffers += Bytes::base(
      (c.gathered_parameter_bytes * (1 - linear) + (c.gathered_linear_bytes + c.cached_weight_bytes) * linear) *
          gathered +
      c.gathered_gradient_bytes * (keeps ? all : held.largest));
}

/// Of what may leave the device in a pass, the share that the host's memory holds: one block goes out while the next
/// one is made.
double moved_share(const MemoryConstants& c, const StageKind& stage) noexcept {
  constexpr double going = 2;
  if (!c.moves_activations || stage.blocks <= going) return 0;
  const double moved = c.moved_layers > 0 ? std::min<double>(c.moved_layers, stage.blocks) : stage.blocks;
  return std::max(0.0, moved - going) / stage.blocks;
}

void add_activations(Memory& m, const MemoryConstants& c, const LayerMemory& layers, const StageKind& stage,
                     double copies, const Layout& layout) noexcept {
  const int batches = micro_batches(c.global_batch, layout);
  const double flight = in_flight(effective_schedule(layout), layout.pp, layout.vp, batches, stage.first);
  Bytes kept, movable, at_loss, redone;
  for (const StageSection& held : stage.sections) {
    const BlockMemory& section = layers.sections[held.section];
    const auto mode = static_cast<std::size_t>(recompute_of(held, layout));
    kept += held.runs * section.kept[mode];
    movable += held.runs * section.movable[mode];
    redone = std::max(redone, section.redone[mode]);
    at_loss += copies * held.runs * section.at_loss[mode];
    m.logits += copies * held.runs * section.logits;
  }
  // The loss is over before the first block goes backward.
  const Bytes backward = redone + layers.working;
  const Bytes moved = movable * moved_share(c, stage);
  m.activations = flight * (kept - moved) + at_loss + layers.whole;
  if (backward > m.logits + at_loss) m.activations += backward - at_loss - m.logits;
  m.host = c.node_ranks * (m.host + flight * moved);
  if (layout.pp > 1) m.buffers += 2 * layers.boundary;
}

/// A host that is not waited for goes on launching until the queue is full; sends and receives of a pipeline hold it
/// back to the forwards of the warm-up but two, and to none where it waits for its neighbours in every micro-batch.
/// Buffers that another stream uses cannot be used again until the GPU is there.
Bytes run_ahead(const MemoryConstants& c, const LayerMemory& layers, const StageKind& stage,
                const Layout& layout) noexcept {
  if (stage.blocks <= 0 || waits_for_neighbours(layout.pp, layout.tp, c.node_ranks)) return {};
  Bytes pass;
  for (const StageSection& section : stage.sections) pass += section.runs * layers.sections[section.section].run_ahead;
  const Bytes queue = c.run_ahead_blocks / stage.blocks * pass;
  const int waiting = std::min(layout.pp - stage.first, micro_batches(c.global_batch, layout)) - 2;
  return layout.pp == 1 ? queue : std::min(queue, std::max(0, waiting) * pass);
}

/// Allocated before the first step: weights on their way into the buffers of a sharded optimizer, which stand beside
/// them with the gradients'; later weights and states, with gradients of zero to make the optimizer allocate them.
Bytes before_first_step(const MemoryConstants& c, const Memory& m, const Held& held, const Layout& layout) noexcept {
  const StackStartUp& s = c.start_up;
  Bytes copied, zeros;
  if (layout.zero_stage == 1) {
    copied = Bytes::base(s.weight_copies * c.parameter_bytes * (held.trained + held.expert_trained));
  } else if (layout.zero_stage == 3 && c.optimizer_bytes > 0) {
    const StateRanks ranks = state_ranks(layout, c.expert_fold);
    const double share = held.trained / ranks.dense + held.expert_trained / ranks.experts;
    const double a_time = s.zero_gradients_most > 0 ? std::min(share, s.zero_gradients_most) : share;
    zeros = Bytes::base(s.zero_gradient_bytes * a_time);
  }
  return std::max(m.weights + m.gradients + copied, m.weights + m.optimizer + zeros);
}

Memory of_stage(const MemoryConstants& c, const LayerMemory& layers, const StageKind& stage, double copies,
                const Layout& layout) noexcept {
  Memory m;
  m.stage = stage.first;
  const Held held = held_by(layers, stage);
  add_states(m, c, layers, stage, held, layout);
  add_activations(m, c, layers, stage, copies, layout);
  for (Bytes Memory::*part : {&Memory::activations, &Memory::logits, &Memory::buffers, &Memory::update})
    m.*part = c.work_memory * (m.*part);
  m.context = c.context;
  m.update = std::max(Bytes{}, m.update - m.activations - m.logits);
  m.allocated = m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.update + m.buffers;
  m.start_up = std::max(Bytes{}, before_first_step(c, m, held, layout) - m.allocated);
  m.allocated += m.start_up;
  const Bytes states = m.weights + m.gradients + m.optimizer;
  m.reserved = states + c.fragmentation * (m.allocated - states) + m.context;
  const Bytes ahead = run_ahead(c, layers, stage, layout), room = c.usable - m.reserved;
  m.reserved += std::clamp(room, Bytes{}, ahead);
  return m;
}

}  // namespace

Bytes usable_memory(const Job& job) { return job.cluster.accelerator.memory_capacity * job.framework.memory.usable; }

namespace {

/// Of a linear parameter in the GEMMs' format; weights held in it alone are one of the copies.
double cached_weight_bytes(const Job& job) {
  if (job.precision.gemm == job.precision.rest) return 0;
  const double copies = job.framework.memory.cached_weight_bytes;
  return job.recipe.precision.low_precision_weights ? std::max(copies, bytes_per_element(job.precision.gemm)) : copies;
}

}  // namespace

MemoryConstants memory_constants(const Job& job) {
  const StackMemory& f = job.framework.memory;
  const Recipe& r = job.recipe;
  const DType compute = job.precision.rest;
  const StateBytes states = state_bytes(r.states, compute);
  const bool adapters = r.trainable.kind == TrainableKind::lora;
  // An update on the host reads fp32 gradients there, and parameters where no master copy stands among its states.
  const double beside = bytes_per_element(DType::fp32) + (r.states.master == StateFormat::none ? states.weights : 0);
  const double frozen = bytes_of(adapters ? r.trainable.base : r.states.weights, compute);
  const double whole = bytes_of(StateFormat::compute, compute), gathered = bytes_of(r.precision.gather, compute);
  return {.frozen_bytes = frozen,
          .frozen_rest_bytes = is_packed(r.trainable) ? whole : frozen,
          .adapters = adapters,
          .frozen_whole = unpacks_elementwise(r.trainable),
          .parameter_bytes = r.offload.parameters ? 0 : states.weights,
          .gradient_bytes = r.offload.gradients ? 0 : states.gradients,
          .optimizer_bytes = r.offload.optimizer ? 0 : states.optimizer,
          .cached_weight_bytes = cached_weight_bytes(job),
          .weight_gradient_bytes = f.weight_gradient_bytes,
          .update_bytes = r.offload.optimizer ? 0 : states.update,
          .host_optimizer_bytes = r.offload.optimizer ? states.optimizer + beside : 0,
          .host_parameter_bytes = r.offload.parameters ? states.weights : 0,
          .node_ranks = std::min(job.cluster.node.accelerators, job.accelerators),
          .low_precision_weights = r.precision.low_precision_weights && !r.offload.parameters,
          .gathered_parameter_bytes = gathered,
          .gathered_linear_bytes = is_packed(r.trainable) ? gathered_packed_bytes(r.trainable, compute) : gathered,
          .gathered_gradient_bytes = bytes_of(r.states.gathered_gradients, compute),
          .gathered_layers = f.gathered_layers,
          .gathered_parameters_least = f.gathered_parameters_least,
          .ddp_bucket_bytes = bytes_of(r.states.buckets, compute),
          .fragmentation = f.fragmentation,
          .keeps_gathered_with_pipeline = f.keeps_gathered_with_pipeline,
          .expert_fold = expert_fold(job.framework),
          .context = f.context,
          .communication_buffers = f.communication_buffers,
          .usable = usable_memory(job),
          .host_memory = job.cluster.node.host_memory,
          .moves_activations = r.offload.activations,
          .moved_layers = r.offload.activation_layers,
          .global_batch = job.global_batch,
          .start_up = job.framework.start_up,
          .run_ahead_blocks = job.framework.memory.run_ahead_blocks,
          .work_memory = job.framework.work_memory};
}

Memory memory(const MemoryConstants& c, const LayerMemory& layers, const StageKinds& stages,
              const Layout& layout) noexcept {
  Memory worst;
  for (const StageKind& stage : stages.kinds) {
    Memory m = of_stage(c, layers, stage, stages.parameter_copies, layout);
    m.host = std::max(m.host, worst.host);
    if (m.reserved > worst.reserved) worst = m;
    worst.host = m.host;
  }
  return worst;
}

Memory memory(const Job& job, const Layout& layout) {
  const StageKinds stages = stage_kinds(job.model, job.framework, layout);
  return memory(memory_constants(job), layer_memory(job, layout), stages, layout);
}

std::vector<Memory> memory_by_stage(const Job& job, const Layout& layout) {
  const MemoryConstants constants = memory_constants(job);
  const LayerMemory layers = layer_memory(job, layout);
  const double copies = effective_schedule(layout)->weight_copies;
  std::vector<Memory> stages;
  for (const StageKind& stage : all_stages(job.model, job.framework, layout)) {
    stages.push_back(of_stage(constants, layers, stage, copies, layout));
  }
  return stages;
}

Bytes host_start_up(const Job& job, const Layout& layout) {
  const StackStartUp& s = job.framework.start_up;
  if (s.host_weight_bytes <= 0 || layout.zero_stage >= s.host_stages) return {};
  const int ranks = std::min(job.cluster.node.accelerators, job.accelerators);
  double parameters = 0;  // of a rank's stage: pipelines and tensor ranks build their own part
  for (const StagePlace& stage : placement(job, layout).stages) {
    parameters = std::max(parameters, stage.parameters.dense + stage.parameters.experts);
  }
  return Bytes::base(ranks * s.host_weight_bytes * parameters);
}

Bytes logged_peak(const Job& job, const Layout& layout) {
  StageKinds stages = stage_kinds(job.model, job.framework, layout);
  if (job.framework.memory.logs_first_stage) {
    std::erase_if(stages.kinds, [](const StageKind& stage) { return stage.first > 0; });
  }
  const Memory m = memory(memory_constants(job), layer_memory(job, layout), stages, layout);
  return job.framework.memory.logs_allocated ? m.allocated : m.reserved;
}

double fits_probability(const Job& job, const Memory& memory) {
  return fits_probability(memory_band(job), job, memory);
}

double fits_probability(const Band& band, const Job& job, const Memory& memory) {
  if (more_than_host(job.cluster.node.host_memory, memory)) return 0;
  if (memory.reserved.value() <= 0) return 1;
  return below(band, usable_memory(job) / memory.reserved);
}

Fit fit(double probability) noexcept {
  constexpr std::array<double, 4> at_least = {0.9, 0.7, 0.3, 0.1};
  std::size_t answer = 0;
  while (answer < at_least.size() && probability < at_least[answer]) ++answer;
  return static_cast<Fit>(answer);
}

Fit fit(const Job& job, const Memory& m) { return fit(fits_probability(job, m)); }

}  // namespace meshwright::parallel
