// From what is said of a cluster to the cluster: the one place where defaults enter and everything derived is computed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/entries.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/hardware/network.hpp"

namespace meshwright::hardware {
namespace {

/// What a cluster is made of before anything is changed.
struct Base {
  Node node;
  std::optional<Network> network;  ///< published; else the fabric's usual one
  int nodes = 0;                   ///< that there are; 0 = as many as one likes
  std::string name;                ///< "" = after accelerators
  std::vector<Provenance> sources;
};

class Completion {
 public:
  Completion(const ClusterSpec& said, const Catalog& catalog) : spec_(said), data_(*catalog.data()) {
    cluster_.catalog = catalog.data();
    read_file();
    change_ = spec_.node;
  }

  Cluster run() {
    Base base = base_of();
    cluster_.node = std::move(base.node);
    cluster_.sources = std::move(base.sources);
    cluster_.sources.insert(cluster_.sources.end(), spec_.sources.begin(), spec_.sources.end());
    change_node();
    count(base);
    cluster_.name = !spec_.name.empty()  ? spec_.name
                    : !base.name.empty() ? base.name
                                         : fmt::format("{} x {}", cluster_.accelerators(), cluster_.node.accelerator);
    look_up();
    build_network(base);
    cluster_.platform = platform_for(data_, cluster_, spec_.where);
    cluster_.spec = std::move(spec_);
    return std::move(cluster_);
  }

 private:
  void assume(std::string sentence) { cluster_.assumptions.push_back(std::move(sentence)); }

  /// A file's words in place of its name; counts and changes that stand beside the name narrow what it says.
  void read_file() {
    if (!names_document(spec_.of)) return;
    ClusterSpec file = narrowed(read_cluster_spec(Reader::file(spec_.of)), spec_.nodes, spec_.accelerators, spec_.of);
    const NodeSpec node = std::move(spec_.node);
    const NetworkSpec network = std::move(spec_.network);
    if (!spec_.name.empty()) file.name = std::move(spec_.name);
    spec_ = std::move(file);
    merge(node, spec_.node);
    merge(network, spec_.network);
  }

  Base base_of() {
    if (spec_.of.empty()) return base_of_node();
    if (const ReferenceCluster* reference = find_named(data_.clusters, spec_.of)) {
      Base base{data_.node(reference->node), reference->network, reference->nodes, reference->name, reference->sources};
      if (reference->scale_up_domain > 0) base.node.scale_up_domain = reference->scale_up_domain;
      return base;
    }
    if (const Node* node = find_named(data_.nodes, spec_.of)) return {*node, {}, 0, node->name, node->sources};
    const Accelerator* device = find_named(data_.accelerators, spec_.of);
    if (device != nullptr && data_.usual_node(device->name) != nullptr) return base_of_accelerator(*device);
    std::vector<std::string> valid;
    for (const Node& node : data_.nodes) valid.push_back(node.name);
    for (const ReferenceCluster& reference : data_.clusters) valid.push_back(reference.name);
    throw UnknownName(spec_.where, fmt::format("no cluster or node '{}'{}; a file ends in .json or .yaml", spec_.of,
                                               suggestion(spec_.of, valid)));
  }

  /// A node spelled out: the catalogue's of that name, else the usual one of its accelerator.
  Base base_of_node() {
    const NodeSpec& said = spec_.node;
    if (!said.name.empty()) {
      if (const Node* node = find_named(data_.nodes, said.name)) return {*node, {}, 0, node->name, node->sources};
      if (said.accelerator.empty()) data_.node(said.name, said.where);  // refuses
    }
    if (said.accelerator.empty())
      throw Error(said.where.empty() ? spec_.where : said.where,
                  "found no node, expected the 'name' of one of the catalogue, or its 'accelerator'");
    return base_of_accelerator(data_.accelerator(said.accelerator, said.where + "/accelerator"));
  }

  /// The usual node of an accelerator, or of the part of it that ranks see where a node is said to hold more than it
  /// could.
  Base base_of_accelerator(const Accelerator& device) {
    const NodeSpec& said = spec_.node;
    const std::string fabric = said.fabric ? data_.fabric(*said.fabric, said.where + "/fabric").name : "";
    const int size = said.accelerators.value_or(0), domain = said.scale_up_domain.value_or(0);
    const Node* usual = data_.usual_node(device.name, fabric, size, domain);
    if (usual == nullptr) {
      throw Error(said.where, fmt::format("no node of the catalogue carries {}; expected one that tells its scale-up "
                                          "domain and NICs",
                                          device.name));
    }
    if (!device.rank_device.empty() && size > usual->accelerators) {
      if (const Node* parts = data_.usual_node(device.rank_device, fabric, size, domain)) {
        assume(fmt::format("device: {}, because a node of {} {} is one of {}", device.rank_device, size, device.name,
                           device.rank_device));
        usual = parts;
      }
    }
    change_.accelerator = usual->accelerator;
    assume_from(*usual);
    return {*usual, {}, 0, said.name.empty() ? (spec_.of.empty() ? "" : usual->name) : said.name, usual->sources};
  }

