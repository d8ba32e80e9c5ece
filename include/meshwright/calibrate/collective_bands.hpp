#pragma once
// How far a collective's time is to be trusted: where 10 % and 90 % of published tables lie that the fit of their media
// had not seen.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/calibrate/collective_records.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::calibrate {

/// Classes of rows: inside a scale-up domain or beyond, by what decides the time.
inline constexpr std::array<std::string_view, 6> collective_classes = {
    "one domain, up to 64 KiB",      "one domain, to 1 MiB",      "one domain, from 1 MiB",
    "several domains, up to 64 KiB", "several domains, to 1 MiB", "several domains, from 1 MiB"};
std::size_t collective_class(bool leaves_domain, Bytes bytes) noexcept;

/// Multiples of the predicted time below which 10 % and 90 % of a class's rows lie.
struct CollectiveBand {
  std::size_t rows = 0;
  double low = 1, high = 1;
};
using CollectiveBands = std::array<CollectiveBand, collective_classes.size()>;
/// Of checks that a fit had not seen. Tables count alike, however long.
CollectiveBands collective_bands(const std::vector<CollectiveCheck>& checks);

/// How many rows lie within bands of the others, groups of one kind left out in turn.
struct CollectiveCoverage {
  std::string left_out;  ///< "source", "platform", "collective"
  std::size_t rows = 0;
  double inside = 0;  ///< share of them; tables count alike
};
std::vector<CollectiveCoverage> collective_coverage(const std::vector<CollectiveCheck>& checks);

/// {class: {"rows", "low", "high"}}, as the fit of the media that ship carries it.
std::string to_json(const CollectiveBands& bands);
CollectiveBands read_collective_bands(const Reader& object);
/// Of the fit that ships (data/hardware/platforms).
const CollectiveBands& published_collective_bands();

}  // namespace meshwright::calibrate
