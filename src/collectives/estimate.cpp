#include "meshwright/collectives/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/price.hpp"
#include "meshwright/core/names.hpp"

namespace meshwright::collectives {
namespace {

constexpr std::array protocols = {Protocol::ll, Protocol::ll128, Protocol::simple};

int find_protocol(const std::string& text) {
  for (std::size_t i = 0; i < protocol_count; ++i) {
    if (folded_name(protocol_names[i]) == folded_name(text)) return static_cast<int>(i);
  }
  const std::vector<std::string> valid(protocol_names.begin(), protocol_names.end());
  throw Error("protocol", fmt::format("'{}' is not a protocol{}", text, suggestion(text, valid)));
}

/// A stage or the row itself reduces in a switch of that kind.
bool reduces_by(const Algorithm& row, Traffic traffic) {
  if (row.stages.empty()) return row.traffic == traffic;
  return std::ranges::any_of(row.stages, [&](const Stage& stage) { return row_of(stage).traffic == traffic; });
}

/// What the options leave of a collective's rows and protocols. Throws for names that don't exist.
class Choice {
 public:
  Choice(Collective collective, const Ladder& ladder, const Platform& platform, const CollectiveOptions& options)
      : ladder_(ladder), platform_(platform), options_(options) {
    if (!options.protocol.empty()) protocol_ = find_protocol(options.protocol);
    if (options.algorithm.empty() || folded_name(options.algorithm) == "auto") return;
    for (const Algorithm& row : algorithms(collective)) best_ = std::max(best_, called(row, options.algorithm));
    if (options.beside != nullptr && options.beside->collective == collective)
      best_ = std::max(best_, called(*options.beside, options.algorithm));
    const auto known = [&](const Algorithm& row) { return called(row, options.algorithm) != Called::no; };
    if (best_ == Called::no && std::ranges::none_of(algorithms(), known)) throw unknown(collective);
    forced_ = true;
  }

  /// Free: what the library chooses among. Forced: the row of that name, whoever has it; for a name of other libraries,
  /// as the library in use would read it.
  bool takes(const Algorithm& row) const {
    if (!forced_) return in_library(row);
    if (best_ == Called::no || called(row, options_.algorithm) != best_) return false;
    return best_ != Called::elsewhere || row.elsewhere.nccl.empty() || in_library(row);
  }
  bool takes(Protocol p) const { return protocol_ < 0 || protocol_ == static_cast<int>(p); }

 private:
  Error unknown(Collective collective) const {
    std::vector<std::string> valid;
    for (const Algorithm& row : algorithms(collective)) valid.emplace_back(row.name);
    return Error("algorithm",
                 fmt::format("'{}' is not an algorithm{}", options_.algorithm, suggestion(options_.algorithm, valid)));
  }
  bool in_library(const Algorithm& row) const {
    const std::array known{row.elsewhere.nccl, row.elsewhere.rccl, row.elsewhere.torus};
    const std::string_view known_as = known[static_cast<std::size_t>(platform_.library)];
    return !known_as.empty() && suits_domains(row, ladder_) &&
           (options_.nvls || !reduces_by(row, Traffic::in_switch)) &&
           (options_.collnet || !reduces_by(row, Traffic::in_network));
  }

