// What reductions in the switches are worth: NVLink SHARP inside a domain, SHARP in the network.
#include <fmt/format.h>

#include "capacity/question_parts.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

/// The best plan with collectives forced. Its place says so as well: plans are kept by it.
PlannedPoint plan_with(const Asked& asked, const Candidate& candidate, Workload workload, const char* key, bool value) {
  question_json job = question_json::parse(workload.job);
  job["collectives"][key] = value;
  workload.job = job.dump();
  workload.where += fmt::format(" with {} {}", key, value);
  return planned(asked, candidate, workload);
}

double switches_of(const Site& site) {
  double count = 0;
  for (const Purchase& p : site.purchases) count += p.part == Purchase::Part::switch_ ? p.count : 0;
  return count;
}

/// What a reduction is worth: the step without and with it, each in the best layout for it.
struct Worth {
  Seconds without, with;
  double gain, dollars;
  std::string text() const {
    return fmt::format("a step takes {} instead of {}: {} of the run, {}", format(with), format(without),
                       format_percent(gain), format(Dollars::base(dollars)));
  }
};

Worth worth_of(const PlannedPoint& without, const PlannedPoint& with) {
  const RunEstimate before = estimate(without), after = estimate(with);
  return {before.step, after.step, 1 - after.wall / before.wall, before.cost.value - after.cost.value};
}

}  // namespace

Answer in_switch_reduction(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload"});
  const Candidate candidate = candidate_of(asked, q, "candidate");
  const Workload& workload = workload_of(asked, q);
  const PlannedPoint usual = planned(asked, candidate, workload);
  const Worth nvls = worth_of(plan_with(asked, candidate, workload, "nvls", false), usual);
  const Worth sharp = worth_of(usual, plan_with(asked, candidate, workload, "sharp", true));
  const double switches = switches_of(usual.run->site), each = switches > 0 ? sharp.dollars / switches : 0;
  return answer(
      asked,
      {"NVLink SHARP: " + nvls.text(), fmt::format("SHARP in the network: {}, or {} for each of {:.0f} switches",
                                                   sharp.text(), format(Dollars::base(each)), switches)},
      {{"step_s", usual.prediction->step_time.value()},
       {"step_without_nvls_s", nvls.without.value()},
       {"nvls_gain", nvls.gain},
       {"nvls_usd", nvls.dollars},
       {"step_with_sharp_s", sharp.with.value()},
       {"sharp_gain", sharp.gain},
       {"sharp_usd", sharp.dollars},
       {"sharp_usd_per_switch", each}});
}

}  // namespace meshwright::capacity
