#include "parallel/host_link.hpp"

namespace meshwright::parallel {

BytesPerSecond host_link(const Cluster& cluster) {
  const HostKind& host = cluster.host;
  const bool on_board = host.link > BytesPerSecond{} && cluster.accelerator.vendor == host.vendor;
  return host_memory().reached * (on_board ? host.link : cluster.pcie_link.bandwidth);
}

Seconds host_update() { return host_memory().update; }

}  // namespace meshwright::parallel
