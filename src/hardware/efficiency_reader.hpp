#pragma once
// Joins data/hardware/efficiency.json (or an overlay that `calibrate gemm` wrote) to the accelerators of a catalogue.
#include <vector>

#include "meshwright/core/members.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/accelerator.hpp"

namespace meshwright::hardware {

/// Sets `efficiency` of every accelerator from the object {"description", "sources", "devices": [...]}: fields that a
/// device's entry states are set, others are kept. Afterwards each dtype with a peak has a ceiling: an accelerator
/// without an entry takes its architecture's sibling, a dtype without one its nearest kin (evidence: extrapolated).
/// Throws Error for an unknown key, a fraction outside (0, 1] or an unknown `like`; entries for accelerators that the
/// catalogue lacks are passed over, because an overlay may bring them later.
void attach_efficiency(std::vector<Accelerator>& accelerators, const Reader& file);
/// Of an entry of "devices".
JsonSchema device_efficiency_shape();

}  // namespace meshwright::hardware
