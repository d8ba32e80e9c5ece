#include "meshwright/collectives/collective.hpp"

#include <vector>

#include "meshwright/core/names.hpp"

namespace meshwright::collectives {
Collective parse_collective(std::string_view text, const std::string& where) {
  const std::string wanted = folded_name(text);
  for (std::size_t i = 0; i < collective_count; ++i) {
    if (wanted == folded_name(collective_names[i])) return static_cast<Collective>(i);
  }
  if (wanted == "bcast") return Collective::broadcast;
  if (wanted == "p2p" || wanted == "pointtopoint") return Collective::send_recv;
  const std::vector<std::string> valid(collective_names.begin(), collective_names.end());
  throw UnknownName(where, "unknown collective '" + std::string(text) + "'" + suggestion(text, valid));
}

Ratio busbw_factor(Collective collective, int ranks) {
  switch (collective) {
    case Collective::all_reduce:
      return {2 * (ranks - 1), ranks};
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return {ranks - 1, ranks};
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
      return 1;
  }
  return 1;
}

}  // namespace meshwright::collectives
