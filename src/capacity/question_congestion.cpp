// What each way of dealing with congestion leaves of a candidate's network under the workload's traffic.
#include <fmt/format.h>

#include "capacity/fields.hpp"
#include "capacity/question_parts.hpp"
#include "meshwright/capacity/congestion.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::capacity {
namespace {

struct Traffic {
  std::string what;
  std::vector<topology::Flow> flows;
};

topology::Axis axis_of(const char* name, const parallel::Group& group) {
  return {.name = name, .size = group.size, .stride = group.stride};
}

/// Rings of the gradients and one round of the experts' exchange, as far as they leave a scale-up domain.
std::vector<Traffic> traffic_of(const parallel::Job& job, const Layout& layout) {
  const parallel::Groups groups = parallel::groups(layout, job.framework);
  const auto far_off = [&](const parallel::Group& g) { return over_network(job.cluster, g); };
  std::vector<Traffic> all;
  if (far_off(groups.data))
    all.push_back({"gradient rings", ring_flows(job.accelerators, axis_of("data", groups.data), Bytes::base(1))});
  if (far_off(groups.expert))
    all.push_back({"expert exchange", shift_flows(job.accelerators, axis_of("expert", groups.expert),
                                                  groups.expert.size / 2, Bytes::base(1))});
  if (far_off(groups.pipeline))
    all.push_back(
        {"pipeline sends", ring_flows(job.accelerators, axis_of("pipeline", groups.pipeline), Bytes::base(1))});
  return all;
}

/// The mean over several hashes.
CongestionShares mean_shares(const topology::Fabric& fabric, const Traffic& traffic, const CongestionProfile& profile) {
  const int trials = topology::routing_kind(profile.routing, "profile") == topology::RoutingKind::ecmp ? 5 : 1;
  CongestionShares mean{0, 0, 0};
  for (int t = 1; t <= trials; ++t) {
    const CongestionShares one = congestion(fabric, traffic.flows, profile, static_cast<std::uint64_t>(t));
    mean.slowest += one.slowest / trials, mean.mean += one.mean / trials, mean.victims += one.victims / trials;
  }
  return mean;
}

}  // namespace

Answer congestion_profiles_of(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "profiles"});
  const PlannedPoint point = planned(asked, candidate_of(asked, q, "candidate"), workload_of(asked, q));
  std::vector<const CongestionProfile*> profiles;
  if (const auto names = q.find("profiles")) {
    for (const Reader& name : names->items()) profiles.push_back(&congestion_profile(name.string(), name.where()));
  } else {
    for (const CongestionProfile& p : congestion_profiles()) profiles.push_back(&p);
  }
  const topology::Fabric fabric = topology::build_fabric(point.job->cluster);
  question_json rows = question_json::array();
  std::vector<std::string> lines;
  const std::vector<Traffic> traffic = traffic_of(*point.job, point.prediction->layout);
  if (traffic.empty()) lines.emplace_back("nothing leaves the scale-up domains");
  for (const Traffic& t : traffic) {
    for (const CongestionProfile* p : profiles) {
      const CongestionShares shares = mean_shares(fabric, t, *p);
      rows.push_back({{"traffic", t.what},
                      {"profile", p->name},
                      {"slowest", shares.slowest},
                      {"mean", shares.mean},
                      {"victims", shares.victims}});
      lines.push_back(
          fmt::format("{}, {} ({}): slowest flow {}, mean {} of an ideal network; {} wait behind others' "
                      "queues",
                      t.what, p->name, p->title, format_percent(shares.slowest), format_percent(shares.mean),
                      format_percent(shares.victims)));
    }
  }
  return answer(asked, std::move(lines), {{"rows", rows}});
}

}  // namespace meshwright::capacity
