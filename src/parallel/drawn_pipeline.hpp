#pragma once
// A layout's pipeline as it is drawn: in traces and in reports.
#include "meshwright/parallel/pipeline.hpp"

namespace meshwright::parallel {

struct DrawnPipeline {
  std::vector<Chunk> chunks;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int micro_batches = 1, shown = 1;  ///< of the step, and those drawn
  Timeline line;
};
/// All micro-batches, or as many as keep it below `most_ops` or so. The time of a stage's slot is the prediction's,
/// spread over its chunks by their layers.
DrawnPipeline drawn_pipeline(const Job& job, const Prediction& prediction, int most_ops);

}  // namespace meshwright::parallel
