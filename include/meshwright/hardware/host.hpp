#pragma once
// Host processors (data/hardware/platforms/hosts.json): what a kind of them means for launches, sockets and NCCL.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"

namespace meshwright::hardware {

/// Peer-to-peer from one socket to the next of hosts whose slots are slower than `slot_below`; zero = of all others.
struct SocketLink {
  BytesPerSecond slot_below{}, link{};
};

/// A kind of host processor.
struct HostKind {
  std::string name;  ///< "intel", "amd", "arm", "power"
  std::vector<std::string> aliases;
  double time = 1;        ///< of launching a kernel, over that of a current Intel server processor
  BytesPerSecond link{};  ///< to accelerators of `vendor` on its board; zero = PCIe
  std::string vendor;
  BytesPerSecond socket_link{};          ///< peer-to-peer, from one socket to the next; zero = as `socket_links` say
  std::vector<SocketLink> socket_links;  ///< by generation
  Seconds socket_latency{};              ///< of that way, one crossing
  bool x86 = true;
  std::string nccl_vendor;  ///< "intel", "amd": as which NCCL tunes for it; "" = neither
};
/// The kind of that name or alias, the first where the name is empty; UnknownName(where, ...) with the nearest
/// spelling.
const HostKind& host_kind(std::string_view name, const std::string& where);

/// Memory of a host, whatever its kind.
struct HostMemory {
  double reached = 1;         ///< of the link to an accelerator, by copies from pinned memory
  Seconds update{};           ///< of one parameter by an optimizer on one socket
  double buffers = 1;         ///< what states take there over their bytes: pinned and staging buffers
  double left_to_others = 0;  ///< share of it that the system, its page cache and data loaders fill
};
const HostMemory& host_memory();

/// Of a node without NICs for training, where nobody says what it has.
BytesPerSecond host_ethernet();

}  // namespace meshwright::hardware