  const Ladder& ladder_;
  const Platform& platform_;
  const CollectiveOptions& options_;
  Called best_ = Called::no;
  bool forced_ = false;
  int protocol_ = -1;
};

[[noreturn]] void refuse(Collective collective, const Ladder& ladder, const CollectiveOptions& options) {
  const Algorithm* row = options.algorithm.empty() ? nullptr : find_algorithm(collective, options.algorithm);
  if (row != nullptr && row->routed && options.token_nodes * options.token_ranks == 0)
    throw Error("algorithm", fmt::format("{} sends each token to some nodes and ranks only: expected token_nodes and "
                                         "token_ranks (--token-nodes, --token-ranks)",
                                         row->name));
  throw Error("algorithm", fmt::format("{}{}{} does not apply to {} of {} ranks in {} scale-up domain{}",
                                       options.algorithm.empty() ? "any algorithm" : options.algorithm,
                                       options.protocol.empty() ? "" : " with ", options.protocol, name(collective),
                                       ladder.ranks, ladder.domains(), ladder.domains() == 1 ? "" : "s"));
}

double wire_of(const RowPrice& p, std::size_t level, double bytes) noexcept { return bytes * p.per_byte[level]; }
/// Capped chunks pass three stages, into the buffers, through the switch, out of the buffers: two rounds more.
double in_rounds(double wire, double ramp, double rounds) noexcept {
  return (wire + ramp * rounds) * (1 + 2 / std::max(1.0, rounds));
}
/// A level's wire and fill beside hops that take `hops`: a hop passes on what has arrived of its bytes, so that many
/// short hops hide behind the wire and little wire behind the hops.
double with_hops(const RowPrice& p, std::size_t level, double bytes, double hops) noexcept {
  const double wire = wire_of(p, level, bytes);
  if (p.lanes[level] > 0) return hops + in_rounds(wire, p.ramp[level], in_switch_rounds(bytes, p.lanes[level]));
  return (p.at_once ? std::sqrt(hops * hops + wire * wire) : hops + wire) + 2 * std::sqrt(p.ramp[level] * wire);
}
double with_fill(const RowPrice& p, std::size_t level, double bytes) noexcept { return with_hops(p, level, bytes, 0); }

std::size_t busiest_level(const RowPrice& p, double bytes) noexcept {
  std::size_t busiest = 0;
  for (std::size_t l = 1; l < p.levels; ++l) {
    if (with_fill(p, l, bytes) > with_fill(p, busiest, bytes)) busiest = l;
  }
  return busiest;
}

}  // namespace

double RowPrice::seconds(double bytes) const noexcept {
  double longest = hops, sum = hops;
  for (std::size_t l = 0; l < levels; ++l) {
    if (at_once)
      longest = std::max(longest, with_hops(*this, l, bytes, hops));
    else
      sum += with_fill(*this, l, bytes);
  }
  return launch + copy * bytes + (at_once ? longest : sum);
}

CollectivePrices::CollectivePrices(Collective collective, const GroupPlace& place, const Platform& platform,
                                   const CollectiveOptions& options)
    : place_(&place) {
  const Ladder ladder = make_ladder(place, platform);
  const Choice choice(collective, ladder, platform, options);
  if (ladder.ranks <= 1) return;
  const Question question{ladder, platform, options};
  const auto consider = [&](const Algorithm& row) {
    for (const Protocol p : protocols) {
      if (!choice.takes(row) || !choice.takes(p) || size_ == rows_.size()) continue;
      if (const auto priced = price(row, p, question)) rows_[size_++] = *priced;
    }
  };
  for (const Algorithm& row : algorithms(collective)) consider(row);
  if (options.beside != nullptr && options.beside->collective == collective) consider(*options.beside);
  if (size_ == 0) refuse(collective, ladder, options);
}

Seconds CollectivePrices::time(Bytes bytes) const noexcept {
  if (size_ == 0) return {};
  double fastest = rows_[0].seconds(bytes.value());
  for (std::size_t i = 1; i < size_; ++i) fastest = std::min(fastest, rows_[i].seconds(bytes.value()));
  return Seconds::base(fastest);
}

CollectiveEstimate CollectivePrices::told(const RowPrice& p, Bytes bytes) const {
  const double n = bytes.value();
  const std::size_t busiest = busiest_level(p, n);
  double wire = p.copy * n;
  for (std::size_t l = 0; l < p.levels; ++l) {
    if (!p.at_once || l == busiest) wire += wire_of(p, l, n);
  }
  const std::size_t limit = p.hops > with_fill(p, busiest, n) ? p.slowest_hops : busiest;
  return {.time = Seconds::base(p.seconds(n)),
          .algorithm = p.row->name,
          .protocol = name(p.protocol),
          .limiting_link = place_->levels[limit].link,
          .latency = Seconds::base(p.launch + p.hops),
          .wire = Seconds::base(wire)};
}

CollectiveEstimate CollectivePrices::estimate(Bytes bytes) const {
  if (size_ == 0) return {.algorithm = "none", .protocol = "", .limiting_link = ""};
  const auto fastest =
      std::ranges::min_element(rows(), {}, [&](const RowPrice& p) { return p.seconds(bytes.value()); });
  return told(*fastest, bytes);
}

std::vector<CollectiveEstimate> CollectivePrices::candidates(Bytes bytes) const {
  std::vector<CollectiveEstimate> all;
  for (const RowPrice& p : rows()) all.push_back(told(p, bytes));
  std::ranges::stable_sort(all, {}, &CollectiveEstimate::time);
  return all;
}

CollectiveEstimate estimate(Collective collective, Bytes bytes, const GroupPlace& place, const Platform& platform,
                            const CollectiveOptions& options) {
  return CollectivePrices(collective, place, platform, options).estimate(bytes);
}

bool applies(Collective collective, const GroupPlace& place, const Platform& platform,
             const CollectiveOptions& options) {
  try {
    CollectivePrices(collective, place, platform, options);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<CollectiveEstimate> candidates(Collective collective, Bytes bytes, const GroupPlace& place,
                                           const Platform& platform, const CollectiveOptions& options) {
  return CollectivePrices(collective, place, platform, options).candidates(bytes);
}

}  // namespace meshwright::collectives
