#pragma once
// A slice of a torus machine as a topology states it: "torus-3d 4x8x16", "torus-3d 8x8x16 twisted".
#include <optional>
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
/// "torus-3d" of "torus-3d 4x8x16"; the whole name where nothing else stands behind it.
std::string_view torus_kind(std::string_view topology);

}  // namespace meshwright::hardware
