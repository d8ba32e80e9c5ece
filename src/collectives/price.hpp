#pragma once
// One row of the table on one ladder of levels, priced.
#include <optional>

#include "collectives/ladder.hpp"
#include "meshwright/collectives/estimate.hpp"

namespace meshwright::collectives {

/// What a row is priced for.
struct Question {
  const Ladder& ladder;
  const Platform& platform;
  const CollectiveOptions& options;
};

/// Whether libraries use the row on domains of the ladder's size.
bool suits_domains(const Algorithm& row, const Ladder& ladder);
/// Nothing where the row doesn't exist on that place, or a medium lacks the protocol.
std::optional<RowPrice> price(const Algorithm& row, Protocol protocol, const Question& question);

}  // namespace meshwright::collectives
