#pragma once
// Hot-spare hosts: how many are out for repair, and what it costs when none is left.
#include "meshwright/core/quantity.hpp"

namespace meshwright::capacity {

/// Probability of at least `spares` hosts in repair when another fails: `in_repair` = failures x repair time is the
/// mean, the number is Poisson whatever the distribution of repair times (M/G/infinity).
double shortage(double in_repair, int spares);
/// The fewest spares that are short in at most that share of failures.
int spares_for(double in_repair, double share);
/// Mean wait for the first of `spares` + 1 hosts to come back, repairs exponential.
Seconds shortage_wait(Seconds repair, int spares);

}  // namespace meshwright::capacity