  /// What a node that was not named is taken to be.
  void assume_from(const Node& usual) {
    const NodeSpec& said = spec_.node;
    const bool nothing = !said.accelerators && !said.scale_up && !said.scale_up_domain && !said.nics &&
                         !said.nic_bandwidth && !said.nic && !said.fabric;
    if (nothing) return assume(fmt::format("node: {}, the usual one of {}", usual.name, usual.accelerator));
    if (!said.accelerators)
      assume(fmt::format("node: {} accelerators (as {}; not stated)", usual.accelerators, usual.name));
    if (!said.scale_up && !said.scale_up_domain)
      assume(fmt::format("scale-up: {} (as {}; not stated)", name(usual.scale_up), usual.name));
    if (usual.nics == 0) return;
    if (!said.fabric) assume(fmt::format("fabric: {} (as {}; not stated)", usual.fabric, usual.name));
    if (!said.nics) assume(fmt::format("NICs: {} a node (as {}; not stated)", nics_of(usual), usual.name));
    if (!said.nic_bandwidth && !said.nic)
      assume(
          fmt::format("NIC bandwidth: {} per direction (as {}; not stated)", format(usual.nic_bandwidth), usual.name));
  }

  /// As many NICs an accelerator as the node has.
  int nics_of(const Node& node) const {
    const int size = spec_.node.accelerators.value_or(node.accelerators);
    if (node.nics == 0 || size == node.accelerators) return node.nics;
    return std::max(1, static_cast<int>(std::lround(static_cast<double>(node.nics) / node.accelerators * size)));
  }

  /// Whoever says it: a rate of next to nothing makes times that no number holds.
  void check_bandwidths() const {
    constexpr double least = 1, most = 1e15;
    for (const auto field : {&NodeSpec::scale_up_bandwidth, &NodeSpec::nic_bandwidth}) {
      const std::optional<BytesPerSecond>& said = spec_.node.*field;
      if (said && !(said->value() >= least && said->value() <= most))
        throw Error(
            spec_.node.where.empty() ? spec_.where : spec_.node.where,
            fmt::format("found a bandwidth of {:g} B/s, expected more than zero, at most 1 PB/s", said->value()));
    }
  }

  /// A stated domain is whole nodes, or a node is whole domains.
  void check_domain(const Node& node) const {
    if (!spec_.node.scale_up_domain) return;
    const int domain = node.scale_up_domain, all = node.accelerators;
    if (domain % all == 0 || all % domain == 0) return;
    throw Error(
        (spec_.node.where.empty() ? spec_.where : spec_.node.where) + "/scale_up_domain",
        fmt::format("found {}, expected a divisor or a multiple of the {} accelerators of a node", domain, all));
  }

  void change_node() {
    check_bandwidths();
    const NodeSpec& said = spec_.node;
    Node& node = cluster_.node;
    const bool whole = node.scale_up_domain == node.accelerators;
    if (!said.nics) node.nics = nics_of(node);
    apply(change_, node);
    check_domain(node);
    if (node.scale_up == ScaleUpKind::none && said.scale_up) node.scale_up_domain = 1;
    if (!said.scale_up_domain && whole) node.scale_up_domain = node.accelerators;
    // Another card, of which only the speed is known; but ports on the device's own die are no card.
    if (said.nic_bandwidth && !said.nic && !node.nic.empty() && !data_.nic(node.nic).pcie.empty() &&
        data_.nic(node.nic).bandwidth != *said.nic_bandwidth)
      node.nic.clear();
    if (said.scale_up_domain.value_or(0) > 1 && !said.scale_up && node.scale_up == ScaleUpKind::none) {
      node.scale_up = ScaleUpKind::full_mesh;
      node.scale_up_bandwidth = {};
      assume(fmt::format("scale-up: full_mesh (a domain of {} is stated)", *said.scale_up_domain));
    }
    link_node(data_, node, said.where.empty() ? spec_.where : said.where);
    if (node.nics > 0 && node.nic_bandwidth.value() <= 0)
      throw Error(said.where, "expected 'nic_bandwidth' or 'nic' where there are NICs");
  }

  /// Nodes, and the domains that they make: the first accelerators, whole nodes where they take more than one.
  void count(const Base& base) {
    Node& node = cluster_.node;
    if (base.nodes > 0 && spec_.nodes > base.nodes)
      throw Error(spec_.where, fmt::format("{} has {} nodes, found {}", base.name, base.nodes, spec_.nodes));
    const int there = spec_.nodes > 0 ? spec_.nodes : base.nodes;
    const int domain = std::max(1, node.scale_up_domain), used = spec_.accelerators;
    const long long all = static_cast<long long>(there) * node.accelerators;
    constexpr long long most = largest_count;
    if (there > most || used > most || all > most)
      throw Error(spec_.where, fmt::format("found {} nodes of {} accelerators, expected at most {} accelerators in all",
                                           there, node.accelerators, most));
    cluster_.pod_edge = static_cast<int>(std::lround(std::sqrt(domain)));
    if (there > 0) cluster_.scale_up_domains = static_cast<int>((all + domain - 1) / domain);
    cluster_.nodes = std::max(there, 1);
    if (used > 0 && there > 0 && used > all)
      throw Error(spec_.where, fmt::format("it has {} accelerators, {} are asked for", all, used));
    if (used > 0 && used <= node.accelerators) {
      cluster_.nodes = 1;
      node.accelerators = used;
    } else if (used % node.accelerators != 0) {
      throw Error(spec_.where, fmt::format("{} accelerators don't make whole nodes of {}; expected a multiple of {}",
                                           used, node.accelerators, node.accelerators));
    } else if (used > 0) {
      cluster_.nodes = used / node.accelerators;
    }
    node.scale_up_domain = std::min(node.scale_up_domain, cluster_.accelerators());
  }

