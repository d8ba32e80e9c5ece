#include "meshwright/capacity/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "meshwright/core/error.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;
using parallel::Job;
using parallel::Prediction;

/// A job file of the candidate's cluster with the workload's model.
Job job_of(const Candidate& candidate, const Workload& workload, const Phase& phase, int nodes,
           const hardware::Catalog& catalog) {
  json object = json::parse(workload.job);
  object.update(json::parse(candidate.cluster));
  object["seq_len"] = phase.seq_len;
  object["global_batch"] = phase.global_batch;
  if (nodes > 0) object["nodes"] = nodes;
  const std::string name = fmt::format("{} with {}", candidate.where, workload.where);
  return parallel::read_job(Reader::text(object.dump(), name), catalog);
}

/// The phase with most tokens.
const Phase& main_phase(const Workload& workload) {
  return *std::ranges::max_element(workload.schedule.phases, {}, &Phase::tokens);
}

search::SearchOptions options_of(const Workload& workload, int threads) {
  search::SearchOptions options;
  options.top = 1;
  options.threads = threads;
  for (const std::string& text : workload.fixed) search::fix(options.space.filter, text, workload.where + "/fix");
  for (const std::string& text : workload.excluded)
    search::exclude(options.space.filter, text, workload.where + "/exclude");
  return options;
}

std::string why_none(const search::SearchResult& result) {
  if (result.refused.empty()) return "no layout divides the model over these accelerators";
  return fmt::format("no layout fits; most are refused by: {}", result.refused.front().first);
}

/// What a job does best, on all of its accelerators or, where nothing runs on those, on the count that is fastest.
struct Found {
  Job job;
  std::optional<Prediction> prediction;
  std::string refusal, note;
};

Found find_layout(Job job, const Workload& workload, int threads, bool any_count) {
  if (!workload.layout.empty()) {
    job = parallel::with(
        job, [&](parallel::JobSpec& spec) { spec.layout = Reader::text(workload.layout, workload.where + "/layout"); });
    const parallel::Layout layout = *job.layout;
    if (const auto refused = parallel::violation(job, layout)) return {std::move(job), {}, refused->text(), ""};
    Prediction p = parallel::predict(job, layout);
    return {std::move(job), std::move(p), "", ""};
  }
  search::SearchOptions options = options_of(workload, threads);
  if (any_count) options.accelerators = search::accelerator_counts(job);
  search::SearchResult result = search::search(job, options);
  if (result.best.empty() && !any_count) {
    options.accelerators = search::accelerator_counts(job);
    result = search::search(job, options);
  }
  if (result.best.empty()) return {std::move(job), {}, why_none(result), ""};
  Prediction best = std::move(result.best.front().prediction);
  const int used = best.layout.accelerators();
  std::string note;
  if (used < job.accelerators) note = fmt::format("uses {} of {} accelerators", used, job.accelerators);
  return {search::with_accelerators(std::move(job), used), std::move(best), "", note};
}

/// The most nodes that `cost` of keeps within `limit`; 0 where one is too much. `cost` rises with the nodes.
template <class Cost>
int most_nodes(Cost cost, double limit) {
  constexpr int most = 1 << 15;
  int low = 0, high = most;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    (cost(middle) <= limit ? low : high) = cost(middle) <= limit ? middle : middle - 1;
  }
  return low;
}

int nodes_for_size(const Candidate& candidate, const Workload& workload, const hardware::Catalog& catalog) {
  const auto site_of = [&](int nodes) {
    const Job job = job_of(candidate, workload, main_phase(workload), nodes, catalog);
    return make_site(catalog, job.cluster, job.accelerators);
  };
  const Inputs& inputs = candidate.assumptions.inputs;
  const bool money = candidate.for_capex.value() > 0;
  const auto cost = [&](int nodes) {
    const Site site = site_of(nodes);
    if (!money) return site_power(site, 1, 0, inputs).provisioned.value();
    const Capex bought = capex(site, 0, inputs);
    return bought.priced() ? bought.terms.value : std::numeric_limits<double>::infinity();
  };
  const int nodes = most_nodes(cost, money ? candidate.for_capex.value() : candidate.for_power.value());
  if (nodes < 1) throw Error(candidate.where + "/size", "not one node fits into it");
  return nodes;
}

