#pragma once
// The best layouts of a job over the joint space.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "meshwright/parallel/prediction.hpp"

namespace meshwright {

struct SearchOptions {
  int top = 5;
  int threads = 0;  ///< 0 = all cores; the answer does not depend on it
  int max_micro_batch = 16;
  std::vector<Layout> also;  ///< layouts to evaluate beside the space (a published one, say)
};

struct Ranked {
  Prediction prediction;
  std::string why;  ///< what it loses against the best: "+4.1 %: bubble +0.21 s, tensor_parallel -0.05 s"
};

struct SearchResult {
  std::vector<Ranked> best;      ///< fastest first; ties by fewer devices a group, then by memory
  std::uint64_t evaluated = 0;   ///< layouts whose time was computed
  std::uint64_t considered = 0;  ///< layouts in the space, refused ones included
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< by rule
  Seconds search_time{};
  std::vector<std::string> assumptions;
};

/// Never empty unless nothing fits; then `refused` says why.
SearchResult search(const Job& job, const SearchOptions& options = {});

}  // namespace meshwright
