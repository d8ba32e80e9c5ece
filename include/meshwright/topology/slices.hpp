#pragma once
// Slices of a torus machine whose cubes are joined by optical circuit switches: which shapes a job can have, what each
// is good for, and which cubes make it up when some have failed (Jouppi et al., TPU v4, ISCA 2023, arXiv 2304.01433).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/core/error.hpp"
#include "meshwright/core/quantity.hpp"

namespace meshwright::topology {

struct SliceShape {
  std::vector<int> edge;        ///< ascending; {4, 8, 8}
  bool twisted = false;         ///< wrap-around shifted: shapes k x k x 2k and k x 2k x 2k
  BytesPerSecond bisection{};   ///< one direction, across the longest edge
  BytesPerSecond all_to_all{};  ///< per chip, at the busiest link, uniform all-to-all over the slice
  BytesPerSecond all_reduce{};  ///< bucket algorithm on all dimensions at once: bytes reduced a second
  std::string text() const;     ///< "4x8x8", "4x8x8 twisted"
};

/// Every shape of a slice of so many chips whose edges are whole cubes of 4 (one to three of them below 64 chips),
/// twisted variants included, best all-to-all first. `link`: bandwidth of one link and direction.
std::vector<SliceShape> slice_shapes(int chips, BytesPerSecond link);
/// One shape, evaluated. `edge` needs one to three edges of at least one chip.
SliceShape evaluate_slice(std::vector<int> edge, BytesPerSecond link, bool twisted = false);

/// Cubes that a slice takes from a pod.
struct SliceAssembly {
  std::vector<int> cubes;              ///< indices in the pod, in the slice's own order, x fastest
  std::optional<Violation> violation;  ///< where the pod has not enough healthy cubes, or none that hang together
};

/// Assembles a slice of `edge` chips (multiples of 4) from a pod of `pod_edge` chips, passing over `failed` cubes. With
/// optical switches any healthy cubes will do; with fixed cables (`optical` = false) they must be a box of the pod.
SliceAssembly assemble_slice(std::span<const int> pod_edge, std::span<const int> edge, std::span<const int> failed,
                             bool optical = true);

}  // namespace meshwright::topology
