#include "topology/switches.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace meshwright::topology {
namespace {

struct Usual {
  std::string_view fabric;
  double gigabits;  // NIC port up to this speed
  int radix;
  std::string_view name;
};
// For clusters described without a switch. Vendors' data sheets: SB7800, QM8700, QM9700, Q3400; 25.6 Tb/s and 51.2 Tb/s
// Ethernet; Rosetta; Omni-Path 100.
constexpr std::array<Usual, 10> usual = {{
    {"infiniband", 100, 36, "SB7800"},
    {"infiniband", 200, 40, "QM8700"},
    {"infiniband", 400, 64, "QM9700"},
    {"infiniband", 1e9, 144, "Q3400"},
    {"slingshot", 1e9, 64, "Rosetta"},
    {"omni-path", 1e9, 48, "Omni-Path 100"},
    {"", 100, 128, "Tomahawk 3 class"},
    {"", 200, 128, "Tomahawk 4 class"},
    {"", 400, 64, "Tomahawk 4 class"},
    {"", 1e9, 64, "Tomahawk 5 class"},
}};

}  // namespace

SwitchShape switch_shape(const Cluster& cluster) {
  const int ports = cluster.network.topology == "dual-plane" ? std::max(1, cluster.network.planes) : 1;
  const BytesPerSecond port = cluster.node.nic_bandwidth / ports;
  if (cluster.fabric_switch.radix > 0) {
    const Switch chosen = split_to(cluster.fabric_switch, port);
    return {chosen.radix, port, chosen.name};
  }
  for (const Usual& row : usual)
    if ((row.fabric.empty() || cluster.node.fabric == row.fabric) && port.value() * 8 <= row.gigabits * 1e9 * 1.001)
      return {row.radix, port, std::string(row.name)};
  return {64, port, ""};
}

}  // namespace meshwright::topology
