#include "meshwright/capacity/run_time.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

constexpr double most_steps = 1e12;

void check(const Phase& phase, const std::string& where) {
  if (!(phase.tokens > 0) || !std::isfinite(phase.tokens))
    throw Error(where, fmt::format("phase '{}' has {:g} tokens, expected more than zero", phase.name, phase.tokens));
  if (phase.seq_len < 1 || phase.global_batch < 1)
    throw Error(where, fmt::format("phase '{}' has sequences of {} and a batch of {}, expected at least 1", phase.name,
                                   phase.seq_len, phase.global_batch));
}

/// Adds `tokens` worth of steps of one size; returns what they trained.
double add(RunTime& run, const Phase& phase, int batch, double tokens, const StepTimeOf& step_time,
           const std::string& where) {
  const double a_step = static_cast<double>(phase.seq_len) * batch;
  // A remainder below a millionth of a step is rounding, not a step; but a run has a step, however few its tokens.
  const double steps = std::max(run.steps == 0 ? 1.0 : 0.0, std::ceil(tokens / a_step - 1e-6));
  if (static_cast<double>(run.steps) + steps > most_steps)
    throw Error(where, fmt::format("the run has {:g} steps, expected at most {:g}", steps, most_steps));
  const auto count = static_cast<long long>(std::max(0.0, steps));
  if (count == 0) return 0;
  const Segment segment{phase.name, phase.seq_len, batch, count, a_step * steps, step_time(phase.seq_len, batch)};
  run.steps += count;
  run.tokens += segment.tokens;
  run.training += segment.step_time * static_cast<double>(count);
  run.segments.push_back(segment);
  return segment.tokens;
}

/// The steps below the full batch; returns the tokens that they trained.
double add_ramp(RunTime& run, const BatchRamp& ramp, const Phase& phase, const StepTimeOf& step_time,
                const std::string& where) {
  if (ramp.start == 0) return 0;
  const int span = phase.global_batch - ramp.start;
  if (ramp.start < 0 || span <= 0 || ramp.increment < 1 || span % ramp.increment != 0 || !(ramp.samples > 0))
    throw Error(where,
                fmt::format("the batch ramp goes from {} by {} over {:g} sequences, expected to reach {} in whole "
                            "increments",
                            ramp.start, ramp.increment, ramp.samples, phase.global_batch));
  const double each = ramp.samples / (span / ramp.increment);
  double trained = 0;
  for (int batch = ramp.start; batch < phase.global_batch && trained < phase.tokens; batch += ramp.increment) {
    const double tokens = std::min(each * phase.seq_len, phase.tokens - trained);
    trained += add(run, phase, batch, tokens, step_time, where);
  }
  return trained;
}

}  // namespace

RunTime run_time(const RunSchedule& schedule, const StepTimeOf& step_time, const std::string& where) {
  if (schedule.phases.empty()) throw Error(where, "the run has no phases, expected at least one");
  RunTime run{.warm_up = schedule.warm_up};
  for (std::size_t i = 0; i < schedule.phases.size(); ++i) {
    const Phase& phase = schedule.phases[i];
    check(phase, where);
    const double ramped = i == 0 ? add_ramp(run, schedule.ramp, phase, step_time, where) : 0;
    if (ramped < phase.tokens) add(run, phase, phase.global_batch, phase.tokens - ramped, step_time, where);
  }
  if (schedule.evaluate_every > 0)
    run.evaluation = schedule.evaluation * static_cast<double>(run.steps / schedule.evaluate_every);
  return run;
}

double parse_tokens(std::string_view text, const std::string& where) {
  const auto refuse = [&] {
    return Error(where, fmt::format("found '{}', expected a number of tokens such as 15T, 400B or 2e12", text));
  };
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest(end, text.data() + text.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  constexpr std::string_view prefixes = "kMBT";
  if (!rest.empty() && rest.size() == 1) {
    const auto at = prefixes.find(rest.front());
    if (at == std::string_view::npos) throw refuse();
    value *= std::pow(1000.0, static_cast<double>(at) + 1);
    rest = {};
  }
  if (error != std::errc{} || !rest.empty() || !(value > 0) || !(value <= 1e18)) throw refuse();
  return value;
}

}  // namespace meshwright::capacity
