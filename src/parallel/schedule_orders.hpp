#pragma once
// The orders of work of the schedules in the table (schedules.cpp), stage by stage.
#include "meshwright/parallel/schedule.hpp"

namespace meshwright::parallel::orders {

std::vector<PipelineOp> gpipe(int stage, int pp, int vp, int micro_batches);
std::vector<PipelineOp> one_f_one_b(int stage, int pp, int vp, int micro_batches);
std::vector<PipelineOp> interleaved(int stage, int pp, int vp, int micro_batches);
std::vector<PipelineOp> zero_bubble_h1(int stage, int pp, int vp, int micro_batches);
std::vector<PipelineOp> zero_bubble_h2(int stage, int pp, int vp, int micro_batches);
std::vector<PipelineOp> zero_bubble_v(int stage, int pp, int vp, int micro_batches);
std::vector<PipelineOp> dual_pipe(int stage, int pp, int vp, int micro_batches);

}  // namespace meshwright::parallel::orders
