#include "meshwright/parallel/pipeline.hpp"

namespace meshwright::parallel {

int PipelineOrder::stage_of(int chunk) const { return parallel::stage_of(schedule, chunk, stages); }

int PipelineOrder::before(int chunk) const { return chunk % per_direction() == 0 ? -1 : chunk - 1; }

int PipelineOrder::after(int chunk) const { return (chunk + 1) % per_direction() == 0 ? -1 : chunk + 1; }

PipelineOrder pipeline_order(PipelineSchedule schedule, int pp, int vp, int micro_batches) {
  PipelineOrder order{.schedule = schedule,
                      .stages = pp,
                      .chunks = pp * chunks_of(schedule, vp),
                      .micro_batches = micro_batches / schedule->weight_copies,
                      .ops = {}};
  for (int stage = 0; stage < pp; ++stage) order.ops.push_back(schedule->order(stage, pp, vp, micro_batches));
  return order;
}

}  // namespace meshwright::parallel
