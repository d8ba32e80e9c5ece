#pragma once
// The axes of the space of layouts by name, and what a caller fixes or rules out on them.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/parallel/layout.hpp"

namespace meshwright::search {

/// The fields of a layout by their place in layout_fields(); a search gives values to them.
enum class Axis {
  tp,
  cp,
  pp,
  vp,
  dp,
  ep,
  etp,
  micro_batch,
  zero_stage,
  hsdp_shard,
  sequence_parallel,
  recompute,
  recompute_layers,
  schedule,
  stage_split,
  overlap_grad_reduce,
  overlap_param_gather,
  tp_comm_overlap,
  ep_comm_overlap,
  overlap_p2p,
  cp_kind
};
inline constexpr std::size_t axis_count = static_cast<std::size_t>(Axis::cp_kind) + 1;

/// One axis: its field of a layout; where a search tries several values, a loop in space.cpp.
struct AxisRow {
  Axis axis;
  std::string_view name;                    ///< as in a layout's JSON
  int (*get)(const Layout& layout);         ///< an entry of `words`, or the number itself
  void (*set)(Layout& layout, int value);   ///< the inverse
  std::span<const std::string_view> words;  ///< spellings of 0, 1, ...; empty for numbers
  int least = 0, most = 0;                  ///< valid numbers
  std::optional<int> off;                   ///< what is left when the axis is excluded; none: a value has to be named
};
std::span<const AxisRow> axis_rows();
const AxisRow& row_of(Axis axis);
/// "8", "full", "true".
std::string spelled(Axis axis, int value);

/// What a caller states about axes. Empty: everything is tried.
class Filter {
 public:
  /// Only this value. Error(where, ...) where the axis already has another one.
  void fix(Axis axis, int value, const std::string& where);
  /// Not this value.
  void exclude(Axis axis, int value, const std::string& where);

  /// All that another one states.
  void add(const Filter& other, const std::string& where);

  std::optional<int> fixed(Axis axis) const { return fixed_[static_cast<std::size_t>(axis)]; }
  /// The values to try: the fixed one, be it usual or not, else the usual ones that are not excluded.
  std::vector<int> tried(Axis axis, std::vector<int> usual) const;
  /// The same for a single value, without allocation.
  bool admits(Axis axis, int value) const;
  bool admits(const Layout& layout) const;
  /// Gives a layout the fixed values of all axes but the degrees, which have loops of their own.
  void apply(Layout& layout) const;
  bool empty() const { return stated().empty(); }
  /// "tp = 8", "not recompute = full", in the order of the axes.
  std::vector<std::string> stated() const;

 private:
  std::array<std::optional<int>, axis_count> fixed_;
  std::array<std::vector<int>, axis_count> excluded_;
};

/// Reads "tp=8", "recompute=full" into `filter`; several may stand in one text, parted by commas. Error(where, ...) for
/// an unknown axis or value, with the nearest spelling.
void fix(Filter& filter, std::string_view text, const std::string& where);
/// Reads "cp" (leaves the axis at its plainest value) or "recompute=full" (leaves out that value).
void exclude(Filter& filter, std::string_view text, const std::string& where);

}  // namespace meshwright::search
