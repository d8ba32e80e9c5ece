#pragma once
// The communication parameters of a cluster: which media its scale-up domain, its hosts and its fabric have.
#include <string>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {

/// The platform of a cluster, as complete() found it.
inline const Platform& platform_of(const Cluster& cluster) { return cluster.platform; }

}  // namespace meshwright::hardware
