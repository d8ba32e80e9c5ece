#include "meshwright/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <thread>

#include "core/crew.hpp"
#include "meshwright/core/units.hpp"
#include "search/worker.hpp"

namespace meshwright::search {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t first_look = 64;  ///< branches that are looked at closely before anything is found
constexpr int least_survivors = 24;     ///< that an objective of survivors chooses among

/// Calls the caller's progress now and then, and remembers that it said to stop.
class Watch {
 public:
  explicit Watch(const SearchOptions& options) : options_(options) {}
  /// False ends the work.
  bool operator()(std::uint64_t done, std::uint64_t total) {
    using namespace std::chrono_literals;
    if (!options_.progress || stopped_) return !stopped_;
    const auto now = Clock::now();
    if (now - last_ < 50ms) return true;
    last_ = now;
    stopped_ = !options_.progress({done, total});
    return !stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  const SearchOptions& options_;
  Clock::time_point last_ = Clock::now();
  bool stopped_ = false;
};

struct Findings {
  explicit Findings(const SearchOptions& options)
      : below(rounded(options.below)), best(options.top, options.variants) {}
  double threshold() const { return std::min(below, best.threshold()); }
  double below;
  Collector best;
  Front front;
  Counts counts;
};

/// Best-first branch and bound over the shard choices of one job, by least values that are known roughly of all and
/// closely of those within reach. What is looked at together and what it is pruned by do not depend on the number of
/// threads, so that neither the answer nor the counts do.
class Descent {
 public:
  Descent(const Job& job, const SearchOptions& options, Findings& findings, Watch& watch)
      : job_(job), options_(options), findings_(findings), watch_(watch), shards_(shard_choices(job, options.space)) {
    const unsigned wanted = options.threads > 0 ? static_cast<unsigned>(options.threads)
                                                : std::max(1U, std::thread::hardware_concurrency());
    const auto most = std::min<std::size_t>(wanted, std::max<std::size_t>(1, shards_.size()));
    workers_.reserve(most);
    for (std::size_t i = 0; i < most; ++i) workers_.emplace_back(job, options);
  }

  void run() {
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) branches_.push_back({0, shard});
    std::size_t end = branches_.size();
    bool on = order(
        0, end, [](Worker& worker, const ShardChoice& shard) { return std::optional(worker.roughly_least(shard)); });
    // The nearest first: what they find leaves few of the others to look at closely.
    std::size_t begin = 0;
    for (; on && begin < branches_.size(); begin = end) {
      end = within_reach(begin);
      if (end == begin) break;
      on = order(begin, end, [](Worker& worker, const ShardChoice& shard) { return worker.least(shard); }) &&
           descend(begin, end);
    }
    for (; on && begin < branches_.size(); ++begin) workers_.front().pass_over(shards_[branches_[begin].shard]);
    for (Worker& worker : workers_) findings_.counts.add(worker.counts);
  }

 private:
  struct Branch {
    double least;
    std::size_t shard;
  };

  /// Puts the branches from `begin` to `end` in the order of their least values, without those that have none, which
  /// are settled: `end` moves. False where the caller says to stop.
  template <class Least>
  bool order(std::size_t begin, std::size_t& end, Least least_of) {
    std::vector<std::optional<double>> least(end - begin);
    const bool all = share_work(
        least.size(), workers_.size(),
        [&](std::size_t worker, std::size_t at) {
          least[at] = least_of(workers_[worker], shards_[branches_[begin + at].shard]);
        },
        [&](std::size_t) { return watch_(begin, branches_.size()); });
    const auto at = [&](std::size_t i) { return branches_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::size_t kept = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (const auto value = least[i - begin]) branches_[kept++] = {rounded(*value), branches_[i].shard};
    }
    branches_.erase(at(kept), at(end));
    end = kept;
    std::stable_sort(at(begin), at(end), [](const Branch& a, const Branch& b) { return a.least < b.least; });
    return all;
  }

  /// The end of the branches from `begin` that may hold better layouts than those found, by what is roughly known.
  std::size_t within_reach(std::size_t begin) const {
    if (begin == 0) return std::min(first_look, branches_.size());
    while (begin < branches_.size() && branches_[begin].least <= findings_.threshold()) ++begin;
    return begin;
  }

