#include "parallel/band.hpp"

#include <algorithm>

#include "meshwright/hardware/platform.hpp"

namespace meshwright::parallel {

Evidence evidence_of(const Job& job) {
  const DeviceEfficiency& e = job.cluster.accelerator.efficiency;
  Evidence worst = std::max({e.of(job.precision.gemm).evidence, e.attention.evidence, e.memory.evidence});
  const Platform platform = platform_of(job.cluster);
  if (job.accelerators > 1) worst = std::max(worst, platform.scale_up.evidence);
  if (job.accelerators > job.cluster.node.scale_up_domain) worst = std::max(worst, platform.scale_out.evidence);
  return worst;
}

// Quantiles of measured over predicted time by class, over the records of docs/accuracy.md; data-sheet devices as the
// TPU and JAX records have it.
Band band_of(const Job& job, const Layout& layout, Evidence evidence) noexcept {
  const bool experts = job.model.is_moe() && layout.ep >= 1;
  const bool eager = job.framework.host.per_layer.value() > 0;
  Band band = experts ? Band{0.77, 1.43} : eager ? Band{0.87, 1.22} : Band{0.89, 1.08};
  if (job.recipe.trainable.kind == TrainableKind::lora) band = {std::min(band.low, 0.76), std::max(band.high, 1.6)};
  if (evidence == Evidence::extrapolated) band = {band.low - 0.03, band.high + 0.05};
  if (evidence == Evidence::data_sheet) band = {band.low - 0.15, band.high + 0.35};
  if (job.framework.defaults.any_stack) band = {band.low - 0.12, band.high + 0.4};
  return band;
}

}  // namespace meshwright::parallel
