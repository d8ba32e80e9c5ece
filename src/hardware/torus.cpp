#include "meshwright/hardware/torus.hpp"

#include <algorithm>
#include <charconv>

#include "meshwright/hardware/network.hpp"

namespace meshwright::hardware {

long long TorusSlice::chips() const {
  long long product = 1;
  for (const int e : edge) product *= e;
  return product;
}

std::vector<bool> closed_edges(std::span<const int> edge, int pod_edge) {
  long long chips = 1;
  for (const int e : edge) chips *= e;
  const bool cubes = edge.size() == 3;
  const int whole = cubes ? cube_edge : std::max(1, pod_edge);
  std::vector<bool> closed;
  for (const int e : edge) closed.push_back(e > 2 && e % whole == 0 && (!cubes || chips % cube_chips == 0));
  return closed;
}

std::string_view torus_kind(std::string_view topology) {
  const auto space = topology.find(' ');
  const bool torus = topology.starts_with("torus-") && space != std::string_view::npos;
  return torus ? topology.substr(0, space) : topology;
}

std::optional<TorusSlice> stated_slice(std::string_view topology) {
  constexpr std::string_view twist = " twisted";
  constexpr int longest = 4096;
  const std::string_view kind = torus_kind(topology);
  if (kind.size() == topology.size()) return {};
  std::string_view text = topology.substr(kind.size() + 1);
  TorusSlice slice;
  if (text.ends_with(twist)) slice.twisted = true, text.remove_suffix(twist.size());
  for (const char *at = text.data(), *end = at + text.size();;) {
    int edge = 0;
    const auto [next, error] = std::from_chars(at, end, edge);
    if (error != std::errc{} || edge < 1 || edge > longest) return {};
    slice.edge.push_back(edge);
    if (next == end) break;
    if (*next != 'x') return {};
    at = next + 1;
  }
  if (slice.edge.size() != static_cast<std::size_t>(topology_kind(kind).dimensions)) return {};
  return slice;
}

}  // namespace meshwright::hardware
