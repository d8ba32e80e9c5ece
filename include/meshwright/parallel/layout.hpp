#pragma once
// A layout: the degrees of every parallel axis and the choices that go with them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/limits.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/parallel/context_kind.hpp"
#include "meshwright/parallel/schedule.hpp"

namespace meshwright::parallel {

/// The parallel axes. Experts (ep) fold over dp, cp and tp; every other axis multiplies the accelerators.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp };
inline constexpr std::array<std::string_view, 5> axis_names = {"tp", "cp", "ep", "dp", "pp"};
constexpr std::string_view name(Axis axis) { return axis_names[static_cast<std::size_t>(axis)]; }

/// The order in which ranks are numbered, neighbours first: "tp-cp-ep-dp-pp" makes tensor ranks neighbours and puts
/// pipeline stages furthest apart.
struct RankOrder {
  std::array<Axis, 5> axes = {Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};
  friend bool operator==(const RankOrder&, const RankOrder&) = default;
};
std::string describe_order(const RankOrder& order);
/// From "tp-cp-ep-pp-dp"; Error(where, ...) unless every axis stands in it once.
RankOrder read_order(std::string_view text, const std::string& where);

enum class Recompute { none, selective, full };
inline constexpr std::array<std::string_view, 3> recompute_names = {"none", "selective", "full"};
constexpr std::string_view name(Recompute r) { return recompute_names[static_cast<std::size_t>(r)]; }

/// How layers are dealt to pipeline stages. `automatic` is what a framework does without further flags: `cost` or
/// `embedding` where its profile says so, else `even`, else `embedding` where that divides.
enum class StageSplit {
  automatic,
  even,       ///< layers / (pp * vp) each
  embedding,  ///< embedding and loss count as a layer each (Megatron: account for them in the pipeline split;
              ///< torchtitan)
  uneven,     ///< an explicit layout: as equal as whole layers allow, first and last chunk relieved
  cost        ///< by parameter cost of the blocks (nanotron)
};
inline constexpr std::array<std::string_view, 5> stage_split_names = {"automatic", "even", "embedding", "uneven",
                                                                      "cost"};
constexpr std::string_view name(StageSplit s) { return stage_split_names[static_cast<std::size_t>(s)]; }

/// The largest degrees that are accepted, whoever states them: far beyond any that is run, and the product of two that
/// are not dp fits an int.
inline constexpr int largest_tensor_degree = 1 << 12;  ///< tp, etp
inline constexpr int largest_degree = 1 << 16;         ///< cp, pp, ep, micro_batch
inline constexpr int largest_virtual_degree = 1 << 12;
inline constexpr int largest_data_degree = largest_count;  ///< dp, and accelerators

/// Degrees multiply to the number of accelerators: tp * cp * pp * dp. Experts fold over dp * cp * tp: ep * etp divides
/// it.
struct Layout {
  int tp = 1, cp = 1, pp = 1, vp = 1, dp = 1, ep = 1;
  int etp = 0;                    ///< tensor parallel degree inside an expert; 0 = the stack's default
  int micro_batch = 1;            ///< sequences a pass
  int zero_stage = 1;             ///< 0 none, 1 optimizer, 2 + gradients, 3 + parameters sharded
  int hsdp_shard = 0;             ///< ZeRO-3 over this many ranks, replicated over the rest; 0 = all of dp * cp
  bool sequence_parallel = true;  ///< with tp > 1
  Recompute recompute = Recompute::none;
  int recompute_layers = 0;  ///< under full recompute: so many layers of each chunk, the first ones; 0 = all
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;     ///< interleaved when vp > 1
  StageSplit stage_split = StageSplit::automatic;                ///< layers over stages
  bool overlap_grad_reduce = true, overlap_param_gather = true;  ///< behind backward and forward
  bool tp_comm_overlap = false;                                  ///< AG/RS inside the GEMMs (userbuffers)
  bool ep_comm_overlap = false;      ///< dispatch/combine behind the other micro-batch's compute
  bool overlap_p2p = true;           ///< pipeline sends behind compute (interleaving at pp 2 needs it)
  ContextKind cp_kind{};             ///< how context ranks exchange; unset = the stack's default
  std::vector<int> stages{};         ///< layers of each stage, or of each chunk in model order; empty = by stage_split
  std::optional<RankOrder> order{};  ///< unset = the stack's default

  /// At most the largest int: a product beyond it is no number of accelerators.
  int accelerators() const {
    constexpr double most = 2147483647;
    return static_cast<int>(std::min(most, static_cast<double>(tp) * cp * pp * dp));
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// A field of Layout that a number, a switch or a name gives: one row, for readers and writers, searches and Python.
struct LayoutField {
  std::string_view key;  ///< in a layout's JSON
  std::string_view doc;
  int (*get)(const Layout& layout);        ///< the number, 0 or 1, or the place among `names`; below `least`: unset
  void (*set)(Layout& layout, int value);  ///< the inverse
  int least = 0, most = 0;                 ///< what may be said
  std::span<const std::string_view> names = {};  ///< of the values 0, 1, ...; empty for numbers and switches
  bool is_switch = false;
  std::optional<int> plain = {};  ///< what a search that leaves it out keeps to; none: a value has to be named
  std::string_view (*row_name)(const Layout& layout) = nullptr;  ///< where another table's row is held, in it or not
};
/// All but `stages` and `order`, in the order in which they are written.
std::span<const LayoutField> layout_fields();
/// The row of that key, which must exist.
const LayoutField& layout_field(std::string_view key);

/// The schedule that runs: 1F1B with virtual stages is interleaved 1F1B, interleaved without them is 1F1B.
inline PipelineSchedule effective_schedule(const Layout& layout) noexcept {
  return with_virtual_stages(layout.schedule, layout.vp);
}
/// Micro-batches a step of one replica, rounded down; at least 1.
constexpr int micro_batches(int global_batch, const Layout& layout) {
  const long long count = global_batch / (static_cast<long long>(layout.dp) * layout.micro_batch);
  return count < 1 ? 1 : static_cast<int>(count);
}

/// True for a layer that is the `index`th of its chunk where only some layers are recomputed, and it isn't.
constexpr bool keeps_layer(const Layout& layout, int index) noexcept {
  return layout.recompute == Recompute::full && layout.recompute_layers > 0 && index >= layout.recompute_layers;
}
/// "none", "full", "full of 3 layers a chunk".
std::string describe_recompute(const Layout& layout);

/// "tp8 pp16 vp8 dp128 mb1" with the degrees that are not 1.
std::string describe_layout(const Layout& layout);
/// Throws Error("where/FIELD", ...) for a degree or choice that is out of range, and for degrees whose product is more
/// than largest_data_degree.
void check(const Layout& layout, const std::string& where);
/// Keys are the field names ("layout" object of plan --json); unknown keys are refused.
Layout read_layout(const Reader& reader);

}  // namespace meshwright::parallel
