#pragma once
// Checks of schedules that need no machine: does it implement its collective, and can anything be that cheap?
#include <optional>
#include <string>

#include "meshwright/collectives/algorithm.hpp"

namespace meshwright::collectives {

/// Plays the schedule symbolically: every chunk of every rank is the set of ranks whose contribution it holds. Returns
/// nothing where each rank ends with exactly what the collective promises; otherwise the first fault: a contribution
/// missing, counted twice, or sent before it was there.
std::optional<std::string> find_fault(const Schedule& schedule);

/// What no algorithm of these means can beat (Chan, Heimlich, Purkayastha, van de Geijn 2007, sec. 3): messages, bytes
/// through a rank's port over n, bytes combined by a rank over n. Each message at most doubles how many ranks know of a
/// datum (k messages in one round multiply by k + 1 <= 2^k), so messages >= ceil(lg p). With a reducing switch the
/// vector crosses a port once each way; with links to several neighbours a port's bound is shared by them.
Coefficients lower_bound(Collective collective, const Shape& shape, Means means);

}  // namespace meshwright::collectives
