#include "meshwright/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "meshwright/core/units.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/parallel/step.hpp"
#include "meshwright/parallel/tables.hpp"
#include "meshwright/search/space.hpp"
#include "search/collector.hpp"

namespace meshwright::search {
namespace {

constexpr std::array recomputes = {Recompute::none, Recompute::selective, Recompute::full};

struct Refusals {
  std::array<std::uint64_t, rule_count> by_rule{};
  std::uint64_t memory = 0, overlap = 0;
};

/// One thread's share of the space: its own tables, its own counts, its own best.
class Worker {
 public:
  Worker(const Job& job, const SearchOptions& options)
      : job_(job), memory_constants_(memory_constants(job)), shardings_(shardings(job)), tables_(job), best_(options) {}

  void visit(const ShardChoice& shard) {
    layout_ = Layout{.tp = shard.tp,
                     .cp = shard.cp,
                     .ep = shard.ep,
                     .etp = shard.etp,
                     .micro_batch = shard.micro_batch,
                     .sequence_parallel = shard.tp > 1,
                     .overlap_grad_reduce = job_.framework.defaults.overlap_grad_reduce,
                     .overlap_param_gather = job_.framework.defaults.overlap_param_gather,
                     .tp_comm_overlap = shard.tp_comm_overlap,
                     .ep_comm_overlap = shard.ep_comm_overlap};
    has_layers_ = false;
    for (const int pp : pipeline_degrees(job_, shard)) {
      layout_.pp = pp;
      layout_.dp = job_.accelerators / (shard.tp * shard.cp * pp);
      for (layout_.vp = 1; layout_.vp <= most_virtual_stages(job_, pp); ++layout_.vp) visit_schedules();
    }
  }

  void add_to(SearchResult& result, Refusals& refused) const {
    result.evaluated += evaluated_;
    result.considered += considered_;
    refused.memory += no_memory_;
    refused.overlap += no_overlap_;
    for (std::size_t r = 0; r < rule_count; ++r) refused.by_rule[r] += refused_[r];
  }
  const Collector& best() const { return best_; }

 private:
  void visit_schedules() {
    for (const PipelineSchedule schedule : schedules(job_.framework, layout_.pp, layout_.vp)) {
      layout_.schedule = schedule;
      layout_.stage_split =
          usual_stage_split(job_.model.layers, job_.framework, layout_.pp, split_ways(layout_) / layout_.pp);
      for (const Sharding& sharding : shardings_) {
        layout_.zero_stage = sharding.zero_stage;
        layout_.hsdp_shard = sharding.hsdp_shard;
        considered_ += recomputes.size();
        // No rule depends on recompute.
        if (const Rule rule = refused_by(job_, layout_); rule != Rule::none) {
          refused_[static_cast<std::size_t>(rule)] += recomputes.size();
        } else {
          visit_recomputes();
        }
      }
    }
  }

  void visit_recomputes() {
    if (!has_layers_) {
      layers_ = layer_memory(job_, layout_);
      has_layers_ = true;
    }
    const Entries entries = tables_.entries(layout_);
    for (const Recompute recompute : recomputes) {
      layout_.recompute = recompute;
      if (layout_.ep_comm_overlap && !can_overlap_experts(layout_)) {
        ++no_overlap_;
        continue;
      }
      const Memory need = memory(memory_constants_, layers_, *entries.stages, layout_);
      if (fit(memory_constants_, need) == Fit::does_not_fit) {
        ++no_memory_;
        continue;
      }
      ++evaluated_;
      const Step step = step_time(tables_.constants(), entries, layout_);
      best_.offer({total(step.time), need.reserved, layout_});
    }
  }

  const Job& job_;
  const MemoryConstants memory_constants_;
  const std::vector<Sharding> shardings_;
  Tables tables_;
  LayerMemory layers_;
  bool has_layers_ = false;
  Layout layout_;
  Collector best_;
  std::uint64_t evaluated_ = 0, considered_ = 0, no_memory_ = 0, no_overlap_ = 0;
  std::array<std::uint64_t, rule_count> refused_{};
};

/// "+4.1 %: bubble +0.21 s, tensor parallel -0.05 s": the two largest differences.
std::string why(const Prediction& best, const Prediction& other) {
  std::vector<std::pair<std::string, Seconds>> terms;
  describe(best.time, [&](const char* field, Seconds time) { terms.emplace_back(field, -time); });
  std::size_t at = 0;
  describe(other.time, [&](const char*, Seconds time) { terms[at++].second += time; });
  const auto size = [](const auto& term) { return std::abs(term.second.value()); };
  std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) { return size(a) > size(b); });
  std::string text = fmt::format("+{:.1f} %", 100 * (other.step_time / best.step_time - 1));
  for (std::size_t i = 0; i < 2 && size(terms[i]) > 0.001 * best.step_time.value(); ++i) {
    std::replace(terms[i].first.begin(), terms[i].first.end(), '_', ' ');
    const Seconds change = terms[i].second;
    text += fmt::format("{} {} {}{}", i == 0 ? ":" : ",", terms[i].first, change < Seconds{} ? "-" : "+",
                        format(change < Seconds{} ? -change : change));
  }
  return text;
}

std::vector<std::pair<std::string, std::uint64_t>> most_first(const Refusals& refused) {
  std::vector<std::pair<std::string, std::uint64_t>> out = {{"device memory", refused.memory},
                                                            {"expert overlap without interleaving", refused.overlap}};
  for (std::size_t r = 1; r < rule_count; ++r) out.emplace_back(name(static_cast<Rule>(r)), refused.by_rule[r]);
  std::erase_if(out, [](const auto& entry) { return entry.second == 0; });
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

/// Runs `workers` over `choices`, each taking the next one as it becomes free.
void run(std::vector<Worker>& workers, const std::vector<ShardChoice>& choices) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&](Worker& worker) {
    for (std::size_t at = next++; at < choices.size(); at = next++) worker.visit(choices[at]);
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < workers.size(); ++i) threads.emplace_back(work, std::ref(workers[i]));
  work(workers.front());
}

}  // namespace

SearchResult search(const Job& job, const SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<ShardChoice> choices = shard_choices(job, options.max_micro_batch);
  const unsigned wanted = options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  std::vector<Worker> workers;
  for (unsigned i = 0; i < std::min<std::size_t>(wanted, std::max<std::size_t>(1, choices.size())); ++i) {
    workers.emplace_back(job, options);
  }
  run(workers, choices);

  SearchResult result;
  Collector best(options);
  Refusals refused;
  for (const Worker& worker : workers) {
    worker.add_to(result, refused);
    best.merge(worker.best());
  }
  for (const Candidate& candidate : best.best()) {
    Ranked ranked{predict(job, candidate.layout), ""};
    if (!result.best.empty()) ranked.why = why(result.best.front().prediction, ranked.prediction);
    result.best.push_back(std::move(ranked));
  }
  result.refused = most_first(refused);
  result.assumptions = result.best.empty() ? job.assumptions : result.best.front().prediction.assumptions;
  result.search_time = Seconds::base(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

}  // namespace meshwright::search