  /// In waves, each pruned by what the waves before it found. False where the caller says to stop.
  bool descend(std::size_t begin, std::size_t end) {
    for (std::size_t wave = 4; begin < end; wave = std::min<std::size_t>(2 * wave, 64)) {
      const double threshold = findings_.threshold();
      const std::size_t last = std::min(end, begin + wave);
      const bool all = share_work(
          last - begin, workers_.size(),
          [&](std::size_t worker, std::size_t at) { visit(workers_[worker], branches_[begin + at], threshold); },
          [&](std::size_t done) { return watch_(begin + done, branches_.size()); });
      collect();
      if (!all) return false;
      begin = last;
    }
    return true;
  }

  void visit(Worker& worker, const Branch& branch, double threshold) {
    const ShardChoice& shard = shards_[branch.shard];
    branch.least > threshold ? worker.pass_over(shard) : worker.visit(shard, threshold);
  }

  void collect() {
    for (Worker& worker : workers_) {
      findings_.best.merge(worker.best);
      findings_.front.merge(worker.front);
      worker.best.clear();
      worker.front = {};
    }
  }

  const Job& job_;
  const SearchOptions& options_;
  Findings& findings_;
  Watch& watch_;
  std::vector<ShardChoice> shards_;
  std::vector<Worker> workers_;
  std::vector<Branch> branches_;
};

std::vector<std::pair<std::string, std::uint64_t>> most_first(const Counts& counts, const SearchOptions& options) {
  std::vector<std::pair<std::string, std::uint64_t>> out = {{"memory limit", counts.over_limit}};
  for (const RuleRow& rule : rules()) out.emplace_back(rule.name, counts.by_rule[index_of(&rule)]);
  for (std::size_t i = 0; i < counts.by_constraint.size(); ++i) {
    out.emplace_back(options.constraints[i].name, counts.by_constraint[i]);
  }
  std::erase_if(out, [](const auto& entry) { return entry.second == 0; });
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

std::vector<std::string> stated(const SearchOptions& options) {
  std::vector<std::string> out = options.space.filter.stated();
  if (options.space.tp_in_domain) out.emplace_back("tp inside the scale-up domain");
  if (options.space.order) out.push_back("order = " + describe_order(*options.space.order));
  if (options.max_memory > Bytes{}) out.push_back(fmt::format("memory <= {}", format(options.max_memory)));
  for (const Constraint& constraint : options.constraints) out.push_back(constraint.name);
  return out;
}

/// The jobs to search: one for each accelerator count.
std::vector<Job> variations(Job job, const SearchOptions& options) {
  if (options.accelerators.empty()) return {std::move(job)};
  std::vector<Job> out;
  for (const int count : options.accelerators) out.push_back(with_accelerators(job, count));
  return out;
}

/// Predictions of candidates, with one set of tables for each job.
class Explainer {
 public:
  Explainer(const std::vector<Job>& jobs, const SearchOptions& options) : options_(options) {
    for (const Job& job : jobs) kept_.push_back({job, Tables(job)});
  }
  Ranked operator()(const Candidate& candidate) {
    auto& [job, tables] = kept(candidate.layout);
    Ranked out;
    out.prediction = predict(job, candidate.layout, tables);
    const Prediction& p = out.prediction;
    const Step step = step_time(tables.constants(), tables.entries(p.layout), p.layout);
    out.value = options_.objective.value({job, p.layout, step, p.memory, p.step_time});
    return out;
  }
  /// By the objective of survivors, where there is one.
  void rank(std::vector<Ranked>& best) {
    if (!options_.objective.of_survivors) return;
    std::vector<Survivor> survivors;
    for (const Ranked& r : best) survivors.push_back({kept(r.prediction.layout).job, r.prediction});
    const std::vector<double> values = options_.objective.of_survivors(survivors);
    for (std::size_t i = 0; i < best.size(); ++i) best[i].value = values[i];
    std::ranges::stable_sort(best, {}, &Ranked::value);
  }

 private:
  struct Kept {
    const Job& job;
    Tables tables;
  };
  Kept& kept(const Layout& layout) {
    return *std::ranges::find_if(kept_, [&](const Kept& k) { return k.job.accelerators == layout.accelerators(); });
  }
  const SearchOptions& options_;
  std::vector<Kept> kept_;
};

/// "+4.1 %: bubble +0.21 s", or "+4.1 % memory: bubble +0.21 s" where the objective is not the time.
std::string why(const Ranked& other, const Ranked& best, const Objective& objective) {
  const double more = best.value == 0 ? 0 : 100 * (other.value / best.value - 1);
  const std::string lead = fmt::format("{:+.1f} %{}", more, objective.is_step_time ? "" : " " + objective.name);
  const std::string terms = in_words(other.against_best, best.prediction.step_time);
  return terms.empty() ? lead : lead + ": " + terms;
}

/// The candidates as predictions: with an objective of survivors more of them than are wanted, the best of which stay.
std::vector<Ranked> explained(const std::vector<Candidate>& candidates, Explainer& explain,
                              const SearchOptions& options, std::size_t wanted) {
  std::vector<Ranked> out;
  for (const Candidate& candidate : candidates) out.push_back(explain(candidate));
  explain.rank(out);
  if (out.size() > wanted) out.resize(wanted);
  for (std::size_t i = 1; i < out.size(); ++i) {
    out[i].against_best = differences(out.front().prediction.time, out[i].prediction.time);
    out[i].why = why(out[i], out.front(), options.objective);
  }
  return out;
}

void check(const SearchOptions& options) {
  const auto within = [](const char* where, int value, int least, int most) {
    if (value < least || value > most)
      throw Error(where, fmt::format("found {}, expected a whole number from {} to {}", value, least, most));
  };
  within("top", options.top, 1, 1 << 20);
  within("threads", options.threads, 0, 1024);
  within("max_micro_batch", options.space.max_micro_batch, 1, largest_degree);
  if (!(options.max_memory >= Bytes{})) throw Error("max_memory", "expected a size above zero");
  if (!options.objective.value) throw Error("objective", "found none, expected a function of a layout's outcome");
  if (!options.pareto.empty()) check_front(options.pareto, "pareto");
}

}  // namespace

Bytes memory_limit(std::string_view text, const Job& job, const std::string& where) {
  if (!text.ends_with('%')) {
    const Bytes limit = parse_quantity<Bytes::dimension>(text, where);
    if (limit > Bytes{}) return limit;
    throw Error(where, fmt::format("found '{}', expected a size above zero", text));
  }
  double percent = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc{} || stop != end || !(percent > 0 && percent <= 100))
    throw Error(where, fmt::format("found '{}', expected a share of the device's memory up to 100%, as in 90%", text));
  return job.cluster.accelerator.memory_capacity * (percent / 100);
}

