#pragma once
// Reading a failure profile that stands among other members.
#include "meshwright/capacity/failures.hpp"

namespace meshwright::capacity {

/// read_failure_profile() of the members that are a profile's; others are left to the caller.
void take_failure_profile(const Reader& reader, FailureProfile& profile);

}  // namespace meshwright::capacity
