#pragma once
// A scenario answered: every point planned and estimated, what is best, what nothing beats, what would change it.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/capacity/sensitivity.hpp"

namespace meshwright::capacity {

/// One point's answer, small enough to keep a quarter of a million of them.
struct Result {
  std::uint64_t index = 0;
  std::string candidate, workload;
  std::string layout, layout_text;  ///< JSON object text, and for people; "" where nothing fits
  std::string refusal;              ///< why nothing fits
  int accelerators = 0, nodes = 0;
  double spares = 0, step_time = 0, days = 0, gpu_hours = 0, goodput = 0, interruptions = 0, checkpoint_interval = 0,
         mfu = 0;
  double capex = 0, cost = 0, energy_mwh = 0, power_mw = 0, provisioned_mw = 0, carbon_t = 0;
  double usd_per_trillion_tokens = 0, usd_per_pflops_day = 0;
  bool rented = false;
  Percentiles days_band, cost_band;
  std::vector<bool> meets;  ///< by constraint of the scenario
  std::vector<std::string> notes;
  bool runs() const { return refusal.empty(); }
  bool meets_all() const;
};

/// The answer of a planned point.
Result result_of(const Scenario& scenario, const PlannedPoint& point);
/// "keeps all", "misses deadline, cost", or "" where the scenario has no limits.
std::string kept_limits(const Scenario& scenario, const Result& result);
/// A result as one line of JSON, and back: what a store keeps.
std::string to_json(const Result& result, const Scenario& scenario);
Result read_result(const std::string& line, const Scenario& scenario);

struct WhatIfOptions {
  int threads = 0;              ///< 0 = all cores; the answer does not depend on it
  std::filesystem::path store;  ///< results are kept here and taken up again; "" = nowhere
  /// Called on the caller's thread every 100 ms or so with points done and of how many; false ends it with what there
  /// is.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
};

/// The best of one workload.
struct Best {
  std::string workload;
  std::optional<std::size_t> result;     ///< index in `results`: best among those that meet every constraint
  std::optional<std::size_t> unlimited;  ///< best of all
  std::vector<std::size_t> pareto;       ///< days against cost, fastest first
  std::vector<Sensitivity> sensitivity;  ///< of `result`, else of `unlimited`
  std::vector<Flip> flips;
  /// Share of draws in which each candidate is best, of the candidates that run; empty above 64 of them.
  std::vector<std::pair<std::string, double>> chances;
};

struct WhatIf {
  std::vector<Result> results;  ///< by index
  std::vector<Best> best;       ///< by workload
  std::vector<std::string> assumptions;
  bool interrupted = false;
  std::shared_ptr<PlanCache> plans;  ///< what questions and reports need not plan again
};

/// The answer from results that were computed anywhere (one a point, any order): what is best, what would change it.
WhatIf conclude(const Scenario& scenario, const hardware::Catalog& catalog, std::vector<Result> results,
                std::shared_ptr<PlanCache> plans = nullptr);

/// Plans and estimates every point of the scenario. Errors of a point end it; where nothing fits is an answer.
WhatIf run_whatif(const Scenario& scenario, const hardware::Catalog& catalog, const WhatIfOptions& options = {});

/// What a store of the scenario's results is known by: the scenario, the program's version, and the content of
/// everything else that enters a result: data that ship, overlays in use, files that the scenario names.
std::string store_key(const Scenario& scenario, const hardware::Catalog& catalog);

/// The order of two results: what meets the constraints first, then the scenario's objective, then the earlier
/// candidate.
bool better(const Scenario& scenario, const Result& a, const Result& b);

}  // namespace meshwright::capacity
