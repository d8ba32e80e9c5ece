#pragma once
// Tokens to steps to days: the schedule of a run, before anything breaks.
#include <functional>
#include <string>
#include <vector>

#include "meshwright/core/quantity.hpp"

namespace meshwright::capacity {

/// A stretch of training with one sequence length and one batch: "4k", then "32k" for the last 5 % of the tokens.
struct Phase {
  std::string name{};
  double tokens = 0;
  int seq_len = 0;
  int global_batch = 0;  ///< sequences a step
};

/// The batch grows from `start` by `increment` to the first phase's batch while `samples` sequences are trained, the
/// same number at each size (Megatron's rampup). start = 0: no ramp.
struct BatchRamp {
  int start = 0, increment = 0;
  double samples = 0;
};

/// What a run is asked to do.
struct RunSchedule {
  std::vector<Phase> phases{};
  BatchRamp ramp{};
  long long evaluate_every = 0;  ///< steps; 0 = never
  Seconds evaluation{};          ///< one evaluation
  Seconds warm_up{};             ///< start-up and compilation, once
};

/// Steps of one size.
struct Segment {
  std::string phase{};
  int seq_len = 0, global_batch = 0;
  long long steps = 0;
  double tokens = 0;
  Seconds step_time{};
};

/// The run without failures.
struct RunTime {
  double tokens = 0;  ///< trained, whole steps: at least what was asked
  long long steps = 0;
  Seconds training{}, evaluation{}, warm_up{};
  std::vector<Segment> segments{};
  Seconds total() const { return training + evaluation + warm_up; }
};

/// Time of one step with that sequence length and global batch.
using StepTimeOf = std::function<Seconds(int seq_len, int global_batch)>;

/// Steps (rounded up in each phase) and time of a schedule. Throws Error(where, ...) for phases without tokens, a ramp
/// that does not grow, more than 10^12 steps, or whatever `step_time` throws.
RunTime run_time(const RunSchedule& schedule, const StepTimeOf& step_time, const std::string& where);

/// "15T", "14.8 T", "400B", "2e12" as a number of tokens; Error(where, ...) for anything that is not a positive finite
/// count of at most 10^18.
double parse_tokens(std::string_view text, const std::string& where);

}  // namespace meshwright::capacity
