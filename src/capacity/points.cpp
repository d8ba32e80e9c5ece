#include "meshwright/capacity/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "capacity/places.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/hardware/torus.hpp"
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
  const auto place = [&](const std::string& pointer) {
    constexpr std::string_view of_candidate[] = {"/cluster", "/nodes", "/gpus"};
    for (const std::string_view member : of_candidate) {
      if (pointer.starts_with(member)) return candidate.place(pointer);
    }
    return pointer.empty() ? candidate.where : workload.where + pointer;
  };
  return with_places(name, place, [&] { return parallel::read_job(Reader::text(object.dump(), name), catalog); });
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
    const std::string where = workload.where + "/layout";
    job = in_place(where, [&] {
      return parallel::with(job, [&](parallel::JobSpec& spec) { spec.layout = Reader::text(workload.layout, where); });
    });
    const parallel::Layout layout = *job.layout;
    if (const auto refused = parallel::violation(job, layout)) return {std::move(job), {}, refused->text(), ""};
    Prediction p = parallel::predict(job, layout);
    return {std::move(job), std::move(p), "", ""};
  }
  search::SearchOptions options = options_of(workload, threads);
  if (any_count) options.accelerators = search::accelerator_counts(job);
  search::SearchResult result = search::search(job, options);
  const bool slice = hardware::stated_slice(job.cluster.network.topology).has_value();  // fewer chips are another one
  if (result.best.empty() && !any_count && !slice) {
    // Some count does not divide: a somewhat smaller one may. One that leaves most of the cluster idle is no answer.
    options.accelerators = search::accelerator_counts(job);
    std::erase_if(options.accelerators, [&](int count) { return count < (job.accelerators + 1) / 2; });
    result = search::search(job, options);
  }
  if (result.best.empty()) return {std::move(job), {}, why_none(result), ""};
  Prediction best = std::move(result.best.front().prediction);
  const int used = best.layout.accelerators();
  std::string note;
  if (used < job.accelerators) note = fmt::format("uses {} of {} accelerators", used, job.accelerators);
  return {search::with_accelerators(std::move(job), used), std::move(best), "", note};
}

/// What of a point depends on cluster and workload alone.
struct PlannedRun {
  Found found;
  RunCase run;
};

PlannedRun plan_run(const hardware::Catalog& catalog, Job job, const Workload& workload, int threads, bool any_count) {
  PlannedRun planned{find_layout(std::move(job), workload, threads, any_count), {}};
  const Found& found = planned.found;
  if (!found.prediction) return planned;
  const Prediction& best = *found.prediction;
  const Phase& main = main_phase(workload);
  // A phase gets a layout of its own; a batch on the way up keeps that of its phase.
  const auto predict_for = [&](int seq_len, int global_batch) {
    if (seq_len == main.seq_len && global_batch == main.global_batch) return best;
    const Job other_job = parallel::with(
        found.job, [&](parallel::JobSpec& spec) { spec.seq_len = seq_len, spec.global_batch = global_batch; });
    const auto is_it = [&](const Phase& p) { return p.seq_len == seq_len && p.global_batch == global_batch; };
    if (std::ranges::none_of(workload.schedule.phases, is_it))
      return predict_with(other_job, best.layout, workload.where);
    const Found other = find_layout(other_job, workload, threads, false);
    if (!other.prediction) throw Error(workload.where, fmt::format("sequences of {}: {}", seq_len, other.refusal));
    return *other.prediction;
  };
  planned.run = make_run(catalog, found.job, predict_for, workload.schedule, {}, workload.where);
  return planned;
}

/// Two points with the same key have the same run: prices, failures and limits are no part of it.
std::string key_of(const Candidate& candidate, const Workload& workload, int nodes) {
  std::string key = fmt::format("{}\n{}\n{}\n{}\n", candidate.cluster, nodes, workload.where, workload.layout);
  for (const Phase& p : workload.schedule.phases)
    key += fmt::format("{} {} {:a};", p.seq_len, p.global_batch, p.tokens);
  return key;
}

constexpr int largest_size = 1 << 15;  ///< nodes that a sum or a power is turned into

