#include "parallel/host_link.hpp"

#include "meshwright/hardware/network.hpp"

namespace meshwright::parallel {

BytesPerSecond host_link(const Cluster& cluster) { return host_memory().reached * host_line_rate(cluster); }

Seconds host_update() { return host_memory().update; }

}  // namespace meshwright::parallel
