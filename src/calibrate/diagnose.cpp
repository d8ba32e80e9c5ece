#include "meshwright/calibrate/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "calibrate/diagnose_signs.hpp"
#include "calibrate/diagnose_thresholds.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::calibrate {
namespace {

using namespace literals;

/// The machine as it would be with one thing wrong.
struct Case {
  Cluster cluster;
  CollectiveOptions options;
};

/// A cause that changes what is reached: how, and how to check. Nothing where it can't apply.
struct Hypothesis {
  std::string_view cause;
  bool (*suppose)(Case&);
  std::string_view reason, check;
};

bool several_nodes(const Case& c) { return c.cluster.nodes > 1; }

/// The machine with something else said of its nodes.
void say(Case& c, const std::function<void(NodeSpec&)>& edit) {
  c.cluster = with(c.cluster, [&](ClusterSpec& spec) { edit(spec.node); });
}
/// NICs at a share of their rate.
bool at_rate(Case& c, double share) {
  const BytesPerSecond rate = c.cluster.node.nic_bandwidth * share;
  say(c, [&](NodeSpec& node) { node.nic_bandwidth = rate; });
  return true;
}

bool one_nic(Case& c) {
  if (!several_nodes(c) || c.cluster.node.nics < 2) return false;
  say(c, [](NodeSpec& node) { node.nics = 1; });
  return true;
}
bool half_of_nics(Case& c) {
  const int nics = c.cluster.node.nics;
  if (!several_nodes(c) || nics < 4) return false;
  say(c, [&](NodeSpec& node) { node.nics = nics / 2; });
  return true;
}
bool sockets(Case& c) {
  const CatalogData& catalog = c.cluster.catalog ? *c.cluster.catalog : *builtin_catalog().data();
  const FabricKind& kernel = catalog.kernel_fabric();
  if (!several_nodes(c) || c.cluster.fabric.name == kernel.name) return false;
  // NCCL_SOCKET_IFNAME's usual single interface, which one rank's core feeds.
  const BytesPerSecond line = c.cluster.node.nics > 0 ? c.cluster.node.nic_bandwidth : kernel.per_rank;
  const BytesPerSecond rate = std::min(line, kernel.per_rank);
  say(c, [&](NodeSpec& node) { node.fabric = kernel.name, node.nics = 1, node.nic_bandwidth = rate; });
  return true;
}
/// Staged through host memory: in and out of it over the PCIe links that GPUs and NICs share, half of their rate.
bool staged(Case& c) { return several_nodes(c) && c.cluster.node.nics > 0 && at_rate(c, thresholds.staged); }
bool no_switch_reduction(Case& c) {
  if (!c.cluster.node.scale_up_reduces || !c.options.nvls) return false;
  c.options.nvls = false;
  return true;
}
bool no_peer_access(Case& c) {
  if (c.cluster.node.scale_up == ScaleUpKind::pcie || c.cluster.node.scale_up == ScaleUpKind::none) return false;
  say(c, [](NodeSpec& node) { node.scale_up = ScaleUpKind::pcie; });
  return true;
}
bool collisions(Case& c) { return c.cluster.nodes > 2 && c.cluster.node.nics > 0 && at_rate(c, thresholds.collisions); }
bool narrow_slot(Case& c) { return several_nodes(c) && c.cluster.node.nics > 0 && at_rate(c, thresholds.narrow_slot); }

constexpr std::array hypotheses = {
    Hypothesis{cause::sockets, sockets, "as slow as TCP sockets over one interface",
               "NCCL_DEBUG=INFO: NET/IB or a plug-in, not NET/Socket; NCCL_IB_HCA, ibv_devinfo"},
    Hypothesis{"one_nic", one_nic, "as fast as one NIC of each node",
               "NCCL_DEBUG=INFO: how many NET/IB devices; NCCL_IB_HCA; nvidia-smi topo -m"},
    Hypothesis{"half_of_nics", half_of_nics, "as fast as half of the NICs",
               "NCCL_IB_HCA; dual ports counted twice; bonded ports; nvidia-smi topo -m"},
    Hypothesis{cause::host_staging, staged, "half of the NICs' rate: data staged through host memory",
               "lsmod | grep nvidia_peermem; NCCL_DEBUG=INFO: GDRDMA; NCCL_NET_GDR_LEVEL; ACS (lspci -vvv)"},
    Hypothesis{"pcie_generation", narrow_slot, "a quarter of the NICs' rate: a slot trained down in speed or width",
               "lspci -vv | grep LnkSta on NICs and bridges; nvidia-smi -q | grep -A3 'PCIe Generation'"},
    Hypothesis{"nvls_off", no_switch_reduction, "as fast as rings: no reduction in the NVLink switch",
               "NCCL_DEBUG=INFO: 'nvls channels'; NCCL_NVLS_ENABLE; fabric manager; driver of at least 530"},
    Hypothesis{cause::peer_access, no_peer_access, "as slow as PCIe or shared memory: NVLink isn't used",
               "nvidia-smi topo -m (NV#); NCCL_P2P_LEVEL, NCCL_P2P_DISABLE; nvidia-smi nvlink -s"},
    Hypothesis{
        "oversubscription_or_ecmp", collisions,
        "about 0.6 of line rate between more than two nodes: flows that collide, or too few uplinks",
        "pairs of nodes under one leaf against pairs across leaves; NCCL_IB_QPS_PER_CONNECTION=4; adaptive routing"},
};

/// Where the rows ran: group and media of a machine.
struct Site {
  GroupPlace place;
  Platform platform;
  Site(const Observation& o, const Cluster& cluster)
      : place(place_group(cluster, o.ranks > 0 ? o.ranks : cluster.accelerators(), 1)),
        platform(platform_of(cluster)) {}
};

Seconds time_of(const Observation& o, const MeasuredRow& row, const Site& site, CollectiveOptions options) {
  if (!applies(o.collective, site.place, site.platform, options)) options.algorithm.clear(), options.protocol.clear();
  return estimate(o.collective, row.bytes, site.place, site.platform, options).time;
}

/// The machine as described, under the algorithm and protocol that each row ran with.
std::vector<Seconds> predict_healthy(const Observation& o) {
  std::vector<Seconds> times;
  const Site site(o, o.cluster);
  for (const MeasuredRow& row : o.rows) {
    times.push_back(time_of(o, row, site, row.options == CollectiveOptions{} ? o.options : row.options));
  }
  return times;
}

std::vector<Seconds> predict(const Observation& o, const Case& c) {
  std::vector<Seconds> times;
  const Site site(o, c.cluster);
  for (const MeasuredRow& row : o.rows) times.push_back(time_of(o, row, site, c.options));
  return times;
}

/// Mean |log(measured / predicted)| over the upper half of the sizes, where bandwidth counts.
double misfit(const Observation& o, const std::vector<Seconds>& times) {
  double sum = 0, count = 0;
  for (std::size_t i = o.rows.size() / 2; i < o.rows.size(); ++i) {
    sum += std::abs(std::log(o.rows[i].time / times[i]));
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

Bytes start_of_shortfall(const Observation& o, const std::vector<Seconds>& times) {
  Bytes from{};
  for (std::size_t i = o.rows.size(); i-- > 0;) {
    if (o.rows[i].time < times[i] * thresholds.longer) break;
    from = o.rows[i].bytes;
  }
  return from;
}

/// Rows where only a plateau is known: one large message that takes as long as that bandwidth says.
Observation with_rows(Observation o) {
  std::ranges::sort(o.rows, {}, &MeasuredRow::bytes);
  if (!o.rows.empty() || o.busbw.value() <= 0) return o;
  const int ranks = o.ranks > 0 ? o.ranks : o.cluster.accelerators();
  const Bytes bytes = Bytes::base(8.6e9);
  const double factor = busbw_factor(o.collective, ranks).value();
  o.rows.push_back({bytes, bytes * factor / o.busbw, o.options});
  return o;
}

std::vector<LikelyCause> fitting(const Observation& o, double healthy_misfit) {
  std::vector<LikelyCause> found;
  for (const Hypothesis& h : hypotheses) {
    Case wrong{o.cluster, o.options};
    if (!h.suppose(wrong)) continue;
    // A library that sees the wrong machine may also keep to rings.
    Case rings = wrong;
    rings.options.algorithm = "ring";
    const double m = std::min(misfit(o, predict(o, wrong)), misfit(o, predict(o, rings)));
    if (m < thresholds.fits && m < thresholds.fits_better * healthy_misfit) {
      found.push_back({std::string(h.cause), std::string(h.reason), std::string(h.check), m});
    }
  }
  std::ranges::sort(found, {}, &LikelyCause::misfit);
  return found;
}

/// The same collective inside one node tells on which side of the NIC the fault lies.
void judge_one_node(const Observation& o, double reached, std::vector<LikelyCause>& found) {
  const int ranks = std::min(o.cluster.node.accelerators, o.cluster.accelerators());
  if (o.one_node_busbw.value() <= 0 || ranks < 2) return;
  Observation node = o;
  node.cluster = with(o.cluster, [](ClusterSpec& spec) { spec.nodes = 1, spec.accelerators = 0; });
  node.ranks = ranks, node.busbw = o.one_node_busbw, node.rows.clear(), node.lines.clear();
  node.raw_rdma = node.one_node_busbw = {}, node.scaling = 0;
  const Diagnosis inside = diagnose(node);
  if (!inside.healthy) {
    found.push_back({"inside_the_node",
                     fmt::format("one node alone reaches {:.0f} % of its prediction: the fault lies inside it, not in "
                                 "the network",
                                 100 * inside.plateau),
                     inside.findings.empty() ? "nvidia-smi nvlink -s; nvidia-smi topo -m; NCCL_DEBUG=INFO"
                                             : inside.findings.front().check});
  } else if (reached > 0 && reached < thresholds.sound && found.empty()) {
    found.push_back({"between_nodes",
                     fmt::format("one node alone reaches {:.0f} % of its prediction, several {:.0f} %: the fault lies "
                                 "between GPU and switch, not in the scale-up links",
                                 100 * inside.plateau, 100 * reached),
                     "ib_write_bw per rail and pair of nodes, then with --use_cuda; NCCL_DEBUG=INFO: GDRDMA"});
  }
}

void add_latency_floor(const Diagnosis& d, std::vector<LikelyCause>& found) {
  if (d.latency < thresholds.late || d.plateau < thresholds.sound) return;
  found.push_back(
      {"latency_floor",
       fmt::format("small messages take {:.1f} times as long as predicted, large ones are sound", d.latency),
       "ib_write_lat between the nodes; CPU frequency governor and pinning; cold caches in the first rows; "
       "PCIe ordering (relaxed ordering), IOMMU"});
}

/// Where nothing else explains it: bandwidth so far below the prediction that the fast path cannot be in use at all.
void add_far_below(const Observation& o, const Diagnosis& d, std::vector<LikelyCause>& found) {
  if (!found.empty() || d.plateau <= 0 || d.plateau > thresholds.no_fast_path) return;
  const int ranks = o.ranks > 0 ? o.ranks : o.cluster.accelerators();
  const std::string reach = fmt::format("{:.0f} % of the prediction is less than ", 100 * d.plateau);
  if (place_group(o.cluster, ranks, 1).over_network() && o.cluster.node.nics > 0) {
    found.push_back({std::string(cause::sockets),
                     reach + "any RDMA path reaches: TCP sockets, or copies through host memory",
                     "NCCL_DEBUG=INFO: expect NET/IB or the plug-in, with GDRDMA; then ib_write_bw on every NIC"});
  } else {
    found.push_back({std::string(cause::peer_access),
                     reach + "the scale-up links reach: peer access is off, or traffic crosses the host",
                     "NCCL_DEBUG=INFO: expect 'via P2P'; nvidia-smi topo -m; NCCL_P2P_DISABLE, NCCL_P2P_LEVEL"});
  }
}

std::string summary(const Observation& o, const Diagnosis& d) {
  if (o.rows.empty() && d.healthy && o.raw_rdma.value() > 0) {
    return fmt::format("as a sound link: {:.0f} % of the NICs' rate, and no sign of trouble",
                       100 * (o.raw_rdma / (o.cluster.node.nic_bandwidth * o.cluster.node.nics)));
  }
  if (d.healthy && d.plateau > thresholds.better)
    return fmt::format("{:.0f} % of the predicted bandwidth: better than predicted, and no sign of trouble",
                       100 * d.plateau);
  if (d.healthy) return "as predicted: within a quarter at the largest size, and no sign of trouble";
  const std::string where =
      d.shortfall_from.value() > 0 ? fmt::format("from {} on, ", format(d.shortfall_from)) : std::string();
  const std::string reach = d.plateau > 0 ? fmt::format("{:.0f} % of the predicted bandwidth", 100 * d.plateau) : "";
  const std::string cause = d.findings.empty() ? "no known cause fits" : "consistent with " + d.findings.front().cause;
  return fmt::format("{}{}{}{}", where, reach, reach.empty() ? "" : "; ", cause);
}

}  // namespace

Diagnosis diagnose(const Observation& observation) {
  const Observation o = with_rows(observation);
  Diagnosis d;
  const std::vector<Seconds> times = predict_healthy(o);
  double healthy_misfit = 0;
  if (!o.rows.empty()) {
    d.plateau = times.back() / o.rows.back().time;
    d.latency = o.rows.size() > 1 ? o.rows.front().time / times.front() : 0;
    d.shortfall_from = start_of_shortfall(o, times);
    healthy_misfit = misfit(o, times);
  }
  d.findings = direct_signs(o, d.plateau);
  judge_one_node(o, d.plateau, d.findings);
  if (d.shortfall_from.value() > 0) {
    for (LikelyCause& f : fitting(o, healthy_misfit)) {
      const bool known = std::ranges::any_of(d.findings, [&](const LikelyCause& g) { return g.cause == f.cause; });
      if (!known) d.findings.push_back(std::move(f));
    }
  }
  add_latency_floor(d, d.findings);
  add_far_below(o, d, d.findings);
  d.healthy = d.findings.empty() && d.shortfall_from.value() <= 0;
  d.summary = summary(o, d);
  return d;
}

}  // namespace meshwright::calibrate
