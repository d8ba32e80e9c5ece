#include "meshwright/hardware/provenance.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace meshwright::hardware {

const Price* first_amount(const std::vector<Price>& prices) {
  const auto at = std::ranges::find_if(prices, [](const Price& p) { return p.amount.value() > 0; });
  return at == prices.end() ? nullptr : &*at;
}

std::string price_note(const Price& price) {
  return fmt::format("{} {}, {} confidence", price.kind, price.date, price.confidence);
}

}  // namespace meshwright::hardware
