#include "collectives/price.hpp"

#include <algorithm>

#include "collectives/nccl_constants.hpp"

namespace meshwright::collectives {
namespace {

/// What a medium reaches for one kind of traffic on a level.
struct Pace {
  double step = 0, per_byte = 0, ramp = 0, lanes = 0;
  double per_flow = 0;  ///< seconds per byte of a port whose traffic crosses the level alone
};

/// Devices that share a root complex slow each other down (PCIe).
double crowd(const Rung& rung) { return 1 + rung.medium->crowding * std::max(0.0, std::log2(rung.level->ranks / 2.0)); }

/// Incast, shared global links, connections beyond what a NIC holds: what exchanges between many domains suffer.
double congestion(const Rung& rung, int domains) {
  return 1 + rung.medium->all_to_all.congestion * std::max(0.0, std::log2(domains / 2.0));
}

const Rate* rate_of(const Medium& medium, Traffic traffic, Protocol protocol) {
  const bool simple = protocol == Protocol::simple;
  switch (traffic) {
    case Traffic::ring:
    case Traffic::tree:
      return &medium.rate(protocol);
    case Traffic::in_switch:
    case Traffic::in_network:
      return simple ? &medium.in_switch : nullptr;
    case Traffic::exchange:
      return simple ? &medium.all_to_all.simple : protocol == Protocol::ll ? &medium.all_to_all.ll : nullptr;
    case Traffic::neighbour:
      return simple ? &medium.point_to_point : nullptr;
  }
  return nullptr;
}

/// Nothing where the medium lacks the protocol or a switch that reduces.
std::optional<Pace> pace_of(const Rung& rung, Traffic traffic, Protocol protocol, const Question& q) {
  const Rate* rate = rate_of(*rung.medium, traffic, protocol);
  if (rate == nullptr || rate->efficiency <= 0) return std::nullopt;
  Pace pace{.step = rate->step.value(), .ramp = rate->ramp.value()};
  double efficiency = rate->efficiency;
  if (traffic == Traffic::tree) efficiency *= rung.medium->tree_efficiency;
  if (traffic == Traffic::exchange && rung.network()) {
    pace.step *= congestion(rung, q.ladder.domains());
    efficiency /= congestion(rung, q.ladder.domains());
  } else if (traffic != Traffic::in_switch && traffic != Traffic::in_network) {
    efficiency /= crowd(rung);
  }
  // What a flow that is alone gets across sockets is stated as reached by long messages.
  const bool sockets = rung.level->host && rung.level->flow.value() > 0;
  if (sockets && protocol == Protocol::simple) efficiency = 1;
  const bool channels = traffic != Traffic::exchange && traffic != Traffic::neighbour;
  if (channels) efficiency *= q.options.channel_share;
  pace.step += rung.detour;
  pace.per_byte = 1 / (efficiency * rung.level->bandwidth.value());
  pace.per_flow = pace.per_byte;
  if (rung.level->flow.value() > 0) pace.per_flow = 1 / (efficiency * rung.level->flow.value());
  if (traffic == Traffic::in_switch && rung.medium->in_switch_channels > 0) {
    const int heads = std::min(rung.level->ranks, nccl_constants().nvls_heads);
    pace.lanes = 1.0 * rung.medium->in_switch_channels * heads;
    pace.ramp *= heads;  // a round visits the slice of each
  }
  return pace;
}

/// Gathers what the parts of a row put on the levels. Parts that stream share the two directions of a port; parts in
/// turn each wait for the busier one.
class Sum {
 public:
  Sum(const Algorithm& row, Protocol protocol, const Question& q) : question_(q), streams_(row.streams) {
    price_.row = &row;
    price_.protocol = protocol;
    price_.levels = q.ladder.size;
    price_.at_once = row.streams || row.concurrent_levels;
  }

