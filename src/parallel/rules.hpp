#pragma once
// The rules by what they are about; constraints.cpp joins them to one table.
#include "meshwright/parallel/constraints.hpp"

namespace meshwright::parallel {

std::span<const RuleRow> axis_rules();      ///< degrees, heads, widths, sequences, batches
std::span<const RuleRow> expert_rules();    ///< mixtures of experts
std::span<const RuleRow> pipeline_rules();  ///< layers, stages, schedules
std::span<const RuleRow> state_rules();     ///< ZeRO, HSDP
std::span<const RuleRow> memory_rules();    ///< the host's, then the device's

constexpr bool divides(int divisor, int number) noexcept { return divisor > 0 && number % divisor == 0; }

}  // namespace meshwright::parallel
