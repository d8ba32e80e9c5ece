#pragma once
// One table of rows, four cost models: what a library reaches on the platform's media (calibrated, estimate.hpp),
// alpha-beta on a group's levels, the LogGP clock sweep, and flows that share the links of the topology graph. The last
// three answer what an algorithm does to a network.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/collectives/algorithm.hpp"
#include "meshwright/cost/alpha_beta.hpp"
#include "meshwright/cost/loggp.hpp"
#include "meshwright/hardware/platform.hpp"
#include "meshwright/topology/flows.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::collectives {

enum class CostModel { calibrated, alpha_beta, loggp, flow };
inline constexpr std::array<std::string_view, 4> cost_model_names = {"calibrated", "alpha-beta", "loggp", "flow"};
constexpr std::string_view name(CostModel m) { return cost_model_names[static_cast<std::size_t>(m)]; }
/// Throws Error(where, ...) with the nearest spelling.
CostModel parse_cost_model(std::string_view text, const std::string& where);

/// One level as the models see it. `cost` is per rank of the level; a block of r ranks has r such ports together.
struct LevelLink {
  AlphaBeta cost;
  double efficiency = 1;  ///< achieved over line rate, already in `cost.beta`
  std::string link;
};
using LevelLinks = std::array<LevelLink, level_limit>;

/// Levels of a group's place with what `protocol` reaches on its media: alpha = wire latency + the protocol's step,
/// 1/beta = bandwidth * efficiency. Levels beyond the third are folded into it (the slowest counts).
struct PlacedShape {
  Shape shape;
  LevelLinks links;
};
PlacedShape placed_shape(const GroupPlace& place, const Platform& platform, Protocol protocol = Protocol::simple);

/// Closed form of a row on its own shape: levels one after the other, or at once where the row says so.
Seconds alpha_beta_time(const Algorithm& row, const Shape& shape, Bytes n, const LevelLinks& links);
/// The schedule itself, round by round: the slowest level of a round counts, and a block's ports are used together (as
/// a library's channels do). Equal to the closed form on the row's own shape; a flat row may be laid over levels.
/// Phases of more than 1,024 different rounds (pairwise exchanges) are sampled evenly.
Seconds alpha_beta_time(const Schedule& schedule, Bytes n, const LevelLinks& links);
/// The power of two up to 512 segments that makes the closed form fastest; 1 for rows that aren't pipelined.
int best_segments(const Algorithm& row, const Shape& shape, Bytes n, const LevelLinks& links);

/// LogGP parameters in femtoseconds (a byte takes 20,000 fs at 50 GB/s). o = g = alpha / 20, L = alpha - 2o: the
/// proportions of the ATLAHS parameters for GPU clusters (o 200 ns, L 3,700 ns; arXiv 2505.08936).
LogGP loggp_femtoseconds(const AlphaBeta& link);
/// A sweep of so many messages takes about a second; a ring of 512 ranks has 523,264 of them.
inline constexpr std::size_t most_swept_messages = 600000;
/// The clock sweep of a schedule, messages leaving as soon as their data is there. Nothing for schedules with switches
/// or of more than `most_swept_messages` messages. One network: `link` stands for all levels.
std::optional<Seconds> loggp_time(const Schedule& schedule, Bytes n, const AlphaBeta& link);
/// Closed form of the sweep for schedules in lock-step (every rank sends and receives one message a round, all alike,
/// and waits for it): rounds (2o + L) + (wire_bytes - rounds) max(O, G); holds for g <= 2o + L and O = 0.
std::uint64_t lock_step_time(const LogGP& parameters, std::uint64_t rounds, std::uint64_t wire_bytes);

/// Bandwidth of the schedule's rounds on a fabric, all groups at once: `groups[g][r]` is the accelerator of rank r of
/// group g. Sum over rounds of the max-min fair completion (of phases with more than 64 different rounds, evenly
/// sampled ones); latencies are not in it. Nothing for schedules with switches, which flows cannot express.
struct FlowEvaluation {
  Seconds time{};
  std::string limiting_resource;  ///< of the longest round
};
std::optional<FlowEvaluation> flow_evaluation(const Schedule& schedule, Bytes n, const Fabric& fabric,
                                              std::span<const std::vector<int>> groups, const LevelLinks& links = {},
                                              const RouteOptions& options = {});

struct CollectiveEvaluation {
  std::string_view algorithm;
  Seconds time{};
  int segments = 1;
  std::string_view protocol{};  ///< of the calibrated model
  std::string limiting_link{};  ///< level, or resource of the graph, that takes most of the time
};
/// Rows of the table for a group of `size` ranks, `stride` apart, on a cluster, under one model; fastest first. Every
/// group of the axis communicates at once. `algorithm` empty = all that apply; the calibrated model then asks for rows
/// that the platform's library has. In-switch rows only where a level
/// reduces, torus rows only on tori. Throws Error for an algorithm that doesn't exist; empty where none applies.
std::vector<CollectiveEvaluation> evaluate(CostModel model, Collective collective, Bytes n, const Cluster& cluster,
                                           int size, int stride = 1, std::string_view algorithm = {});

}  // namespace meshwright::collectives
