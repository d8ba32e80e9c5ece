#pragma once
// Kinds of context parallelism: one table of rows, each with its rule and its exchange.
#include <compare>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"

namespace meshwright::parallel {

/// Attention of one block on one rank: what its context ranks exchange, and the compute that can hide it.
struct AttentionTraffic {
  double query = 0, key_value = 0, output = 0;  ///< elements of this rank's tokens
  double kv_heads = 1;                          ///< that this rank holds
  Seconds forward, backward;                    ///< of the attention kernels
};
/// Times of moving elements over the context group.
struct ContextLinks {
  int ranks = 1;
  double slowdown = 0;                      ///< mutual, of a transfer beside compute
  std::function<Seconds(double)> gather;    ///< that many elements of every rank to every rank
  std::function<Seconds(double)> exchange;  ///< all-to-all of that many elements of a rank
};
struct ContextExposed {
  Seconds forward, backward;  ///< on the critical path
};

struct ContextRow {
  std::string_view name;      ///< as layouts spell it: "ring"
  std::string_view citation;  ///< where it is described
  std::string_view what;      ///< goes over the group, in words
  int pieces = 1;         ///< of a sequence on each rank: 2 where causal work is balanced by an early and a late one
  bool beside = false;    ///< the transfers run beside attention
  bool by_heads = false;  ///< ranks take heads during attention: their number has to divide
  ContextExposed (*exposed)(const AttentionTraffic& traffic, const ContextLinks& links) = nullptr;
  std::string_view megatron{}, maxtext{};  ///< names in launchers; empty where they lack it
};

/// A row of the table, or unset: the stack's default.
class ContextKind {
 public:
  constexpr ContextKind() noexcept = default;
  constexpr ContextKind(const ContextRow& row) noexcept : row_(&row) {}  // NOLINT: a row is its kind
  constexpr bool set() const noexcept { return row_ != nullptr; }
  constexpr const ContextRow* operator->() const noexcept { return row_; }
  friend constexpr bool operator==(ContextKind, ContextKind) noexcept = default;
  friend std::strong_ordering operator<=>(ContextKind a, ContextKind b) noexcept { return a.name() <=> b.name(); }
  constexpr std::string_view name() const noexcept { return row_ == nullptr ? "" : row_->name; }
  /// Rows that code names.
  static const ContextKind ring, all_gather, ulysses;

 private:
  const ContextRow* row_ = nullptr;
};

namespace context_rows {
extern const ContextRow ring, all_gather, ulysses;
}  // namespace context_rows
inline constexpr ContextKind ContextKind::ring{context_rows::ring};
inline constexpr ContextKind ContextKind::all_gather{context_rows::all_gather};
inline constexpr ContextKind ContextKind::ulysses{context_rows::ulysses};

/// The table and its names, in the same order.
std::span<const ContextKind> context_kinds();
std::span<const std::string_view> context_kind_names();

}  // namespace meshwright::parallel
