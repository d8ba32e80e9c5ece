// A model of NCCL's graph search (src/graph/search.cc of 2.30.7): which channels, at which speed.
#include <algorithm>
#include <cmath>
#include <span>

#include "collectives/nccl_constants.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::collectives {
namespace {

std::span<const double> speeds_of(const NcclMachine& m) {
  const NcclGeneration& generation = nccl_generation(m.compute_capability);
  return m.domains == 1 ? generation.intra : generation.inter;
}

double fastest_below(const NcclMachine& m, double limit) {
  for (const double speed : speeds_of(m)) {
    if (speed <= limit) return speed;
  }
  return 0;
}

/// What limits a channel and all of them [GB/s].
struct Limits {
  double gpu = 0;    ///< NVLink of one GPU
  double hop = 0;    ///< between two GPUs
  double nic = 0;    ///< one NIC, with its slot
  double chain = 1;  ///< share of the channels that leave a GPU by NVLink: each chain between NICs ends at one GPU
};

Limits limits_of(const NcclMachine& m) {
  const double link = nccl_generation(m.compute_capability).nvlink;
  Limits l;
  l.gpu = m.nvlinks * link;
  l.hop = m.nvswitch ? l.gpu : std::max(1, m.nvlinks_of_pair) * link;
  l.nic = std::min(m.nic.value(), m.pcie.value()) / 1e9;
  if (m.domains > 1) l.chain = (m.ranks_per_domain - 1.0) / m.ranks_per_domain;
  return l;
}

/// The most bandwidth over the speeds; among equals, the fastest channels.
NcclGraph search(const NcclMachine& m, const Limits& l) {
  NcclGraph best;
  double best_total = 0;
  for (const double speed : speeds_of(m)) {
    double channels = nccl_constants().search_channels;
    if (m.ranks_per_domain > 1) {
      if (speed > l.hop) continue;
      channels = std::min(channels, std::floor(l.gpu / (speed * l.chain) + 1e-9));
    }
    if (m.domains > 1) channels = std::min(channels, m.nics_per_domain * std::floor(l.nic / speed));
    if (channels < 1 || channels * speed <= best_total) continue;
    best_total = channels * speed;
    best.channels = static_cast<int>(channels);
    best.intra = best.inter = BytesPerSecond::base(speed * 1e9);
  }
  return best;
}

/// Fast channels are cut in two where that gives the kernels more parallelism.
void duplicate(const NcclMachine& m, NcclGraph& g) {
  const double speed = g.intra.value() / 1e9;
  if (g.channels == 0 || speed < 25 || (m.compute_capability > 80 && speed < 50 && g.channels > 4)) return;
  const int doubled = std::min(2 * g.channels, nccl_constants().search_channels);
  const double parts = std::ceil(static_cast<double>(doubled) / g.channels);
  g.channels = doubled;
  g.intra = g.intra / parts;
  g.inter = g.inter / parts;
}

/// Trees take the ring's channels; their chains inside a domain may run at up to twice the speed between domains.
NcclGraph tree_of(const NcclMachine& m, const Limits& l, const NcclGraph& ring) {
  NcclGraph tree = ring;
  tree.pattern = m.domains > 1 && m.nic_per_gpu ? NcclPattern::tree : NcclPattern::balanced_tree;
  if (m.domains == 1) return tree;
  double most = 2 * tree.inter.value() / 1e9;
  if (m.ranks_per_domain > 1) most = std::min({most, l.hop, l.gpu / (tree.channels * l.chain)});
  tree.intra = std::max(tree.intra, BytesPerSecond::base(fastest_below(m, most) * 1e9));
  return tree;
}

/// Heads of the multicast trees: every GPU, up to 32. A head's port carries one more share than the others'.
NcclGraph nvls_of(const NcclMachine& m, const Limits& l) {
  NcclGraph g{.pattern = NcclPattern::nvls,
              .intra_path = NcclPath::nvlink,
              .inter_path = m.domains > 1 ? m.nic_path : NcclPath::pix};
  g.same_channels = false;
  if (!m.nvls || !m.nvswitch || m.compute_capability < 90 || m.ranks_per_domain < 2) return g;
  const int most_heads = nccl_constants().nvls_heads;
  g.channels = std::min(m.ranks_per_domain, most_heads);
  const double rails = std::min(1.0, static_cast<double>(m.nics_per_domain) / g.channels);
  double inter = m.domains > 1 ? fastest_below(m, l.nic * rails) : speeds_of(m).front();
  const double intra = fastest_below(m, std::min(inter, l.gpu / (g.channels + 1)));
  if (g.channels == most_heads) inter = 2 * intra;  // the search lowers both together before it gives up
  g.intra = BytesPerSecond::base(intra * 1e9);
  g.inter = BytesPerSecond::base(inter * 1e9);
  return g;
}

/// Without NVLink one channel crosses the host: slots on Intel pay for peer-to-peer, on AMD sockets are the limit.
void host_graphs(const NcclMachine& m, NcclGraphs& g) {
  const bool amd = m.cpu == CpuVendor::amd;
  const double slot = m.pcie.value() / 1e9 / (amd ? 1 : 1.2);
  static const double amd_sockets = host_kind("amd", "NCCL").socket_link.value() / 1e9;
  const double ring = fastest_below(m, amd ? std::min(slot, amd_sockets) : slot);
  const double tree = m.domains > 1 && !amd ? fastest_below(m, ring / 1.2) : ring;
  const NcclPath inter = m.domains > 1 ? NcclPath::sys : NcclPath::pix;
  g.ring = {.pattern = NcclPattern::ring, .channels = 1, .intra_path = NcclPath::sys, .inter_path = inter};
  g.ring.intra = g.ring.inter = BytesPerSecond::base(ring * 1e9);
  g.tree = g.ring;
  g.tree.pattern = NcclPattern::balanced_tree;
  g.tree.intra = g.tree.inter = BytesPerSecond::base(tree * 1e9);
}

void switched_graphs(const NcclMachine& m, NcclGraphs& g) {
  const Limits l = limits_of(m);
  NcclGraph found = search(m, l);
  found.intra_path = m.ranks_per_domain == 1 ? NcclPath::local : NcclPath::nvlink;
  found.inter_path = m.domains > 1 ? m.nic_path : NcclPath::pix;
  const bool regular = m.nvswitch && m.ranks_per_domain <= 16 && m.domains == 1;
  found.same_channels = m.ranks_per_domain == 1 || regular;
  g.nvls = nvls_of(m, l);
  if (m.collnet && m.nvswitch && m.domains > 1) {
    g.collnet_chain = tree_of(m, l, found);
    g.collnet_chain.pattern = NcclPattern::tree;
    g.collnet_direct = found;
    g.collnet_direct.pattern = NcclPattern::collnet_direct;
    g.collnet_direct.same_channels = true;
    const double most = 2 * found.inter.value() / 1e9;
    g.collnet_direct.intra = BytesPerSecond::base(fastest_below(m, most) * 1e9);
  }
  g.ring = found;
  duplicate(m, g.ring);
  g.tree = tree_of(m, l, g.ring);
}

int communicator_channels(const NcclMachine& m, const NcclGraphs& g) {
  int channels = 2 * g.ring.channels;
  const bool narrow = channels < 16 && g.ring.intra.value() > 45e9;
  if (m.compute_capability >= 90 && m.domains > 1 && narrow) channels *= 2;
  if (g.collnet_chain.intra > g.collnet_chain.inter) channels = channels * 3 / 2;
  return channels;
}

}  // namespace

