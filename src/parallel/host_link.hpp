#pragma once
// The host's side of an accelerator: its memory over their link, and updates that run on it
// (data/hardware/platforms/hosts.json).
#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {

/// What one accelerator reaches over its link to the host's memory, one way.
BytesPerSecond host_link(const Cluster& cluster);
/// Of one parameter by an optimizer on one socket.
Seconds host_update();

}  // namespace meshwright::parallel
