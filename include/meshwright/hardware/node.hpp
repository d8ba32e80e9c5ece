#pragma once
// A node (server, tray or host) and a network of them, as the catalogue describes them.
#include <string>
#include <vector>

#include "meshwright/hardware/accelerator.hpp"
#include "meshwright/hardware/interconnect.hpp"

namespace meshwright::hardware {

/// How accelerators of one scale-up domain are joined.
enum class ScaleUpKind { none, pcie, cube_mesh, nvlink_bridge, switched, full_mesh, torus_2d, torus_3d };
std::string_view name(ScaleUpKind kind);

struct Node {
  std::string name;   ///< "dgx-h100"
  std::string title;  ///< "NVIDIA DGX H100"
  std::vector<std::string> aliases;
  bool announced = false;
  std::string accelerator;  ///< name in the catalogue
  int accelerators = 8;     ///< in this node
  ScaleUpKind scale_up = ScaleUpKind::switched;
  int scale_up_domain = 8;              ///< accelerators in one domain; may span nodes (NVL72: 72)
  BytesPerSecond scale_up_bandwidth{};  ///< per accelerator, per direction
  std::string scale_up_switch;          ///< switch name, "nvswitch3"; "" where there is none
  bool scale_up_reduces = false;        ///< in-switch reduction (NVLS)
  int nics = 8;                         ///< for the training fabric
  BytesPerSecond nic_bandwidth{};       ///< one NIC
  std::string nic;                      ///< NIC name
  std::string fabric;                   ///< FabricKind name: "infiniband", "roce", "efa", "ici", "none", ...
  BytesPerSecond dcn_bandwidth{};       ///< of a TPU host to the data-centre network that joins slices; zero = none
  std::string pcie;                     ///< "pcie-gen5"
  int sockets = 2;
  std::string cpu;  ///< HostKind name: "intel", "amd", "arm", "power"; "" = the first
  Watts power{};    ///< maximum; zero = not published
  std::string notes;
  std::vector<Price> prices;
  std::vector<Provenance> sources;
};

/// The scale-out network as designed. `oversubscription[t]` is downlink:uplink at tier t (0 = leaf); 1 = full
/// bisection.
struct Network {
  std::string topology = "rail-optimised";  ///< a row of topologies() (network.hpp), a torus with its slice or not
  int tiers = 0;                            ///< 0 = the fewest that fit
  std::vector<double> oversubscription;     ///< missing entries are 1
  std::vector<int> reach;                   ///< accelerators below one unit of a tier (leaf set, pod) where the radix
                                            ///< does not say, "reach": [16, 3072]; 0 or missing = from the radix
  int planes = 0;                           ///< independent copies; 0 = as the topology has them: planes_of()
  int nodes = 0;                     ///< that it is wired for, where the cluster is a part of it; 0 = the cluster's
  std::string switch_name;           ///< "" = the usual switch of the NIC's speed and fabric
  std::string routing = "adaptive";  ///< "adaptive", "ecmp", "static", "spray"
  double efficiency = 0;             ///< achieved over line rate; 0 = the fabric's usual value
  double dcn_bandwidth = 0;          ///< of one node to the data-centre network that joins TPU slices [B/s]; 0 = none
};

}  // namespace meshwright::hardware