NcclGraphs nccl_graphs(const NcclMachine& m) {
  NcclGraphs g{.domains = m.domains,
               .ranks_per_domain = m.ranks_per_domain,
               .compute_capability = m.compute_capability,
               .cpu = m.cpu,
               .x86 = m.x86,
               .collnet = m.collnet};
  m.nvlinks == 0 && m.ranks_per_domain > 1 ? host_graphs(m, g) : switched_graphs(m, g);
  g.channels = communicator_channels(m, g);
  if (m.domains > 1) {
    for (NcclGraph* graph : {&g.ring, &g.tree, &g.collnet_chain, &g.collnet_direct, &g.nvls})
      graph->inter_latency = m.nic_latency;
  }
  return g;
}

namespace {

/// Sixteen lanes as NCCL rates them (graph/topo.h): 3, 6, 12, 24, 48, 96 GB/s by generation.
BytesPerSecond pcie_rating(const Link& slot) {
  if (slot.giga_transfers <= 0) return slot.bandwidth;
  const double of_10_bits = slot.coding < 0.9 ? slot.coding : 1;
  return BytesPerSecond::base(1.5e9 * slot.giga_transfers * of_10_bits);
}

CpuVendor vendor_of(const HostKind& host) {
  return host.nccl_vendor == "amd" ? CpuVendor::amd : host.nccl_vendor == "intel" ? CpuVendor::intel : CpuVendor::other;
}

/// `domains` of `ranks_per_domain` GPUs each of a cluster's node.
NcclMachine machine_of(const Cluster& cluster, int domains, int ranks_per_domain) {
  const Node& node = cluster.node;
  const Accelerator& device = cluster.accelerator;
  const bool x86 = cluster.host.x86;
  NcclMachine m{.domains = domains,
                .ranks_per_domain = ranks_per_domain,
                .compute_capability = device.compute_capability,
                .cpu = vendor_of(cluster.host),
                .x86 = x86,
                .nvswitch = node.scale_up == ScaleUpKind::switched,
                .nvlinks = device.scale_up_links,
                .nics_per_domain = std::max(1, node.nics * ranks_per_domain / std::max(1, node.accelerators)),
                .nic = node.nic_bandwidth,
                .pcie = pcie_rating(cluster.pcie_link),
                .nic_path = x86 ? NcclPath::pix : NcclPath::p2c,
                .nic_per_gpu = x86 && device.compute_capability >= 90 && node.nics >= node.accelerators,
                .nvls = node.scale_up_reduces};
  const bool joined = node.scale_up != ScaleUpKind::pcie && node.scale_up != ScaleUpKind::none;
  // A plug-in shows NCCL the NICs nearest to a GPU as one of many rails (aws-ofi-nccl, nccl_ofi_topo_group()).
  if (cluster.fabric.by_plugin && m.nics_per_domain > ranks_per_domain) {
    m.nic = m.nic * (m.nics_per_domain / ranks_per_domain);
    m.nics_per_domain = ranks_per_domain;
  }
  const auto& told = nccl_constants().plugin_latency;
  const auto latency = std::ranges::find(told, cluster.platform.scale_out.name, &std::pair<std::string, double>::first);
  if (latency != told.end()) m.nic_latency = Seconds::base(latency->second * 1e-6);
  if (!joined || ranks_per_domain > node.scale_up_domain) m.nvlinks = 0;
  if (node.scale_up == ScaleUpKind::full_mesh || node.scale_up == ScaleUpKind::nvlink_bridge)
    m.nvlinks_of_pair = m.nvlinks / std::max(1, node.scale_up_domain - 1);
  if (m.nic.value() <= 0) m.nic = m.pcie;
  return m;
}

}  // namespace

