#include "meshwright/collectives/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/collectives/flow.hpp"
#include "meshwright/collectives/message_program.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
namespace {

Seconds time_of(const Coefficients& c, const AlphaBeta& link, Bytes n) {
  return alpha_beta_time(link, c.rounds, c.wire.value(), c.reduced.value(), n);
}

/// Chunks through the busiest block of each level in one round, over the block's ranks.
std::array<double, level_limit> level_loads(const Schedule& s, const std::vector<Transfer>& round) {
  std::array<double, level_limit> loads{};
  std::array<std::vector<double>, level_limit> sent, received;
  std::array<int, level_limit> inner{};
  for (std::size_t level = 0, below = 1; level < level_limit; ++level) {
    inner[level] = static_cast<int>(below);
    sent[level].resize(static_cast<std::size_t>(s.ranks()) / below);
    received[level].resize(sent[level].size());
    below *= static_cast<std::size_t>(s.shape.extent[level]);
  }
  for (const Transfer& t : round) {
    const auto level = static_cast<std::size_t>(transfer_level(s, t));
    const auto block = [&](int actor) { return static_cast<std::size_t>(actor / inner[level]); };
    if (!s.is_switch(t.source)) sent[level][block(t.source)] += t.count;
    if (!s.is_switch(t.target)) received[level][block(t.target)] += t.count;
  }
  for (std::size_t level = 0; level < level_limit; ++level) {
    const double busiest = std::max(*std::max_element(sent[level].begin(), sent[level].end()),
                                    *std::max_element(received[level].begin(), received[level].end()));
    loads[level] = busiest / inner[level];
  }
  return loads;
}

/// Rounds that stand for all of a phase, and for how many each: all of them up to `most`, else evenly spread ones.
std::vector<std::pair<int, double>> sampled_rounds(const Phase& phase, int most) {
  const int count = std::min(phase.repeats, most);
  std::vector<std::pair<int, double>> rounds;
  rounds.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    rounds.emplace_back(static_cast<int>(static_cast<long long>(i) * phase.repeats / count),
                        static_cast<double>(phase.repeats) / count);
  return rounds;
}

Seconds round_time(const Schedule& s, const std::vector<Transfer>& round, Bytes chunk, const LevelLinks& links) {
  const auto loads = level_loads(s, round);
  Seconds slowest{};
  for (std::size_t level = 0; level < level_limit; ++level) {
    if (loads[level] > 0)
      slowest = std::max(slowest, links[level].cost.alpha + loads[level] * (chunk * links[level].cost.beta));
  }
  return slowest;
}

}  // namespace

CostModel parse_cost_model(std::string_view text, const std::string& where) {
  for (std::size_t i = 0; i < cost_model_names.size(); ++i) {
    std::string spelled(text);
    std::replace(spelled.begin(), spelled.end(), '_', '-');
    if (spelled == cost_model_names[i]) return static_cast<CostModel>(i);
  }
  const std::vector<std::string> valid(cost_model_names.begin(), cost_model_names.end());
  throw Error(where, fmt::format("unknown cost model '{}'{}", text, suggestion(text, valid)));
}

PlacedShape placed_shape(const GroupPlace& place, const Platform& platform, Protocol protocol) {
  PlacedShape placed;
  for (std::size_t i = 0; i < place.levels.size(); ++i) {
    const Level& level = place.levels[i];
    const std::size_t at = std::min<std::size_t>(i, level_limit - 1);
    const Medium& medium = level.kind == LevelKind::scale_up ? platform.scale_up : platform.scale_out;
    const Rate& rate = medium.rate(protocol).efficiency > 0 ? medium.rate(protocol) : medium.rate(Protocol::simple);
    const double efficiency = rate.efficiency > 0 ? rate.efficiency : 1;
    LevelLink link{.cost = {.alpha = level.latency + rate.step,
                            .beta = SecondsPerByte::base(1 / (level.bandwidth.value() * efficiency))},
                   .efficiency = efficiency,
                   .link = level.link};
    placed.shape.extent[at] *= level.ranks;
    LevelLink& held = placed.links[at];
    if (link.cost.beta > held.cost.beta) held.link = link.link;
    held.efficiency = at < i ? std::min(held.efficiency, efficiency) : efficiency;
    held.cost.alpha = std::max(held.cost.alpha, link.cost.alpha);
    held.cost.beta = std::max(held.cost.beta, link.cost.beta);
  }
  return placed;
}

Seconds alpha_beta_time(const Algorithm& row, const Shape& shape, Bytes n, const LevelLinks& links) {
  const LevelCoefficients form = coefficients(row, shape);
  Seconds sum{}, longest{};
  for (std::size_t level = 0; level < form.size(); ++level) {
    const Seconds time = time_of(form[level], links[level].cost, n);
    sum += time;
    longest = std::max(longest, time);
  }
  return row.concurrent_levels ? longest : sum;
}

