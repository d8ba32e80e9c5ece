#pragma once
// The best layouts of a job over the joint space of degrees, micro-batch, recompute, ZeRO stage, schedule and overlap.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/parallel/prediction.hpp"

namespace meshwright::search {

struct SearchOptions {
  int top = 5;               ///< layouts to return, at least 1
  bool variants = false;     ///< true: also layouts that differ only in choices; false: the best of each set of degrees
  int threads = 0;           ///< 0 = all cores; the answer does not depend on it
  int max_micro_batch = 16;  ///< largest power of two that is tried
};

struct Ranked {
  Prediction prediction;
  std::string
      why;  ///< what it loses against the best: "+4.1 %: bubble +0.21 s, tensor parallel -0.05 s"; "" for the best
};

struct SearchResult {
  std::vector<Ranked> best;      ///< fastest first; ties by memory, then by the smaller degrees
  std::uint64_t evaluated = 0;   ///< layouts whose time was computed
  std::uint64_t considered = 0;  ///< layouts in the space, refused ones included
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< layouts by the rule that refused them, most first
  Seconds search_time{};
  std::vector<std::string> assumptions;
};

/// The best layouts of `job`. Empty `best` means that nothing fits; `refused` says why. Every prediction in it equals
/// predict() of that layout bit for bit.
SearchResult search(const Job& job, const SearchOptions& options = {});

}  // namespace meshwright::search
