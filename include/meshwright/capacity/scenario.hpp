#pragma once
// A procurement question as one file: candidate clusters, workloads, prices, failures, limits, what is uncertain, what
// is asked. Reading it runs nothing.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/capacity/estimate.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::capacity {

/// A training run that every candidate is to do.
struct Workload {
  std::string name;
  std::string job;     ///< members of a job file besides cluster, sizes and layout, as JSON object text
  std::string layout;  ///< JSON object text; "" = the best by search
  std::vector<std::string> fixed, excluded;  ///< axes of the search, as plan's --fix and --exclude
  RunSchedule schedule;
  std::string where;
};

/// One cluster to compare.
struct Candidate {
  std::string name;
  std::string cluster;         ///< members "cluster", "nodes" and "gpus" of a job file, as JSON object text
  Dollars for_capex{};         ///< as many nodes as this buys; zero = as `cluster` says
  Watts for_power{};           ///< as many nodes as this provisions
  RunAssumptions assumptions;  ///< the scenario's, with what the candidate states
  Watts power_cap{};           ///< of each accelerator
  Watts power_limit{};         ///< that the site can draw at the meter; accelerators are capped to it
  std::string where;
  std::vector<std::pair<std::string, std::string>> places;  ///< pointers in `cluster`, and where the user wrote them
  /// The place in the scenario file of "/cluster/network/efficiency", a pointer in `cluster`.
  std::string place(const std::string& pointer) const;
};

/// A member of a candidate that takes several values: {"nodes": [128, 256]}.
struct Varied {
  std::string key;
  std::vector<std::string> values;  ///< JSON text
};

/// A candidate as written; it stands for the product of what it varies.
struct CandidateRow {
  std::string object;  ///< JSON object text without "vary"
  std::vector<Varied> vary;
  std::string where;
  std::uint64_t count() const;
};

enum class Limit { budget, capex, cost, deadline, power, energy, carbon, gpus, goodput };
inline constexpr std::array<std::string_view, 9> limit_names = {"budget", "capex",  "cost", "deadline", "power",
                                                                "energy", "carbon", "gpus", "goodput"};
/// A result has to keep it: at most `value` (base units: dollars, seconds, watts, joules, kilograms, a count), for
/// goodput at least. The budget is the purchase, or the rent where the cluster is rented.
struct Constraint {
  Limit limit = Limit::budget;
  double value = 0;
};

/// What is asked besides the comparison; questions.hpp answers.
struct Question {
  std::string name, ask;
  std::string object;  ///< JSON object text
  std::string where;
};

/// What is best.
inline constexpr std::array<std::string_view, 2> scenario_objectives = {"cost", "time"};

struct Scenario {
  std::string name, description;
  std::string objective{scenario_objectives.front()};
  bool by_cost() const { return objective == scenario_objectives.front(); }
  std::vector<Workload> workloads;
  std::vector<CandidateRow> candidates;
  RunAssumptions assumptions;
  std::vector<Constraint> constraints;
  std::vector<Question> questions;
  int draws = 128;  ///< of the Monte Carlo estimate; 0 = none
  std::uint64_t seed = 1;
  std::string text;  ///< the whole file with its includes, one spelling for the same content
  std::string where;

  std::uint64_t candidate_count() const;
  /// Points: every candidate with every workload. A point's number is candidate * workloads + workload.
  std::uint64_t point_count() const { return candidate_count() * workloads.size(); }
  /// The candidate of that number, what it varies filled in: "rail nodes=256". Throws Error for what it cannot be.
  Candidate candidate(std::uint64_t index) const;
  /// The same with one member changed: "nodes", "nic_bandwidth", "network.efficiency"; `value` is JSON text.
  Candidate candidate(std::uint64_t index, const std::string& key, const std::string& value) const;
  std::optional<std::uint64_t> find_candidate(std::string_view name) const;
};

/// Most points of one scenario, and bytes of its files.
inline constexpr std::uint64_t most_points = 250000;
inline constexpr std::uintmax_t most_scenario_bytes = 64 << 20;
/// Most samples over which a batch grows.
inline constexpr double most_ramp_samples = 1e15;
/// Most draws of the Monte Carlo estimate of a point: percentiles of so many are within a percent.
inline constexpr int most_draws = 10000;

/// Reads a scenario:
/// {"name", "description", "include", "objective", "workloads" [{"name", "model", "seq_len", "global_batch", "tokens",
/// "precision", "framework", "moe_imbalance", "layout", "fix", "exclude", "phases", "ramp", "evaluation", "warm_up"}],
/// "candidates" [{"name", "cluster", "nodes" or "gpus" or "size" {"capex" or "power"}, "price_premium", "power_cap",
/// "site_power", "prices", "failures", "checkpoint", "power", "stragglers", "congestion", "vary", and fields of "node"
/// and "network", there or flat}], "prices", "power", "failures", "checkpoint", "stragglers", "constraints",
/// "uncertainty" {input: [low, high], "draws", "seed"}, "questions"}. "include" names files beside this one whose
/// members it takes over, its own winning; cycles are refused. Throws Error with file and place for anything that is
/// unknown, doubled, out of range or too much.
Scenario read_scenario(const std::filesystem::path& file);
/// The same from text; "include" is refused.
Scenario read_scenario(const Reader& reader);

}  // namespace meshwright::capacity