Seconds alpha_beta_time(const Schedule& schedule, Bytes n, const LevelLinks& links) {
  const Bytes chunk = n * chunk_share(schedule).value();
  Seconds sum{};
  for (const Phase& phase : schedule.phases) {
    const bool alike = phase.peer_shift == 0 || schedule.shape.flat();
    for (const auto& [repeat, weight] : sampled_rounds(phase, alike ? 1 : 1024))
      sum += weight * round_time(schedule, round_of(schedule, phase, repeat), chunk, links);
  }
  return sum;
}

int best_segments(const Algorithm& row, const Shape& shape, Bytes n, const LevelLinks& links) {
  int best = 1;
  if (!row.pipelined) return best;
  Seconds least = Seconds::base(INFINITY);
  for (int segments = 1; segments <= 512; segments *= 2) {
    Shape cut = shape;
    cut.segments = segments;
    const Seconds time = alpha_beta_time(row, cut, n, links);
    if (time < least) {
      least = time;
      best = segments;
    }
  }
  return best;
}

LogGP loggp_femtoseconds(const AlphaBeta& link) {
  const auto whole = [](double seconds) { return static_cast<std::uint64_t>(std::llround(seconds * 1e15)); };
  const double alpha = link.alpha.value();
  return {.L = whole(alpha * 0.9),
          .o = whole(alpha / 20),
          .g = whole(alpha / 20),
          .G = whole(link.beta.value()),
          .O = 0,
          .S = UINT64_MAX};
}

namespace {

/// Few enough messages to play, and chunks whose ways through them are followed.
bool can_be_swept(const Schedule& schedule) {
  constexpr std::size_t most_chunks = 4'000'000;
  std::size_t messages = 0, chunks = 0;
  for (const Phase& phase : schedule.phases) {
    const auto repeats = static_cast<std::size_t>(phase.repeats);
    messages += phase.transfers.size() * repeats;
    for (const Transfer& t : phase.transfers) chunks += static_cast<std::size_t>(t.count) * repeats;
  }
  return messages <= most_swept_messages && chunks <= most_chunks;
}

}  // namespace

std::optional<Seconds> loggp_time(const Schedule& schedule, Bytes n, const AlphaBeta& link) {
  if (!schedule.switch_levels.empty() || !can_be_swept(schedule)) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(std::llround(n.value()));
  const ClockSweep sweep = simulate(message_program(schedule, bytes), loggp_femtoseconds(link));
  return Seconds::base(static_cast<double>(sweep.makespan) * 1e-15);
}

std::uint64_t lock_step_time(const LogGP& p, std::uint64_t rounds, std::uint64_t wire_bytes) {
  return rounds * (2 * p.o + p.L) + (wire_bytes - rounds) * std::max(p.O, p.G);
}

namespace {

/// One round of every group. Wire overhead of the protocol makes messages longer.
std::vector<Flow> flows_of(const Schedule& schedule, const Phase& phase, int repeat, Bytes chunk,
                           std::span<const std::vector<int>> groups, const LevelLinks& links) {
  std::vector<Flow> flows;
  for (const Transfer& t : round_of(schedule, phase, repeat)) {
    const double overhead = links[static_cast<std::size_t>(transfer_level(schedule, t))].efficiency;
    for (const std::vector<int>& group : groups)
      flows.push_back({group[static_cast<std::size_t>(t.source)], group[static_cast<std::size_t>(t.target)],
                       chunk * (t.count / overhead)});
  }
  return flows;
}

}  // namespace

std::optional<FlowEvaluation> flow_evaluation(const Schedule& schedule, Bytes n, const Fabric& fabric,
                                              std::span<const std::vector<int>> groups, const LevelLinks& links,
                                              const RouteOptions& options) {
  if (!schedule.switch_levels.empty()) return std::nullopt;
  const Bytes chunk = n * chunk_share(schedule).value();
  FlowEvaluation result;
  Seconds longest{};
  for (const Phase& phase : schedule.phases) {
    // A chunk shift changes what is sent, not to whom: one round stands for all.
    for (const auto& [repeat, weight] : sampled_rounds(phase, phase.peer_shift == 0 ? 1 : 64)) {
      const FlowResult solved = solve_flows(fabric, flows_of(schedule, phase, repeat, chunk, groups, links), options);
      if (solved.time > longest) {
        longest = solved.time;
        result.limiting_resource = describe_resource(fabric, solved.resource);
      }
      result.time += solved.time * weight;
    }
  }
  return result;
}

}  // namespace meshwright::collectives