std::optional<NcclGraphs> nccl_graphs_for(const Cluster& cluster, int ranks, bool collnet) {
  if (cluster.accelerator.compute_capability == 0) return std::nullopt;
  const int size = ranks > 0 ? ranks : cluster.accelerators();
  const int domain = std::min(size, std::max(cluster.node.accelerators, cluster.node.scale_up_domain));
  NcclMachine machine = machine_of(cluster, (size + domain - 1) / domain, domain);
  machine.collnet = collnet;
  NcclGraphs graphs = nccl_graphs(machine);
  graphs.system = cluster.name;
  return graphs;
}

namespace {

/// The catalogue's node for a system's name: the longest name that it starts with ("pcie-l40s-intel"), else the first
/// that has its stem ("h100-1gpu", "gb200-nvl8"); null where there is none.
const Node* node_of_system(std::string_view system) {
  const Node* best = nullptr;
  for (const Node& node : builtin_catalog().nodes) {
    if (system.starts_with(node.name) && (best == nullptr || node.name.size() > best->name.size())) best = &node;
  }
  if (best != nullptr) return best;
  const std::string_view stem = system.substr(0, system.rfind('-'));
  for (const Node& node : builtin_catalog().nodes) {
    if (stem.size() >= 4 && node.name.find(stem) != std::string::npos) return &node;
  }
  return nullptr;
}

}  // namespace

std::optional<NcclGraphs> nccl_graphs_of_system(std::string_view system, int domains, int ranks, std::string_view tag) {
  const Node* node = node_of_system(system);
  if (node == nullptr || domains < 1 || ranks < domains) return std::nullopt;
  const int nodes = (ranks + node->accelerators - 1) / node->accelerators;  // so that domains of racks are whole
  const Cluster cluster = make_cluster(builtin_catalog(), node->name, nodes);
  if (cluster.accelerator.compute_capability == 0) return std::nullopt;
  NcclMachine m = machine_of(cluster, domains, ranks / domains);
  if (system.ends_with("-amd")) m.cpu = CpuVendor::amd;
  if (system.ends_with("-intel")) m.cpu = CpuVendor::intel;
  m.collnet = tag.find("collnet") != std::string_view::npos;
  m.nvls = m.nvls && tag.find("nvls_off") == std::string_view::npos;
  NcclGraphs graphs = nccl_graphs(m);
  graphs.system = system;
  graphs.tag = tag;
  return graphs;
}

}  // namespace meshwright::collectives
