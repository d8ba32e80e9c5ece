#pragma once
// What one accelerator reaches over its link to the host's memory, one way.
#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {

inline BytesPerSecond host_link(const Cluster& cluster) {
  const HostRow& host = host_row(cluster.node.cpu);
  const bool on_board = host.link > BytesPerSecond{} && cluster.accelerator.vendor == host.vendor;
  return host.reached * (on_board ? host.link : cluster.pcie_link.bandwidth);
}

}  // namespace meshwright::parallel
