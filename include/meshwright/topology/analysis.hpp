#pragma once
// What a fabric can carry and survive: bisection, diameter, what each single failure costs.
#include <string>
#include <vector>

#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

struct Bisection {
  BytesPerSecond bandwidth{};  ///< one direction, between the halves
  double of_injection = 0;     ///< over what half of the accelerators can inject; 1 = full bisection
  std::string method;          ///< "max-flow" or "closed form"
};

/// Bandwidth between two halves of the accelerators: ranks of the first half against the second, on a torus across its
/// longest edge. Max-flow (push-relabel, Goldberg and Tarjan 1988) up to 30,000 nodes, above that the narrowest tier in
/// closed form; a test holds them equal. Line rate, no routing efficiency.
Bisection bisection(const Fabric& fabric);
/// The closed form alone, and the max-flow alone.
BytesPerSecond bisection_closed_form(const Fabric& fabric);
BytesPerSecond bisection_max_flow(const Fabric& fabric);

/// Most links between two accelerators by shortest paths. Exact up to 4,096 nodes; above that from one accelerator of
/// the first, middle and last unit, which for the regular fabrics of build_fabric() is the same.
int diameter(const Fabric& fabric);
/// Accelerators that accelerator 0 (or the first that still has a link) can reach, itself included.
int reachable(const Fabric& fabric);

/// What stops working.
enum class FaultKind { nic_port, nic, leaf, leaf_uplink, spine, core, plane, nvswitch, torus_link };
std::string_view name(FaultKind kind);

/// `fabric` with the first component of that kind failed (capacity zero); unchanged where it has none.
Fabric with_fault(const Fabric& fabric, FaultKind fault);

struct FaultCost {
  FaultKind fault{};
  std::string what;       ///< "leaf 0", "nic 0"
  double ring = 1;        ///< time of the node-to-node ring of all ranks over the healthy one; infinity = cut
  double half_shift = 1;  ///< time of every rank sending half the machine away, over the healthy one
  int cut_off = 0;        ///< accelerators that lose the network
};

/// Cost of each kind of single failure that the fabric has, at the busiest link, with traffic spread over what is left
/// (a dead NIC or leaf: its accelerators relay over NVLink through the node's other NICs, where there are any). On a
/// torus a dead link opens its ring: twice the time of a ring that used both directions.
std::vector<FaultCost> fault_costs(const Fabric& fabric);

}  // namespace meshwright::topology
