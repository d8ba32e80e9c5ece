#pragma once
// Where a figure comes from, and what money figures look like.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"

namespace meshwright::hardware {

/// How much a figure can be trusted, best first.
enum class Evidence { measured, calibrated, extrapolated, data_sheet };
inline constexpr std::array<std::string_view, 4> evidence_names = {"measured", "calibrated", "extrapolated",
                                                                   "data_sheet"};
/// As files spell it.
constexpr std::string_view name(Evidence evidence) { return evidence_names[static_cast<std::size_t>(evidence)]; }

struct Provenance {
  std::string title, url, date;
  bool read = false;       ///< seen when it was collected; false = recalled, check before use
  std::string confidence;  ///< "high", "medium", "low"
};

/// A purchase price (`amount`) or a rent (`rate`); the other is zero. Dated, of low confidence, and meant to be
/// overridden.
struct Price {
  Dollars amount{};
  DollarsPerSecond rate{};
  std::string kind;      ///< "list", "street estimate", "on-demand", ...
  std::string provider;  ///< of a rent: "AWS p5.48xlarge"
  std::string date;
  std::string confidence;
  std::string url;
};
/// What a part costs, of several prices: the first that is an amount; null where there is none.
const Price* first_amount(const std::vector<Price>& prices);
/// "street estimate 2024, low confidence".
std::string price_note(const Price& price);

}  // namespace meshwright::hardware