  /// `load` of a part that holds `share` of the vector, on level `at`.
  bool add(const LevelLoad& load, double share, std::size_t at, Traffic traffic) {
    if (load.hops <= 0 && load.busiest() <= 0) return true;
    const auto pace = pace_of(question_.ladder.storage[at], traffic, price_.protocol, question_);
    if (!pace) return false;
    hops_[at] += load.hops * pace->step;
    out_[at] += share * load.out * pace->per_byte;
    in_[at] += share * load.in * pace->per_byte;
    busiest_[at] += share * load.busiest() * pace->per_byte;
    port_[at] += share * load.port * pace->per_flow;
    price_.ramp[at] = std::max(price_.ramp[at], pace->ramp);
    price_.lanes[at] = std::max(price_.lanes[at], pace->lanes);
    return true;
  }

  RowPrice done() {
    for (std::size_t l = 0; l < price_.levels; ++l) {
      price_.per_byte[l] = streams_ ? std::max(out_[l], in_[l]) : busiest_[l];
      // What few blocks send across a level meets their own ports at the rate of single flows.
      if (question_.ladder.storage[l].network()) price_.per_byte[l] = std::max(price_.per_byte[l], port_[l]);
      price_.hops += hops_[l];
      if (hops_[l] > hops_[price_.slowest_hops]) price_.slowest_hops = l;
    }
    return price_;
  }
  RowPrice& price() { return price_; }