void check_price(const PlannedPoint& point, const std::string& where) {
  const RunEstimate e = estimate(point);
  if (e.rented || e.unpriced.empty()) return;
  throw Error(where, fmt::format("no price of {} is known; state 'prices': {{\"node\": ...}} or {{\"gpu_hour\": ...}}",
                                 e.unpriced.front()));
}

}  // namespace

struct Planner::Kept {
  std::uint64_t number = std::numeric_limits<std::uint64_t>::max();
  Candidate candidate;
};

Planner::Planner(const Scenario& scenario, const hardware::Catalog& catalog)
    : scenario_(scenario), catalog_(catalog), kept_(std::make_unique<Kept>()) {}
Planner::~Planner() = default;

PlannedPoint Planner::plan(std::uint64_t index, int threads) {
  const std::uint64_t workloads = scenario_.workloads.size(), number = index / workloads;
  if (kept_->number != number) {
    kept_->candidate = scenario_.candidate(number);
    kept_->number = number;
  }
  PlannedPoint point = plan(kept_->candidate, scenario_.workloads[index % workloads], threads);
  point.index = index;
  return point;
}

PlannedPoint Planner::plan(const Candidate& candidate, const Workload& workload, int threads) {
  const bool sized = candidate.for_capex.value() > 0 || candidate.for_power.value() > 0;
  const int nodes = sized ? nodes_for_size(candidate, workload, catalog_) : 0;
  const Phase& main = main_phase(workload);
  Found found = find_layout(job_of(candidate, workload, main, nodes, catalog_), workload, threads, sized);
  PlannedPoint point;
  point.candidate = candidate.name;
  point.workload = workload.name;
  point.assumptions = candidate.assumptions;
  point.accelerators = found.job.accelerators;
  point.nodes = (point.accelerators + found.job.cluster.node.accelerators - 1) / found.job.cluster.node.accelerators;
  point.refusal = found.refusal;
  if (!found.prediction) return point;
  const Prediction& best = *found.prediction;
  // A phase gets a layout of its own; a batch on the way up keeps that of its phase.
  const auto predict_for = [&](int seq_len, int global_batch) {
    if (seq_len == main.seq_len && global_batch == main.global_batch) return best;
    const Job job = parallel::with(
        found.job, [&](parallel::JobSpec& spec) { spec.seq_len = seq_len, spec.global_batch = global_batch; });
    const auto is_it = [&](const Phase& p) { return p.seq_len == seq_len && p.global_batch == global_batch; };
    if (std::ranges::none_of(workload.schedule.phases, is_it)) return predict_with(job, best.layout, workload.where);
    const Found other = find_layout(job, workload, threads, false);
    if (!other.prediction) throw Error(workload.where, fmt::format("sequences of {}: {}", seq_len, other.refusal));
    return *other.prediction;
  };
  point.run =
      make_run(catalog_, found.job, predict_for, workload.schedule, candidate.assumptions.checkpoint, workload.where);
  point.run->site.power_cap = candidate.power_cap;
  point.assumptions.inputs.set_range("step.time", point.run->step.p10, point.run->step.p90);
  point.layout = parallel::to_json(best.layout);
  point.layout_text = describe_layout(best.layout);
  point.mfu = best.mfu;
  point.comm_share = best.comm_share;
  point.memory = best.memory.reserved;
  point.notes = best.warnings;
  if (!found.note.empty()) point.notes.push_back(found.note);
  check_price(point, candidate.where);
  return point;
}

RunEstimate estimate(const PlannedPoint& point) { return estimate_run(*point.run, point.assumptions); }

}  // namespace meshwright::capacity
