#include "parallel/band.hpp"

#include <algorithm>

#include "meshwright/hardware/platform.hpp"

namespace meshwright {

Evidence evidence_of(const Job& job) {
  const DeviceEfficiency& e = job.cluster.accelerator.efficiency;
  Evidence worst = std::max({e.of(job.precision.gemm).evidence, e.attention.evidence, e.memory.evidence});
  const Platform platform = platform_of(job.cluster);
  if (job.accelerators > 1) worst = std::max(worst, platform.scale_up.evidence);
  if (job.accelerators > job.cluster.node.scale_up_domain) worst = std::max(worst, platform.scale_out.evidence);
  return worst;
}

// Quantiles of measured over predicted time in docs/accuracy.md (`meshwright validate --markdown`), models left out.
Band band_of(const Job& job, const Layout& layout, Evidence evidence) noexcept {
  const bool experts = job.model.is_moe() && layout.ep >= 1;
  const bool eager = job.framework.host_per_layer.value() > 0;
  Band band = experts ? Band{0.78, 1.30} : eager ? Band{0.90, 1.15} : Band{0.93, 1.08};
  if (evidence == Evidence::extrapolated) band = {band.low - 0.05, band.high + 0.08};
  if (evidence == Evidence::data_sheet) band = {band.low - 0.15, band.high + 0.25};
  return band;
}

}  // namespace meshwright
