#pragma once
// How far a prediction is to be trusted: its evidence and the band that follows from the residuals of its class.
#include "meshwright/parallel/prediction.hpp"

namespace meshwright::parallel {

/// Multiples of the predicted time that 10 % and 90 % of measured runs of the class lie under.
struct Band {
  double low = 1, high = 1;
};

/// The weakest evidence among what the job's time rests on: GEMM, attention and memory rates of the device, and the
/// media of its links.
Evidence evidence_of(const Job& job);
Band band_of(const Job& job, const Layout& layout, Evidence evidence) noexcept;

}  // namespace meshwright::parallel
