#include "meshwright/parallel/step.hpp"

#include <algorithm>

#include "meshwright/parallel/overlap.hpp"
#include "meshwright/parallel/pipeline.hpp"
#include "meshwright/parallel/waits.hpp"

namespace meshwright::parallel {
namespace {

/// One micro-batch on one stage.
struct Slot {
  Pass forward, backward, recompute;
  Seconds weight_gradient;
  Seconds gather;  ///< exposed parameter gathers and gradient scatters of ZeRO-3, once a micro-batch
  Seconds gather_hidden, backward_hides;
  Seconds idle;                                         ///< waiting for the host
  double trained = 0, expert_trained = 0, tensors = 0;  ///< parameters with gradients
  Seconds total() const { return forward.total() + backward.total() + recompute.total() + gather + idle; }
};

void add(Slot& slot, const StageSection& section, const BlockCost& block, Recompute mode) noexcept {
  const double count = section.runs;
  slot.forward += count * block.forward;
  slot.backward += count * block.backward;
  slot.recompute += count * block.recompute[static_cast<std::size_t>(mode)];
  slot.weight_gradient += count * block.weight_gradient;
  slot.trained += section.held * block.trained;
  slot.tensors += section.held * block.tensors;
  slot.expert_trained += section.held * block.expert_trained;
}

/// ZeRO-3: each block's parameters are gathered before its forward and its backward pass and its gradients scattered
/// after, beside the neighbours' compute; on the stream of the kernels where the layout's overlap is off.
void add_gathers(Slot& slot, double count, const BlockCost& block, const StepConstants& c, const Entries& e,
                 const Layout& l, Recompute mode) noexcept {
  // Routed experts are sharded over the ranks that hold the same ones.
  const auto moved = [&](auto collective, double dense, double experts) {
    Seconds time;
    if (e.shards->size > 1 && dense > 0) time += (e.shards->*collective)(Bytes::base(dense));
    if (e.expert_data->size > 1 && experts > 0) time += (e.expert_data->*collective)(Bytes::base(experts));
    return time;
  };
  const auto bytes = [&](double parameters, double packed) {
    return (parameters - packed) * c.parameter_bytes + packed * c.packed_bytes;
  };
  const Seconds gather = moved(&GroupCosts::all_gather, bytes(block.parameters, block.packed),
                               bytes(block.expert_parameters, block.expert_packed));
  const Seconds scatter =
      moved(&GroupCosts::reduce_scatter, block.trained * c.reduce_bytes, block.expert_trained * c.reduce_bytes);
  const Seconds gathers = l.overlap_param_gather ? gather : Seconds{};
  const Seconds scatters = l.overlap_grad_reduce ? scatter : Seconds{};
  const Seconds alone = 2 * (gather - gathers) + (scatter - scatters);
  // What experts exchange meanwhile, beside kernels or not, takes the links that a gather would.
  const auto free = [](const Pass& pass) {
    return std::max(Seconds{}, pass.total() - pass.expert - pass.expert_hidden);
  };
  const Overlap forward = overlap(free(block.forward), gathers, c.fsdp_overlap_penalty);
  const Seconds again = free(block.recompute[static_cast<std::size_t>(mode)]);
  const Overlap backward = overlap(free(block.backward) + again, gathers + scatters, c.fsdp_overlap_penalty);
  slot.gather += count * (forward.exposed + backward.exposed + alone);
  slot.gather_hidden += count * (forward.hidden + backward.hidden);
  slot.backward_hides += count * backward.hidden;
}

/// ZeRO-3 in its usual form; a stage of a pipeline may stay gathered over its micro-batches, which then costs as
/// ZeRO-2.
bool gathers_each_pass(const StepConstants& c, const Layout& l) noexcept {
  return l.zero_stage == 3 && !(c.keeps_gathered_with_pipeline && l.pp > 1);
}

Slot make_slot(const StageKind& kind, const StepConstants& c, const Entries& e, const Layout& l) noexcept {
  Slot slot;
  Seconds host, awaited, waited_for, moving;
  const double moved_share = c.moved_layers > 0 ? std::min(1.0, c.moved_layers / std::max(1.0, kind.blocks)) : 1;
  const bool gathers = gathers_each_pass(c, l);
  for (const StageSection& section : kind.sections) {
    const BlockCost& block = e.shard->sections[section.section];
    const Recompute mode = recompute_of(section, l);
    add(slot, section, block, mode);
    const Seconds launching = section.runs * block.host[static_cast<std::size_t>(mode)];
    host += launching;
    if (const Seconds waits = block.awaited[static_cast<std::size_t>(mode)]; waits > Seconds{}) {
      awaited += section.runs * waits;
      waited_for += section.runs * awaiting(block, mode);
    }
    const Seconds moved = moved_share * block.moved[static_cast<std::size_t>(mode)];
    if (moved > Seconds{}) {
      moving += section.runs * overlap(block.forward.total(), moved, c.overlap_slowdown).exposed;
      moving += section.runs * overlap(block.backward.total(), moved, c.overlap_slowdown).exposed;
    }
    if (gathers) add_gathers(slot, section.runs, block, c, e, l, mode);
  }
  const double redone = l.recompute == Recompute::full ? kind.blocks - kind.kept : 0;
  const Seconds gpu = slot.total() + (c.passes * kind.blocks + redone) * c.layer_overhead + moving;
  if (l.pp > 1 && c.crosses_nodes) host += kind.blocks * (l.tp - 1) * c.pipeline_send_host;
  if (waits_for_neighbours(l.pp, l.tp, c.node_accelerators)) host += std::min(l.pp - 1, 2) * c.pipeline_wait;
  // Where the host waits for the device, the device waits for the host after it.
  slot.idle = slot_time(gpu, host, awaited, waited_for, c.drained) - slot.total();
  return slot;
}

ChunkTime chunk_time(const Slot& slot, double count) noexcept {
  return {count * slot.forward.total(), count * (slot.total() - slot.forward.total() - slot.weight_gradient),
          count * slot.weight_gradient};
}

ChunkTime operator+(const ChunkTime& a, const ChunkTime& b) noexcept {
  return {a.forward + b.forward, a.backward_input + b.backward_input, a.backward_weight + b.backward_weight};
}

/// The kernels that run beside a pass's transfers: its own, and its share of what is done again.
Seconds beside(const Slot& slot, const Pass& pass) noexcept {
  const Seconds once = slot.forward.computing() + slot.backward.computing();
  return once > Seconds{} ? pass.computing() / once * (once + slot.recompute.computing()) : Seconds{};
}

/// Transfers that go beside one window, one after another, and those of last buckets, which have nothing left to hide
/// behind.
struct Queue {
  Seconds body, last;
  void add(Seconds time, double last_share) noexcept {
    body += (1 - last_share) * time;
    last += last_share * time;
  }
  Overlap run(bool overlapped, Seconds window, double slowdown) const noexcept {
    if (!overlapped) return {body + last, {}};
    const Overlap o = overlap(window, body, slowdown);
    return {o.exposed + last, o.hidden};
  }
};

/// ZeRO-2 keeps no whole gradients from one micro-batch to the next: each is reduced and scattered once its backward
/// pass made it (DeepSpeed, stage_1_and_2.py; Megatron-FSDP's optim_grads; PyTorch's SHARD_GRAD_OP). Pipelines add up
/// their micro-batches first: MegaScale and Llama 3 reduce once a step.
double reductions(const StepConstants& c, const Layout& l) noexcept {
  return l.zero_stage == 2 && l.pp == 1 ? micro_batches(c.global_batch, l) : 1;
}

/// Gradient reduction and parameter gathers once a step: ZeRO 0 to 2, and the replicas of HSDP.
Overlap reduction(const Slot& slot, const StepConstants& c, const Entries& e, const Layout& l) noexcept {
  Queue reduces, gathers;
  const auto add = [&](double parameters, double tensors, const GroupCosts& group) {
    if (group.size <= 1 || parameters <= 0) return;
    // Gradients and parameters go bucket by bucket: each message pays the group's latency.
    const bool whole = c.sharded_all_reduce && l.zero_stage > 0;
    const double least = std::max(c.bucket_parameters, c.bucket_per_rank * group.size);
    const double bucket = whole ? parameters : std::min(parameters, least);
    const auto moved = [&](const MessageTimes& times, double bytes) {
      return parameters / bucket * times(Bytes::base(bucket * bytes));
    };
    const double last = bucket / parameters;
    const bool reduces_all = l.zero_stage == 0 || whole;
    reduces.add(moved(reduces_all ? group.all_reduce : group.reduce_scatter, c.reduce_bytes), last);
    const Seconds slices = group.size * tensors * c.gather_slice;
    if (l.zero_stage > 0) gathers.add(moved(group.all_gather, c.parameter_bytes) + slices, last);
  };
  const bool each_pass = gathers_each_pass(c, l);
  if (e.replicas->size > 1) {
    const double held = (slot.trained + slot.expert_trained) / e.shards->size;
    reduces.add(e.replicas->all_reduce(Bytes::base(held * c.reduce_bytes)), 0);
  }
  if (!each_pass) add(slot.trained, slot.tensors, *e.shards), add(slot.expert_trained, 0, *e.expert_data);
  // With virtual stages all chunks but one are done with their gradients (or wait for their parameters) while the
  // pipeline passes pp micro-batches, or as many as there are, through that one.
  const double others = std::min(l.pp, micro_batches(c.global_batch, l)) - 1;
  const double windows = each_pass ? 1 : 1 + others * (l.vp - 1.0) / l.vp;
  // What a window hides already it cannot hide again.
  const Seconds backward = windows * std::max(Seconds{}, beside(slot, slot.backward) - slot.backward_hides);
  const Seconds forward = windows * beside(slot, slot.forward), idle = windows * slot.idle;
  // A pass that waits for its transfers lets the host run ahead: where device and host wait for one another does not
  // depend on the kernels, and what is left of it goes to the transfers that outlast them.
  const Seconds lacking = l.overlap_grad_reduce ? std::max(Seconds{}, reduces.body - backward) : Seconds{};
  const Seconds lent = std::min(idle, lacking);
  const double times = reductions(c, l);
  const Overlap reduced = reduces.run(l.overlap_grad_reduce, backward + lent, c.overlap_slowdown);
  const Overlap gathered = gathers.run(l.overlap_param_gather, forward + idle - lent, c.overlap_slowdown);
  return {times * reduced.exposed + gathered.exposed, times * reduced.hidden + gathered.hidden};
}

/// What own runs told of the job and of layouts alike goes over all of the step alike.
void stretch(Step& step, double times) noexcept {
  for (const StepField& field : step_fields()) {
    step.time.*field.value *= times;
    if (field.hidden != nullptr) step.hidden.*field.hidden *= times;
  }
}

Seconds update(const Slot& slot, const StepConstants& c, const Entries& e, const Layout& l) noexcept {
  const double dense = slot.trained / (l.zero_stage > 0 ? e.shards->size : 1);
  const int expert_shards = l.zero_stage > 0 ? e.expert_data->size : 1;
  const double held = dense + slot.expert_trained / expert_shards;
  return held * c.optimizer_per_parameter;
}

}  // namespace

Step step_time(const StepConstants& c, const Entries& e, const Layout& l) noexcept {
  Slot worst;
  ChunkTime all;
  Seconds data, data_hidden, optimizer;
  Step step{.time = {}, .hidden = {}, .worst_stage = 0, .micro_batches = micro_batches(c.global_batch, l)};
  for (const StageKind& kind : e.stages->kinds) {
    const Slot slot = make_slot(kind, c, e, l);
    all = all + chunk_time(slot, kind.stages);
    optimizer = std::max(optimizer, update(slot, c, e, l));
    const Overlap reduce = reduction(slot, c, e, l);
    if (data < reduce.exposed || kind.first == 0) data = reduce.exposed, data_hidden = reduce.hidden;
    if (worst.total() < slot.total()) worst = slot, step.worst_stage = kind.first;
  }
  const ChunkTime own = chunk_time(worst, 1);
  const ChunkTime others = all + chunk_time(worst, -1);
  const double m = step.micro_batches;
  const Pass pass = worst.forward + worst.backward;
  StepTime& t = step.time;
  t.compute = m * pass.compute;
  t.recompute = m * worst.recompute.compute;
  t.tensor_parallel = m * (pass.tensor + worst.recompute.tensor);
  t.context_parallel = m * (pass.context + worst.recompute.context);
  t.expert_parallel = m * (pass.expert + worst.recompute.expert);
  t.host = m * worst.idle + c.step_overhead;
  t.data_parallel = m * worst.gather + data;
  t.optimizer = optimizer;
  if (l.pp > 1) {
    const Seconds send = e.pipeline->send(e.shard->boundary);
    const bool hidden = effective_schedule(l)->overlaps_sends && l.overlap_p2p;
    const double steady = hidden ? 0 : 2.0 * l.vp * m;
    t.pipeline = (steady + 2.0 * (l.pp - 1)) * send;
    t.bubble = pipeline_bubble(effective_schedule(l), l.pp, l.vp, step.micro_batches, own, others);
    if (c.tied_embeddings && l.zero_stage < 3) {
      t.data_parallel += e.pipeline->send(Bytes::base(e.shard->sections.front().parameters * c.reduce_bytes));
    }
  }
  if (c.slowest_node > 0) t.host += c.slowest_node * total(t);
  step.hidden.tensor_parallel = m * (pass.tensor_hidden + worst.recompute.tensor_hidden);
  step.hidden.expert_parallel = m * (pass.expert_hidden + worst.recompute.expert_hidden);
  step.hidden.data_parallel = m * worst.gather_hidden + data_hidden;
  if (const double times = times_of(c, l); times != 1) stretch(step, times);
  return step;
}

}  // namespace meshwright::parallel
