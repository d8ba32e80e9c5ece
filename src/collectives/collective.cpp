#include "meshwright/collectives/collective.hpp"

#include <cctype>
#include <vector>

#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
namespace {

std::string letters(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace

Collective parse_collective(std::string_view text, const std::string& where) {
  const std::string wanted = letters(text);
  for (std::size_t i = 0; i < collective_count; ++i) {
    if (wanted == letters(collective_names[i])) return static_cast<Collective>(i);
  }
  if (wanted == "bcast") return Collective::broadcast;
  if (wanted == "p2p" || wanted == "pointtopoint") return Collective::send_recv;
  const std::vector<std::string> valid(collective_names.begin(), collective_names.end());
  throw Error(where, "unknown collective '" + std::string(text) + "'" + suggestion(text, valid));
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