/// The most nodes that `cost` of keeps within `limit`; 0 where one is too much, `largest_size` where that is not enough
/// to reach it. `cost` rises with the nodes.
template <class Cost>
int most_nodes(Cost cost, double limit) {
  int low = 0, high = 1;
  while (high <= largest_size && cost(high) <= limit) low = high, high *= 2;
  if (low == largest_size) return low;
  // `low` is within the limit, `high` is not.
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (cost(middle) <= limit ? low : high) = middle;
  }
  return low;
}

int nodes_for_size(const Candidate& candidate, const Workload& workload, const hardware::Catalog& catalog) {
  const auto site_of = [&](int nodes) {
    const Job job = job_of(candidate, workload, main_phase(workload), nodes, catalog);
    Site site = make_site(catalog, job.cluster, job.accelerators);
    site.power_cap = candidate.power_cap;
    return site;
  };
  const Inputs& inputs = candidate.assumptions.inputs;
  const auto spares_of = [&](const Site& site) {
    RunCase any;
    any.site = site;
    any.time = {.tokens = 1, .steps = 1, .training = Seconds::base(1)};
    any.step = {.step = Seconds::base(1)};
    return estimate_run(any, candidate.assumptions).spares;
  };
  const bool money = candidate.for_capex.value() > 0;
  const auto cost = [&](int nodes) {
    const Site site = site_of(nodes);
    const int spares = spares_of(site);
    if (!money) return site_power(site, 1, spares, inputs).provisioned.value();
    const Capex bought = capex(site, spares, inputs);
    return bought.priced() ? bought.terms.value : std::numeric_limits<double>::infinity();
  };
  const int nodes = most_nodes(cost, money ? candidate.for_capex.value() : candidate.for_power.value());
  if (nodes < 1) throw Error(candidate.where + "/size", "not one node fits into it");
  if (nodes == largest_size)
    throw Error(candidate.where + "/size", fmt::format("it is enough for {} nodes or more, expected less", nodes));
  return nodes;
}

bool is_sized(const Candidate& candidate) { return candidate.for_capex.value() > 0 || candidate.for_power.value() > 0; }

/// Numbers of a row's candidates, counted from its first: that one, and each value of what varies once.
std::vector<std::uint64_t> each_value_once(const CandidateRow& row) {
  std::vector<std::uint64_t> numbers = {0};
  std::uint64_t stride = 1;
  for (auto varied = row.vary.rbegin(); varied != row.vary.rend(); ++varied) {
    for (std::size_t i = 1; i < varied->values.size(); ++i) numbers.push_back(i * stride);
    stride *= varied->values.size();
  }
  return numbers;
}

/// What else than its layout keeps a run from getting done; "" where nothing does.
std::string why_not(const PlannedPoint& point, const Candidate& candidate) {
  const RunEstimate e = estimate(point);
  if (!is_fed(point.run->site, e.spares, point.assumptions.inputs))
    return fmt::format("site power: {} leave nothing for {} accelerators beside their hosts and network",
                       format(candidate.power_limit), point.accelerators);
  return e.gets_done ? "" : why_never_done(e);
}

void check_price(const PlannedPoint& point, const std::string& where) {
  const RunEstimate e = estimate(point);
  if (!e.rented && point.assumptions.inputs.row("prices.contract_factor").stated)
    throw Error(where, fmt::format("no rent of {} is known that the contract would change; state 'prices': "
                                   "{{\"gpu_hour\": ...}}",
                                   point.run->site.node));
  if (e.rented || e.unpriced.empty()) return;
  throw Error(where, fmt::format("no price of {} is known; state 'prices': {{\"node\": ...}} or {{\"gpu_hour\": ...}}",
                                 e.unpriced.front()));
}

}  // namespace

/// The newest runs that were planned, for planners on several threads. A run that two of them want at once is planned
/// twice, to the same end.
class PlanCache {
 public:
  template <class Plan>
  std::shared_ptr<const PlannedRun> of(const std::string& key, Plan plan) {
    if (auto found = find(key)) return found;
    auto planned = std::make_shared<const PlannedRun>(plan());
    const std::lock_guard lock(mutex_);
    if (runs_.emplace(key, planned).second) order_.push_back(key);
    if (order_.size() > most) {
      runs_.erase(order_.front());
      order_.pop_front();
    }
    return planned;
  }

