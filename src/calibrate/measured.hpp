#pragma once
// Figures that were measured: what can be one, and what is a slip of the pen.
#include <fmt/format.h>

#include <optional>

#include "meshwright/core/reader.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::calibrate {

/// The number, within (0, most]: a time, a rate or a share of nothing is no measurement.
inline double measured_number(const Reader& reader, double most) {
  const double value = reader.number();
  constexpr double least = 1e-9;
  if (!(value >= least && value <= most))
    reader.fail(fmt::format("found {}, expected a number above 0, at most {:g}", reader.dump(), most));
  return value;
}
inline constexpr double most_step_seconds = 1e7, most_tokens_per_s = 1e12, most_tflops = 1e6, most_mfu = 2,
                        most_memory_gib = 1e6;
inline constexpr double most_message_bytes = 1e18, least_message_us = 1e-6, most_message_us = 1e13;  ///< of collectives

/// In which peaks of memory are recorded.
inline constexpr double gibibyte = literals::operator""_GiB(1).value();

/// "peak_mem_gib" of "measured"; nothing where it is not there.
std::optional<Bytes> measured_peak(const Reader& measured);
/// Step time of "measured": as it stands, else from tokens, else from FLOP/s or MFU under the source's convention
/// ("flops_convention"); nothing where none of them is there.
std::optional<Seconds> measured_step_time(const Reader& measured, const Job& job);

}  // namespace meshwright::calibrate
