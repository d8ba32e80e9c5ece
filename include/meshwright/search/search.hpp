#pragma once
// The best layouts of a job over the joint space of degrees, micro-batch, recompute, ZeRO stage, schedule and overlap.
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/parallel/prediction.hpp"
#include "meshwright/search/counts.hpp"
#include "meshwright/search/objective.hpp"
#include "meshwright/search/space.hpp"

namespace meshwright::search {

struct Progress {
  std::uint64_t done = 0, total = 0;  ///< shard choices settled, of all
};

struct SearchOptions {
  int top = 5;            ///< layouts to return, at least 1
  bool variants = false;  ///< true: also layouts that differ only in choices; false: the best of each set of degrees
  int threads = 0;        ///< 0 = all cores; the answer does not depend on it
  Limits space{};
  Bytes max_memory{};       ///< of a device; zero = what the device has
  bool any_memory = false;  ///< layouts that do not fit count too
  Objective objective = objectives().front();
  std::vector<Objective> pareto{};        ///< two or more: also the layouts that none beats in all of them
  std::vector<Constraint> constraints{};  ///< on layouts that can run
  /// Accelerator counts to choose among, each at most the cluster's; empty: the job's.
  std::vector<int> accelerators{};
  double below = std::numeric_limits<double>::infinity();  ///< only layouts of at most this value
  /// Called on the caller's thread every 50 ms or so; false ends the search with the best so far.
  std::function<bool(const Progress&)> progress{};
};

/// SearchOptions::max_memory as people say it: "64GB", or "90%" of the job's device. Error(where, ...) for less than
/// that.
Bytes memory_limit(std::string_view text, const Job& job, const std::string& where);

/// The same search for its best layout alone, on the job's accelerators.
SearchOptions best_only(SearchOptions options);

/// A term of the step, and how much more of it one layout has than another.
struct Difference {
  std::string term;  ///< field of StepTime
  Seconds change;    ///< negative where it has less
};

struct Ranked {
  Prediction prediction;
  double value = 0;                      ///< of the objective
  std::vector<double> values;            ///< of the Pareto objectives, on the front only
  std::vector<Difference> against_best;  ///< every term, in the order of StepTime; empty for the best
  std::string why;                       ///< "+4.1 %: bubble +0.21 s, tensor parallel -0.05 s"; "" for the best
};

struct SearchResult {
  std::vector<Ranked> best;       ///< smallest value first; ties by time, less recompute, memory, then smaller degrees
  std::vector<Ranked> pareto;     ///< by the first of the Pareto objectives
  std::uint64_t considered = 0;   ///< layouts in the space: evaluated, refused and passed over
  std::uint64_t evaluated = 0;    ///< layouts whose time was computed
  std::uint64_t passed_over = 0;  ///< layouts that a lower bound shows to be worse than all of `best`
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< layouts by what refused them, most first
  Seconds search_time{};
  bool interrupted = false;  ///< `best` is the best so far
  std::string objective;     ///< name of the objective
  std::vector<std::string> pareto_objectives;
  std::vector<std::string> stated;  ///< what the caller fixed and limited: "tp = 8", "memory <= 64.0 GB"
  std::vector<std::string> assumptions;
};

/// The best layouts of `job`, a copy that the search keeps. Empty `best` means that nothing fits; `refused` says why.
/// Every prediction in it equals predict() of that layout bit for bit, and the answer is that of looking at every
/// layout: those passed over have a lower bound (src/search/bound.hpp) above the value of the last of `best`. What an
/// objective, a constraint or `progress` throws, and what a thread does, ends the search and is thrown here.
SearchResult search(Job job, SearchOptions options = {});

/// What `other` spends more than `best`, term by term.
std::vector<Difference> differences(const StepTime& best, const StepTime& other);
/// The two largest of them above a thousandth of the best step: "bubble +210 ms, tensor parallel -50 ms".
std::string in_words(const std::vector<Difference>& differences, Seconds best);

}  // namespace meshwright::search
