#pragma once
// What one rank computes of a section of the model, and the input that it takes.
#include <array>
#include <vector>

#include "meshwright/parallel/placement.hpp"
#include "meshwright/workload/sections.hpp"

namespace meshwright::parallel {

/// Operators of one section of the model on one rank for one micro-batch.
inline std::vector<Operator> rank_operators(const Job& job, const Layout& layout, const ModelSection& section,
                                            const Precision& precision) {
  return section_operators(job.model, section, layout.micro_batch, job.seq_len, shard_of(job, layout), precision,
                           job.framework.rules.vocab_multiple);
}

/// The input of a block for one micro-batch on one rank: what recompute keeps of the block.
inline Bytes block_input(const Job& job, const Layout& layout) noexcept {
  return Bytes::base(bytes_per_element(job.precision.rest) * rank_tokens(job, layout).sharded * job.model.hidden);
}

/// What a section keeps for its backward pass and an offload of activations takes to the host, by Recompute.
std::array<Bytes, 3> movable_activations(const Job& job, const Layout& layout, const ModelSection& section);

}  // namespace meshwright::parallel
