#pragma once
// How many of anything there may be, whoever says it.

namespace meshwright {

/// Accelerators, ranks, nodes, sequences: more than any cluster has, and few enough that sums and bytes stay exact.
inline constexpr int largest_count = 1 << 24;
/// Accelerators of one scale-up domain or node.
inline constexpr int largest_domain = 1 << 20;

/// Blocks of a model: far beyond any that there is.
inline constexpr int largest_layers = 10'000;

}  // namespace meshwright