 private:
  static constexpr std::size_t most = 256;
  std::shared_ptr<const PlannedRun> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto at = runs_.find(key);
    return at == runs_.end() ? nullptr : at->second;
  }
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const PlannedRun>> runs_;
  std::deque<std::string> order_;
};

std::shared_ptr<PlanCache> make_plan_cache() { return std::make_shared<PlanCache>(); }

struct Planner::Kept {
  std::uint64_t number = std::numeric_limits<std::uint64_t>::max();
  Candidate candidate;
};

Planner::Planner(const Scenario& scenario, const hardware::Catalog& catalog, std::shared_ptr<PlanCache> plans)
    : scenario_(scenario), catalog_(catalog), plans_(std::move(plans)), kept_(std::make_unique<Kept>()) {
  if (plans_ == nullptr) plans_ = make_plan_cache();
}
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
  const bool sized = is_sized(candidate);
  const int nodes = sized ? nodes_for_size(candidate, workload, catalog_) : 0;
  const auto planned = plans_->of(key_of(candidate, workload, nodes), [&] {
    return plan_run(catalog_, job_of(candidate, workload, main_phase(workload), nodes, catalog_), workload, threads,
                    sized);
  });
  PlannedPoint point;
  point.candidate = candidate.name;
  point.workload = workload.name;
  point.assumptions = candidate.assumptions;
  point.job = planned->found.job;
  point.accelerators = point.job->accelerators;
  const int a_node = point.job->cluster.node.accelerators;
  point.nodes = (point.accelerators + a_node - 1) / a_node;
  point.refusal = planned->found.refusal;
  if (!planned->found.prediction) return point;
  const Prediction& best = *planned->found.prediction;
  point.run = planned->run;
  point.run->state = checkpoint_bytes(*point.job, candidate.assumptions.checkpoint);
  point.run->site.power_cap = candidate.power_cap;
  point.run->site.power_limit = candidate.power_limit;
  point.assumptions.inputs.set_range("step.time", point.run->step.p10, point.run->step.p90);
  point.refusal = why_not(point, candidate);
  if (!point.refusal.empty()) {
    point.run.reset();
    return point;
  }
  point.layout = parallel::to_json(best.layout);
  point.layout_text = describe_layout(best.layout);
  point.mfu = best.mfu;
  point.comm_share = best.comm_share;
  point.memory = best.memory.reserved;
  point.prediction = best;
  point.notes = best.warnings;
  if (!planned->found.note.empty()) point.notes.push_back(planned->found.note);
  check_price(point, candidate.where);
  return point;
}

double Planner::least_days(const Candidate& candidate, const Workload& workload) const {
  const Job job = job_of(candidate, workload, main_phase(workload), 0, catalog_);
  const double peak = job.cluster.accelerator.peak(job.precision.gemm).value() * job.accelerators;
  double flops = 0;
  for (const Phase& phase : workload.schedule.phases)
    flops += flops_per_token(job.model, phase.seq_len, FlopsConvention::causal) * phase.tokens;
  return peak > 0 ? flops / peak / 86400 : 0;
}

void check_jobs(const Scenario& scenario, const hardware::Catalog& catalog) {
  constexpr int most = 2000;  // a job takes about a millisecond
  int made = 0;
  std::uint64_t first = 0;
  for (const CandidateRow& row : scenario.candidates) {
    for (const std::uint64_t number : each_value_once(row)) {
      const Candidate candidate = scenario.candidate(first + number);
      for (const Workload& workload : scenario.workloads) {
        if (++made > most) return;
        job_of(candidate, workload, main_phase(workload), is_sized(candidate) ? 1 : 0, catalog);
      }
    }
    first += row.count();
  }
}

RunEstimate estimate(const PlannedPoint& point) { return estimate_run(*point.run, point.assumptions); }

}  // namespace meshwright::capacity
