#pragma once
// The recipe of a job beside that of its stack.
#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {

/// The stack's recipe for jobs in that precision.
const Recipe& usual_recipe(const Framework& framework, const Precision& precision) noexcept;

/// Whether the model has what a module of selective recompute redoes.
bool has_module(const Transformer& model, RecomputeModule module) noexcept;

/// The kernel that the job's attention runs as.
const AttentionKernel& attention_kernel(const Job& job);

}  // namespace meshwright::parallel