 private:
  const Question& question_;
  bool streams_;
  RowPrice price_;
  std::array<double, most_levels> hops_{}, out_{}, in_{}, busiest_{}, port_{};
};

/// A flat row on consecutive levels. A reducing switch stands at the first: what leaves it upwards is combined.
bool add_flat(Sum& sum, const Algorithm& flat, const Run& run, double share, Traffic traffic, const Question& q) {
  const Ladder& ladder = q.ladder;
  const int ranks = ladder.ranks_of(run);
  const Rung& first = ladder.storage[run.first];
  if (flat.means == Means::switch_reduction) {
    const bool right_kind = first.network() == (flat.traffic == Traffic::in_network);
    const bool one_switch = first.network() || run.size() == 1;
    if (!right_kind || !one_switch || !first.level->reduces || ranks < first.medium->in_switch_least_ranks)
      return false;
    const std::array<int, 1> all = {ranks};
    return sum.add(laid_over(flat, all, ranks)[0], share, run.first, flat.traffic);
  }
  const bool has_domain = run.first < ladder.domain_levels;
  const LevelLoads loads = laid_over(flat, ladder.extents_of(run), has_domain ? ladder.inside / run.below : 1);
  for (std::size_t l = 0; l < run.size(); ++l) {
    if (!sum.add(loads[l], share, run.first + l, traffic)) return false;
  }
  return true;
}

/// The levels that stand for a row's own: two are the domain and the network, or, for rows that don't ask for a domain,
/// the innermost and the rest; a third takes the outermost.
std::array<Run, level_limit> own_levels(const Ladder& ladder, const Algorithm& row, int wanted) {
  const bool by_domain = row.domains == Domains::innermost || ladder.domain_levels > 0;
  const std::size_t split = by_domain ? ladder.domain_levels : std::min<std::size_t>(1, ladder.size);
  const std::size_t last = wanted == 3 && ladder.size > split + 1 ? ladder.size - 1 : ladder.size;
  return {ladder.run(0, split), ladder.run(split, last), ladder.run(last, ladder.size)};
}

Shape shape_of(const Ladder& ladder, const std::array<Run, level_limit>& runs, const CollectiveOptions& options) {
  Shape shape;
  for (std::size_t l = 0; l < runs.size(); ++l) shape.extent[l] = ladder.ranks_of(runs[l]);
  shape.token_nodes = std::clamp(options.token_nodes, 1, shape.extent[1]);
  shape.token_ranks = std::clamp(options.token_ranks, 1, shape.extent[0]);
  return shape;
}

bool add_stages(Sum& sum, const Algorithm& row, const Question& q) {
  int levels = 2;
  for (const Stage& stage : row.stages) levels = std::max(levels, stage.level + 1);
  const auto runs = own_levels(q.ladder, row, levels);
  if (!row.supports(shape_of(q.ladder, runs, q.options))) return false;
  for (const Stage& stage : row.stages) {
    const Run& run = runs[static_cast<std::size_t>(stage.level)];
    const Algorithm& flat = row_of(stage);
    const Traffic traffic = flat.traffic == Traffic::ring ? row.traffic : flat.traffic;
    if (run.size() > 0 && !add_flat(sum, flat, run, 1.0 / run.below, traffic, q)) return false;
  }
  return true;
}

/// Rows with a closed form on several levels of their own (rails, node-limited exchanges, tori): the level with the
/// longest step and the one with the least bandwidth of those that stand for it count.
/// Levels that are all busy in every round share their rounds.
bool add_own_levels(Sum& sum, const Algorithm& row, const Question& q) {
  const Ladder& ladder = q.ladder;
  std::array<Run, level_limit> runs = own_levels(ladder, row, 2);
  double links = 1;
  if (row.means == Means::torus_links) {
    if (!ladder.torus()) return false;
    for (std::size_t l = 0; l < level_limit; ++l)
      runs[l] = ladder.run(std::min(l, ladder.size), std::min(l + 1, ladder.size));
    links = 2;  // a port for each way round: half of the level's bandwidth
  }
  const Shape shape = shape_of(ladder, runs, q.options);
  if (!row.supports(shape) || (row.routed && q.options.token_nodes * q.options.token_ranks == 0)) return false;
  const LevelCoefficients form = row.coefficients_of(shape);
  const double most_rounds = std::ranges::max_element(form, {}, &Coefficients::rounds)->rounds;
  for (std::size_t l = 0; l < level_limit; ++l) {
    if (runs[l].size() == 0) continue;
    const auto levels = ladder.rungs().subspan(runs[l].first, runs[l].size());
    const auto slowest = std::ranges::min_element(levels, {}, [](const Rung& r) { return r.level->bandwidth; });
    const double wire = links * form[l].wire.value();
    const LevelLoad bytes{.hops = 0, .out = wire, .in = wire, .port = wire};
    const double hops_here = !row.concurrent_levels ? form[l].rounds : l == 0 ? most_rounds : 0;
    const LevelLoad hops{.hops = hops_here};
    const auto at = runs[l].first + static_cast<std::size_t>(slowest - levels.begin());
    if (!sum.add(bytes, 1, at, row.traffic) || !sum.add(hops, 1, runs[l].last - 1, row.traffic)) return false;
  }
  return true;
}

bool exchanges(const Algorithm& row) { return row.collective == Collective::all_to_all; }

/// Launch and set-up: scale-up's, and the network's where it takes part.
double base_of(const Algorithm& row, Protocol protocol, const Question& q) {
  const auto of = [&](const Medium& m) {
    if (!exchanges(row)) return m.base.value();
    return m.all_to_all.base.value() + (protocol == Protocol::simple ? m.all_to_all.fence.value() : 0);
  };
  return of(q.platform.scale_up) + (q.ladder.crosses_network() ? of(q.platform.scale_out) : 0);
}

/// A kernel that works out of place also writes its own block.
double own_block_copy(const Algorithm& row, const Question& q) {
  const double rate = q.ladder.storage[0].medium->local_copy.value();
  const bool rooted = row.collective == Collective::broadcast || row.collective == Collective::reduce ||
                      row.collective == Collective::send_recv;
  const bool copies = row.stages.empty() && (row.traffic == Traffic::ring || row.traffic == Traffic::exchange);
  if (rate <= 0 || rooted || !copies) return 0;
  return 1.0 / q.ladder.ranks / rate;
}

}  // namespace

bool suits_domains(const Algorithm& row, const Ladder& ladder) {
  return row.domains != Domains::of_one || ladder.inside == 1;
}

std::optional<RowPrice> price(const Algorithm& row, Protocol protocol, const Question& q) {
  Sum sum(row, protocol, q);
  const bool flat = row.stages.empty() && row.supports(flat_shape(q.ladder.ranks)) && row.means != Means::torus_links;
  const bool placed = !row.stages.empty() ? add_stages(sum, row, q)
                      : flat              ? add_flat(sum, row, q.ladder.whole(), 1, row.traffic, q)
                                          : add_own_levels(sum, row, q);
  if (!placed) return std::nullopt;
  RowPrice priced = sum.done();
  priced.launch = base_of(row, protocol, q);
  priced.copy = own_block_copy(row, q);
  return priced;
}

}  // namespace meshwright::collectives
