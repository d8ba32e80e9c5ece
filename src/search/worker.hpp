#pragma once
// One thread's share of a search: its own tables, its own counts, its own best.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/search/search.hpp"
#include "parallel/communication.hpp"
#include "search/bound.hpp"
#include "search/collector.hpp"

namespace meshwright::search {

/// What became of layouts.
struct Counts {
  std::uint64_t considered = 0, evaluated = 0, passed_over = 0;
  std::uint64_t over_limit = 0;
  std::vector<std::uint64_t> by_rule = std::vector<std::uint64_t>(rules().size());
  std::vector<std::uint64_t> by_constraint;  // as SearchOptions lists them
  void add(const Counts& other);
};

class Worker {
 public:
  /// Both outlive the worker.
  Worker(const Job& job, const SearchOptions& options);

  /// A value of the objective that no layout of the shard choice goes below, from its kernels alone: quickly.
  double roughly_least(const ShardChoice& shard);
  /// The same with communication and the host; nothing where rules refuse all layouts, which are then counted.
  std::optional<double> least(const ShardChoice& shard);
  /// Counts all layouts of the shard choice as passed over.
  void pass_over(const ShardChoice& shard);
  /// Offers every layout of the shard choice that may have a smaller value than `threshold`.
  void visit(const ShardChoice& shard, double threshold);

  Tables& tables() { return tables_; }

  Counts counts;
  Collector best;
  Front front;

 private:
  /// What a pipeline leaves open to the layouts of a (tp, cp).
  struct Shape {
    int pp, vp, dp;
    PipelineSchedule schedule;
    StageSplit split;
    const std::vector<RecomputeChoice>* recomputes;  ///< of recomputes_
    const StageKinds* stages = nullptr;              ///< filled in for layouts that no rule refuses
  };
  std::vector<Shape>& shapes(const ShardChoice& shard);
  void take(const Shape& shape);
  const Passes& passes();
  const StageKinds& stages(const Shape& shape);
  Overlaps all_overlaps(const ShardChoice& shard) const;
  Seconds fastest_pass(const ShardChoice& shard, const Overlaps& all);
  double value_at_least(Seconds time) const;
  bool worse(Seconds least_time) const;
  void take(const RecomputeChoice& choice);
  void keep_recomputes(const Shape& shape);
  void visit_shape(Shape& shape);
  void visit_recomputes(const Shape& shape);
  void evaluate(const StageKinds& stages, std::optional<Entries>& entries);
  void offer(const Step& step, Seconds time, const Memory& need);
  bool memory_suffices(const Memory& need);

  const Job& job_;
  const SearchOptions& options_;
  const std::vector<ModelSection> sections_;
  const MemoryConstants memory_constants_;
  const std::vector<Sharding> shardings_;
  const std::vector<RecomputeChoice> any_recompute_;
  std::map<int, std::vector<RecomputeChoice>> recomputes_;  // by the layers of the deepest chunk
  const bool bounded_;                                      // the objective has a bound, and no front wants the rest
  Tables tables_;
  Communication communication_;
  std::map<std::pair<int, int>, std::vector<Shape>> shapes_;
  std::map<std::array<int, 3>, Seconds> kernels_;    // least of all sections, by tp, cp and micro-batch
  std::map<std::array<int, 5>, StageKinds> stages_;  // by pp, vp, split, schedule and recomputed layers

  // the shard choice that is being visited
  Layout layout_;
  LayerMemory layers_;
  bool has_layers_ = false;
  std::vector<Passes> known_;          // by schedule, which may put communication beside compute; empty: not yet asked
  std::vector<RecomputeChoice> kept_;  // recomputes of the shape that may be good enough
  double threshold_ = 0;
  Collector found_;
};

}  // namespace meshwright::search
