#pragma once
// GPU time by kind of kernel: what a profiler's kernels are laid beside.
#include "meshwright/core/quantity.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/workload/operators.hpp"

namespace meshwright::parallel {

/// Seconds of kernels by kind of operator.
struct KernelTimes {
  Seconds gemm, grouped_gemm, attention, memory_bound;
  constexpr Seconds& of(OperatorKind kind) {
    switch (kind) {
      case OperatorKind::gemm:
        return gemm;
      case OperatorKind::grouped_gemm:
        return grouped_gemm;
      case OperatorKind::attention:
        return attention;
      case OperatorKind::memory_bound:
        break;
    }
    return memory_bound;
  }
  constexpr Seconds total() const { return gemm + grouped_gemm + attention + memory_bound; }
  constexpr KernelTimes& operator+=(const KernelTimes& b) {
    gemm += b.gemm, grouped_gemm += b.grouped_gemm, attention += b.attention, memory_bound += b.memory_bound;
    return *this;
  }
  friend constexpr KernelTimes operator*(double n, const KernelTimes& k) {
    return {n * k.gemm, n * k.grouped_gemm, n * k.attention, n * k.memory_bound};
  }
};

/// Kernels of one step on the ranks of a pipeline stage, forward, backward and what is done again; of the worst stage
/// they sum to compute + recompute of the prediction (tests/laws). `stage` from 0 to pp - 1.
KernelTimes stage_kernels(const Job& job, const Layout& layout, int stage);

}  // namespace meshwright::parallel
