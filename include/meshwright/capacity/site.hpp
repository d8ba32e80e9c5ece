#pragma once
// What capacity needs of a cluster, worked out once: counts of parts, what a fault costs, what was bought.
#include <string>
#include <vector>

#include "meshwright/capacity/failures.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/topology/bill.hpp"

namespace meshwright::capacity {

/// One line of the purchase.
struct Purchase {
  std::string what, model;
  double count = 0;
  Dollars each{};       ///< zero = the database has no price
  Watts power{};        ///< of one
  double gigabits = 0;  ///< capacity of a switch or NIC in one direction, for lines without a price
  enum class Part { node, switch_, optical_switch, nic, cable } part = Part::cable;
  std::string note;
};

/// One failed part of the fabric.
struct FaultSlowdown {
  std::string what;
  double network = 1;  ///< time of the network's busiest traffic over the healthy one; infinity = cut
  int cut_off = 0;     ///< accelerators that lose the network
};

struct Site {
  std::string cluster;
  int accelerators = 0;  ///< that the job uses
  double hosts = 0;
  int per_host = 1;
  std::string accelerator, node;
  Watts power_cap{};              ///< of an accelerator; zero = none
  Watts power_limit{};            ///< of the job's whole part at the meter; zero = none
  Watts tdp{}, node_power{};      ///< of an accelerator; nameplate of a node, zero = not published
  BytesPerSecond host_link{};     ///< of one accelerator to its host, line rate
  BytesPerSecond host_network{};  ///< NICs of one host together
  UnitCounts counts;
  double scale_up_hosts = 1;    ///< hosts that one scale-up domain joins: a rack where there are several
  bool survives_leaf = false;   ///< every NIC has a port in several planes
  double hosts_below_leaf = 0;  ///< that a leaf switch takes off the network
  bool leaf_cuts_off = false;   ///< they have no way around it; false: over their other NICs
  /// Network time with one of them down. A host that has lost a port or a rail does no worse than without the whole
  /// NIC: its traffic goes around over the others (a lost port of 16 costs a sixteenth: Alibaba HPN, SIGCOMM 2024).
  double slowdown_cable = 1, slowdown_leaf = 1, slowdown_plane = 1, slowdown_upper = 1;
  std::vector<FaultSlowdown> faults;
  std::vector<Purchase> purchases;  ///< nodes first
  DollarsPerSecond rent{};          ///< of one accelerator, where the database knows one
  std::string rent_note;
  Dollars accelerator_price{};  ///< of one, zero = not known
  std::string accelerator_note;
};

/// Hosts of one rack: a scale-up domain of several hosts is a rack of its own; others share the rack's power by their
/// nameplates, at least one a rack. `rack_power` and `nameplate` in watts.
double hosts_per_rack(const Site& site, double rack_power, double nameplate);

/// Facts of the part of the cluster that `accelerators` use. Purchases: nodes with their usual NICs, what other NICs
/// cost more or less, switches, cables and optics of the scale-out network in proportion.
Site make_site(const hardware::Catalog& catalog, const Cluster& cluster, int accelerators);

}  // namespace meshwright::capacity