SearchOptions best_only(SearchOptions options) {
  options.top = 1;
  options.pareto.clear();
  options.accelerators.clear();
  return options;
}

SearchResult search(Job job, SearchOptions options) {
  const auto start = Clock::now();
  check(options);
  const auto wanted = static_cast<std::size_t>(options.top);
  if (options.objective.of_survivors) options.top = std::max(4 * options.top, least_survivors);
  const std::vector<Job> jobs = variations(std::move(job), options);
  Findings findings(options);
  Watch watch(options);
  for (const Job& each : jobs) {
    if (!watch.stopped()) Descent(each, options, findings, watch).run();
  }
  Explainer explain(jobs, options);
  SearchResult result;
  result.best = explained(findings.best.best(), explain, options, wanted);
  for (const Front::Point& point : findings.front.points()) {
    Ranked next = explain(point.candidate);
    next.values = point.values;
    result.pareto.push_back(std::move(next));
  }
  const Counts& counts = findings.counts;
  result.considered = counts.considered, result.evaluated = counts.evaluated, result.passed_over = counts.passed_over;
  result.refused = most_first(counts, options);
  result.interrupted = watch.stopped();
  result.objective = options.objective.name;
  for (const Objective& objective : options.pareto) result.pareto_objectives.push_back(objective.name);
  result.stated = stated(options);
  result.assumptions = result.best.empty() ? jobs.front().assumptions : result.best.front().prediction.assumptions;
  result.search_time = Seconds::base(std::chrono::duration<double>(Clock::now() - start).count());
  return result;
}

std::vector<Difference> differences(const StepTime& best, const StepTime& other) {
  std::vector<Difference> out;
  describe(best, [&](const char* field, Seconds time) { out.push_back({field, -time}); });
  std::size_t at = 0;
  describe(other, [&](const char*, Seconds time) { out[at++].change += time; });
  return out;
}

std::string in_words(const std::vector<Difference>& differences, Seconds best) {
  std::vector<Difference> terms = differences;
  const auto size = [](const Difference& term) { return std::abs(term.change.value()); };
  std::stable_sort(terms.begin(), terms.end(),
                   [&](const Difference& a, const Difference& b) { return size(a) > size(b); });
  std::string text;
  for (std::size_t i = 0; i < terms.size() && i < 2 && size(terms[i]) > 0.001 * best.value(); ++i) {
    std::replace(terms[i].term.begin(), terms[i].term.end(), '_', ' ');
    const Seconds change = terms[i].change;
    text += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", terms[i].term, change < Seconds{} ? "-" : "+",
                        format(change < Seconds{} ? -change : change));
  }
  return text;
}

}  // namespace meshwright::search