  void look_up() {
    Cluster& c = cluster_;
    c.accelerator = data_.accelerator(c.node.accelerator, spec_.where);
    c.fabric = data_.fabric(c.node.fabric, spec_.where);
    if (!c.accelerator.scale_up_link.empty()) c.scale_up_link = data_.link(c.accelerator.scale_up_link, spec_.where);
    c.pcie_link = c.node.pcie.empty() ? data_.usual_link("pcie", spec_.where) : data_.link(c.node.pcie, spec_.where);
    c.host = host_kind(c.node.cpu, (spec_.node.where.empty() ? spec_.where : spec_.node.where) + "/cpu");
    if (!c.node.nic.empty()) c.nic = data_.nic(c.node.nic, spec_.where);
    if (!c.node.scale_up_switch.empty()) c.scale_up_switch = data_.switch_named(c.node.scale_up_switch, spec_.where);
  }

  /// How a fabric is usually built: tori as their accelerators are joined.
  Network usual_network() const {
    Network network;
    network.topology = cluster_.fabric.topology, network.routing = cluster_.fabric.routing;
    if (is_torus_network(cluster_)) {
      network.topology = torus_of(cluster_.node.scale_up);
      network.routing = "static";
    }
    return network;
  }

  void assume_network() {
    const NetworkSpec& said = spec_.network;
    const Network& n = cluster_.network;
    const std::string usual = fmt::format("(usual for {}; state 'network' to change it)", cluster_.node.fabric);
    if (!said.topology && !said.oversubscription && !said.routing)
      return assume(fmt::format("network: {}, full bisection, {} routing {}", n.topology, n.routing, usual));
    if (!said.topology) assume(fmt::format("network topology: {} {}", n.topology, usual));
    if (!said.oversubscription) assume(fmt::format("network: full bisection {}", usual));
    if (!said.routing) assume(fmt::format("network routing: {} {}", n.routing, usual));
  }

  void build_network(const Base& base) {
    Cluster& c = cluster_;
    c.network = base.network ? *base.network : usual_network();
    apply(spec_.network, c.network);
    c.network.nodes = std::max({c.network.nodes, spec_.nodes, base.nodes});
    if (!base.network) assume_network();
    check_network(c, spec_.network.where.empty() ? "network" : spec_.network.where);
    if (c.network.dcn_bandwidth == 0) c.network.dcn_bandwidth = c.node.dcn_bandwidth.value();
    const bool named = !c.network.switch_name.empty();
    if (named) {
      c.fabric_switch = data_.switch_named(c.network.switch_name, spec_.network.where + "/switch");
      c.network.switch_name = c.fabric_switch.name;
    }
    if (c.nodes > 1 && c.node.nics == 0 && c.fabric.switched && c.node.scale_up_domain < c.accelerators())
      assume(fmt::format("no NICs: nodes talk over {} (state 'nics' to change it)", without_nics(c).limit));
    if (c.node.nics == 0) return;  // a torus: optical switches keep their ports as they are
    c.fabric_switch = network_switch(c, data_);
    if (const Limited nic = nic_rate(c); !nic.limit.empty() && c.nodes > 1)
      assume(fmt::format("NICs of {} carry {}: {} is the limit", format(c.node.nic_bandwidth), format(nic.rate),
                         nic.limit));
  }

  ClusterSpec spec_;
  NodeSpec change_;  ///< spec_.node with the device that ranks see
  const CatalogData& data_;
  Cluster cluster_;
};

}  // namespace

Cluster complete(const ClusterSpec& spec, const Catalog& catalog) { return Completion(spec, catalog).run(); }

Cluster with(const Cluster& cluster, const std::function<void(ClusterSpec&)>& edit) {
  ClusterSpec spec = cluster.spec;
  edit(spec);
  return complete(spec, Catalog(cluster.catalog));
}

Cluster make_cluster(const Catalog& catalog, std::string_view name_or_file, int nodes, int accelerators) {
  if (nodes < 0 || accelerators < 0)
    throw Error(nodes < 0 ? "nodes" : "accelerators", "expected at least 1, found a negative number");
  return complete({.of = std::string(name_or_file), .nodes = nodes, .accelerators = accelerators}, catalog);
}

}  // namespace meshwright::hardware
