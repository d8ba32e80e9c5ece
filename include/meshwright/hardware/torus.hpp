#pragma once
// A slice of a torus machine as a topology states it: "torus-3d 4x8x16", "torus-3d 8x8x16 twisted".
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace meshwright::hardware {

/// Edges in the order in which ranks go through them, the first fastest.
struct TorusSlice {
  std::vector<int> edge;
  bool twisted = false;  ///< wrap-around shifted (Jouppi et al., TPU v4, ISCA 2023, section 2.8)
  long long chips() const;
};
/// The slice behind a torus's name, or nothing where the name states none or not two or three edges.
std::optional<TorusSlice> stated_slice(std::string_view topology);
/// Chips along the edge of the cube that optical switches join to others (TPU v4, ISCA 2023, section 2.2).
inline constexpr int cube_edge = 4;
inline constexpr int cube_chips = cube_edge * cube_edge * cube_edge;
/// Which edges of a torus close into rings: in three dimensions those of whole cubes, in two those of the whole pod,
/// `pod_edge` chips long, of which a slice may be a part.
std::vector<bool> closed_edges(std::span<const int> edge, int pod_edge);

/// "torus-3d" of "torus-3d 4x8x16"; the whole name where nothing else stands behind it.
std::string_view torus_kind(std::string_view topology);

}  // namespace meshwright::hardware
