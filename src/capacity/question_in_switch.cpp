// What reductions in the switches are worth: NVLink SHARP inside a domain, SHARP in the network.
#include <fmt/format.h>

#include <algorithm>

#include "capacity/question_parts.hpp"
#include "meshwright/collectives/estimate.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::capacity {
namespace {

Seconds step_without_scale_up_reduction(const parallel::Job& job, const Layout& layout) {
  const parallel::Job plain =
      parallel::with_figures(job, [](parallel::Figures& figures) { figures.platform.scale_up.in_switch = {}; });
  return parallel::predict(plain, layout).step_time;
}

/// All-reduce of one device's gradients in the network's switches over that without.
double reduction_ratio(const parallel::Job& job, const parallel::Prediction& p) {
  const parallel::Group data = parallel::groups(p.layout, job.framework).data;
  if (data.size < 2) return 1;
  const topology::GroupPlace place = topology::place_group(job.cluster, data.size, data.stride);
  const Bytes bytes = std::max(Bytes::base(1), p.memory.gradients);
  const auto time = [&](bool in_network) {
    return collectives::estimate(collectives::Collective::all_reduce, bytes, place, job.cluster.platform,
                                 {.algorithm = {}, .protocol = {}, .collnet = in_network})
        .time;
  };
  return std::min(1.0, time(true) / time(false));
}

double switches_of(const Site& site) {
  double count = 0;
  for (const Purchase& p : site.purchases) count += p.part == Purchase::Part::switch_ ? p.count : 0;
  return count;
}

}  // namespace

Answer in_switch_reduction(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload"});
  const PlannedPoint point = planned(asked, candidate_of(asked, q, "candidate"), workload_of(asked, q));
  const RunEstimate e = estimate(point);
  const parallel::Prediction& p = *point.prediction;
  const Seconds with = p.step_time, without = step_without_scale_up_reduction(*point.job, p.layout);
  const double scale_up = 1 - with / without;
  const double ratio = reduction_ratio(*point.job, p);
  const Seconds data = p.time.data_parallel + p.hidden.data_parallel;
  const Seconds saved = std::min(p.time.data_parallel, data * (1 - ratio));
  const double network = saved / with, switches = std::max(1.0, switches_of(point.run->site));
  return answer(
      asked,
      {fmt::format("NVLink SHARP: a step takes {} instead of {}: {} of the run, {}", format(with), format(without),
                   format_percent(scale_up), format(Dollars::base(scale_up / (1 - scale_up) * e.cost.value))),
       fmt::format(
           "SHARP in the network: gradients take {:.2f} of the time ({} of {} are not behind compute), {} of the "
           "run: {}, or {} for each of {:.0f} switches",
           ratio, format(p.time.data_parallel), format(data), format_percent(network),
           format(Dollars::base(network * e.cost.value)), format(Dollars::base(network * e.cost.value / switches)),
           switches)},
      {{"step_s", with.value()},
       {"step_without_nvls_s", without.value()},
       {"nvls_gain", scale_up},
       {"nvls_usd", scale_up / (1 - scale_up) * e.cost.value},
       {"sharp_time_ratio", ratio},
       {"sharp_gain", network},
       {"sharp_usd", network * e.cost.value},
       {"sharp_usd_per_switch", network * e.cost.value / switches}});
}

}  // namespace meshwright::capacity
