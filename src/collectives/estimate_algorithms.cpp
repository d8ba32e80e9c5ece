#include "collectives/estimate_algorithms.hpp"

#include <algorithm>

namespace meshwright::collectives {
namespace {

/// Accumulates the slowest rung and the rung with most latency.
struct Tally {
  Cost cost;
  const Rung* slowest_hop = nullptr;
  double most_latency = 0;

  void add_latency(const Rung& rung, double seconds) {
    cost.latency += seconds;
    if (seconds > most_latency) {
      most_latency = seconds;
      slowest_hop = &rung;
    }
  }
  void add_wire(const Rung& rung, double bytes, double bandwidth, double ramp) {
    const double wire = bytes / bandwidth, fill = 2 * std::sqrt(ramp * wire);
    if (cost.limit == nullptr || wire + fill > cost.wire + cost.fill) {
      cost.wire = wire;
      cost.fill = fill;
      cost.limit = &rung;
    }
  }
  Cost result() const {
    Cost c = cost;
    if (slowest_hop != nullptr && most_latency > c.wire + c.fill) c.limit = slowest_hop;
    return c;
  }
};

bool available(const Ladder& ladder, Protocol protocol) {
  return std::ranges::all_of(ladder.rungs(), [&](const Rung& r) { return r.medium->rate(protocol).efficiency > 0; });
}

/// Devices that share a root complex slow each other down (PCIe).
double crowd(const Rung& rung) { return 1 + rung.medium->crowding * std::max(0.0, std::log2(rung.level->ranks / 2.0)); }

/// The kernel's copy of a rank's own block.
double own_block_copy(const Question& q, double share) {
  const double rate = q.ladder.innermost()->medium->local_copy.value();
  return rate > 0 ? share * q.bytes / q.ladder.ranks / rate : 0;
}

double hop(const Rung& rung, Protocol protocol) { return rung.medium->rate(protocol).step.value() + rung.detour; }

/// The part of a tree that joins domains: log2 hops there and back over the network's rungs.
void add_tree_between(Tally& tally, const Question& q, Protocol protocol) {
  for (const Rung& rung : q.ladder.rungs()) {
    if (rung.level->kind != LevelKind::scale_out) continue;
    const Rate& rate = rung.medium->rate(protocol);
    tally.add_latency(rung, 2 * std::log2(rung.level->ranks) * hop(rung, protocol));
    tally.add_wire(rung, tree_traffic(q.ladder.domains) * q.bytes,
                   rate.efficiency * rung.medium->tree_efficiency * rung.block, rate.ramp.value());
  }
}

/// Reduction in the scale-up switch and multicast: every port carries n (1 + 1/m).
void add_in_switch(Tally& tally, const Question& q) {
  const Rung& inner = *q.ladder.innermost();
  const Rate& rate = inner.medium->in_switch;
  tally.add_latency(inner, rate.step.value());
  tally.add_wire(inner, q.bytes * (1 + 1 / q.ladder.inside), rate.efficiency * inner.bandwidth, rate.ramp.value());
}

bool reduces_inside(const Ladder& ladder) {
  return ladder.switch_reduces_inside() && ladder.innermost()->medium->in_switch.efficiency > 0 &&
         ladder.inside >= ladder.innermost()->medium->in_switch_least_ranks;
}

}  // namespace

double tree_traffic(double domains) { return std::min(2.0, std::max(1.0, domains / 2)); }

std::optional<Cost> ring_cost(const Question& q, Protocol protocol) {
  const bool rooted = q.collective == Collective::broadcast || q.collective == Collective::reduce;
  if (q.collective == Collective::all_to_all || q.collective == Collective::send_recv) return std::nullopt;
  if (!available(q.ladder, protocol)) return std::nullopt;
  const double passes = q.collective == Collective::all_reduce ? 2 : 1;
  const double share = rooted ? 1 : (q.ladder.ranks - 1) / q.ladder.ranks;
  Tally tally{.cost = {.latency = q.base}};
  for (const Rung& rung : q.ladder.rungs()) {
    const Rate& rate = rung.medium->rate(protocol);
    tally.add_latency(rung, passes * rung.hops * hop(rung, protocol));
    tally.add_wire(rung, passes * share * q.bytes, rate.efficiency / crowd(rung) * rung.block, rate.ramp.value());
  }
  if (!rooted) tally.cost.wire += own_block_copy(q, passes == 2 ? 0.5 : 1);
  return tally.result();
}

std::optional<Cost> tree_cost(const Question& q, Protocol protocol) {
  if (q.collective != Collective::all_reduce || !available(q.ladder, protocol)) return std::nullopt;
  Tally tally{.cost = {.latency = q.base}};
  for (const Rung& rung : q.ladder.rungs()) {
    if (rung.level->kind == LevelKind::scale_out) continue;
    // Inside a domain NCCL's tree is a chain: inner ranks pass n on towards the root and n back, the ends only once.
    const Rate& rate = rung.medium->rate(protocol);
    const double hops = q.ladder.inside / rung.below - q.ladder.inside / (rung.below * rung.level->ranks);
    const double traffic = rung.level->ranks == 2 && q.ladder.domains == 1 ? 1 : 2;
    tally.add_latency(rung, 2 * hops * hop(rung, protocol));
    tally.add_wire(rung, traffic * q.bytes, rate.efficiency * rung.medium->tree_efficiency * rung.block,
                   rate.ramp.value());
  }
  add_tree_between(tally, q, protocol);
  return tally.result();
}

std::optional<Cost> nvls_cost(const Question& q) {
  if (q.collective != Collective::all_reduce || q.ladder.domains > 1 || !reduces_inside(q.ladder)) return std::nullopt;
  Tally tally{.cost = {.latency = q.base}};
  add_in_switch(tally, q);
  return tally.result();
}

std::optional<Cost> nvls_tree_cost(const Question& q) {
  if (q.collective != Collective::all_reduce || q.ladder.domains == 1 || !reduces_inside(q.ladder)) return std::nullopt;
  if (!available(q.ladder, Protocol::simple)) return std::nullopt;
  Tally tally{.cost = {.latency = q.base}};
  add_in_switch(tally, q);
  add_tree_between(tally, q, Protocol::simple);
  return tally.result();
}

std::optional<Cost> collnet_cost(const Question& q) {
  const Rung* network = q.ladder.network();
  if (q.collective != Collective::all_reduce || network == nullptr || !network->level->reduces) return std::nullopt;
  const Rate& rate = network->medium->in_switch;
  if (rate.efficiency <= 0 || !available(q.ladder, Protocol::simple)) return std::nullopt;
  Tally tally{.cost = {.latency = q.base}};
  if (reduces_inside(q.ladder)) {
    add_in_switch(tally, q);
  } else if (q.ladder.inside > 1) {
    const Rung& inner = *q.ladder.innermost();
    const Rate& simple = inner.medium->rate(Protocol::simple);
    tally.add_latency(inner, 2 * (q.ladder.inside - 1) * simple.step.value());
    tally.add_wire(inner, 2 * q.bytes, simple.efficiency * inner.bandwidth, simple.ramp.value());
  }
  tally.add_latency(*network, rate.step.value());
  tally.add_wire(*network, q.bytes, rate.efficiency * network->block, rate.ramp.value());
  return tally.result();
}

std::optional<Cost> pairwise_cost(const Question& q, const Platform& platform, Protocol protocol) {
  if (q.collective != Collective::all_to_all) return std::nullopt;
  const auto launch = [&](const Exchange& e) {
    return e.base.value() + (protocol == Protocol::simple ? e.fence.value() : 0);
  };
  Tally tally{.cost = {.latency = launch(platform.scale_up.all_to_all)}};
  if (q.ladder.network() != nullptr) tally.cost.latency += launch(platform.scale_out.all_to_all);
  for (const Rung& rung : q.ladder.rungs()) {
    const Exchange& e = rung.medium->all_to_all;
    const Rate& rate = protocol == Protocol::simple ? e.simple : e.ll;
    if (rate.efficiency <= 0) return std::nullopt;
    const bool network = rung.level->kind == LevelKind::scale_out;
    const double congestion = network ? 1 + e.congestion * std::max(0.0, std::log2(q.ladder.domains / 2)) : crowd(rung);
    const double tiny = q.bytes / q.ladder.ranks < 256 ? e.tiny : 1;
    const double peers = rung.below * (rung.level->ranks - 1);
    tally.add_latency(rung, tiny * peers * (rate.step.value() * (network ? congestion : 1) + rung.detour));
    tally.add_wire(rung, q.bytes * (q.ladder.ranks - rung.below) / q.ladder.ranks,
                   rate.efficiency / congestion * rung.bandwidth, rate.ramp.value());
  }
  tally.cost.wire += own_block_copy(q, 1);
  return tally.result();
}

std::optional<Cost> direct_cost(const Question& q) {
  if (q.collective != Collective::send_recv) return std::nullopt;
  Tally tally{.cost = {.latency = q.base}};
  const Rung& rung = q.ladder.rungs().back();  // some neighbours meet only at the outermost level
  const Rate& rate = rung.medium->point_to_point;
  if (rate.efficiency <= 0) return std::nullopt;
  tally.add_latency(rung, rate.step.value() + rung.detour);
  tally.add_wire(rung, q.bytes, rate.efficiency / crowd(rung) * rung.bandwidth, rate.ramp.value());
  return tally.result();
}

}  // namespace meshwright::collectives
