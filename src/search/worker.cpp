#include "search/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "meshwright/parallel/step.hpp"
#include "parallel/block_cost.hpp"
#include "parallel/stage_kinds.hpp"

namespace meshwright::search {
namespace {

/// The value, which has to be a number: others have no order.
double checked(const Objective& objective, const Outcome& outcome) {
  const double value = objective.value(outcome);
  if (std::isfinite(value)) return value;
  throw Error("objective", fmt::format("{} of {} is {}, expected a finite number", objective.name,
                                       describe_layout(outcome.layout), value));
}

}  // namespace

void Counts::add(const Counts& other) {
  considered += other.considered, evaluated += other.evaluated, passed_over += other.passed_over;
  over_limit += other.over_limit;
  for (std::size_t i = 0; i < by_rule.size(); ++i) by_rule[i] += other.by_rule[i];
  by_constraint.resize(std::max(by_constraint.size(), other.by_constraint.size()));
  for (std::size_t i = 0; i < other.by_constraint.size(); ++i) by_constraint[i] += other.by_constraint[i];
}

Worker::Worker(const Job& job, const SearchOptions& options)
    : best(options.top, options.variants),
      job_(job),
      options_(options),
      sections_(model_sections(job.model)),
      memory_constants_(memory_constants(job)),
      shardings_(shardings(job, options.space)),
      any_recompute_(recomputes(job, options.space, job.model.layers)),
      bounded_(options.objective.least && options.pareto.empty()),
      tables_(job),
      communication_(job.cluster, job.collectives),
      found_(options.top, options.variants) {
  counts.by_constraint.resize(options.constraints.size());
}

std::vector<Worker::Shape>& Worker::shapes(const ShardChoice& shard) {
  const auto [entry, missing] = shapes_.try_emplace({shard.tp, shard.cp});
  if (!missing) return entry->second;
  const Limits& limits = options_.space;
  Layout layout;
  for (layout.pp = 0; const int pp : pipeline_degrees(job_, limits, shard)) {
    layout.pp = pp;
    for (const int vp : virtual_stages(job_, limits, pp)) {
      layout.vp = vp;
      for (const PipelineSchedule schedule : schedules(job_.framework, limits, pp, vp)) {
        layout.schedule = schedule;
        const StageSplit split = split_of(job_, limits, layout);
        if (!limits.filter.admits(Axis::stage_split, static_cast<int>(split))) continue;
        layout.stage_split = split;
        const int deepest = limits.some_layers ? deepest_chunk(job_, layout) : 0;
        const auto [recompute, unseen] = recomputes_.try_emplace(deepest);
        if (unseen) recompute->second = recomputes(job_, limits, deepest);
        entry->second.push_back({pp, vp, data_degree(job_, limits, shard, pp), schedule, split, &recompute->second});
      }
    }
  }
  return entry->second;
}

void Worker::take(const Shape& shape) {
  layout_.pp = shape.pp, layout_.vp = shape.vp, layout_.dp = shape.dp;
  layout_.schedule = shape.schedule, layout_.stage_split = shape.split;
}

/// Of the layout's entry; its other pipelines of the same schedule have it too.
const Passes& Worker::passes() {
  Passes& known = known_[index_of(layout_.schedule)];
  if (known.empty()) known = search::passes(tables_.shard(layout_));
  return known;
}

/// The least of all schedules and overlaps: what runs beside compute is never slower than what runs after it.
Seconds Worker::fastest_pass(const ShardChoice& shard, const Overlaps& all) {
  Seconds fastest = Seconds::base(std::numeric_limits<double>::infinity());
  known_.assign(pipeline_schedules().size(), {});
  layout_ = plain_layout(job_, options_.space, shard, all);
  for (const Shape& shape : shapes(shard)) {
    take(shape);
    if (!known_[index_of(shape.schedule)].empty()) continue;
    for (const RecomputeChoice& choice : any_recompute_) {
      const Recompute mode = choice.layers > 0 ? Recompute::none : choice.mode;  // some layers again: no less than none
      fastest = std::min(fastest, least_pass(passes(), sections_, mode));
    }
  }
  return fastest;
}

double Worker::value_at_least(Seconds time) const {
  return options_.objective.least(job_, least_times(tables_.constants()) * time);
}

bool Worker::worse(Seconds least_time) const {
  return rounded(value_at_least(least_time)) > std::min(threshold_, found_.threshold());
}

/// Of the layout's recompute; those of all layers or none share the shape's.
const StageKinds& Worker::stages(const Shape& shape) {
  if (shape.stages != nullptr && layout_.recompute_layers == 0) return *shape.stages;
  const std::array key = {shape.pp, shape.vp, static_cast<int>(shape.split), static_cast<int>(index_of(shape.schedule)),
                          layout_.recompute_layers};
  const auto [known, missing] = stages_.try_emplace(key);
  if (missing) known->second = stage_kinds(job_.model, job_.framework, layout_);
  return known->second;
}

Overlaps Worker::all_overlaps(const ShardChoice& shard) const {
  Overlaps all;
  for (const Overlaps& variant : overlaps(job_, options_.space, shard)) {
    all = {all.tensor || variant.tensor, all.expert || variant.expert};
  }
  return all;
}

double Worker::roughly_least(const ShardChoice& shard) {
  if (!bounded_) return 0;
  // One value for all cuts of the experts, whichever comes first.
  Layout layout = plain_layout(job_, options_.space, shard, all_overlaps(shard));
  layout.ep = 1, layout.etp = 1;
  const BlockContext context{job_, layout, communication_};
  const auto [known, missing] = kernels_.try_emplace({shard.tp, shard.cp, shard.micro_batch});
  for (std::size_t i = 0; missing && i < sections_.size(); ++i) {
    known->second += sections_[i].count * least_section(context, sections_[i]);
  }
  const Seconds pass = known->second;
  return value_at_least(least_step_of_shard(pass, layout, job_.global_batch, job_.accelerators));
}

std::optional<double> Worker::least(const ShardChoice& shard) {
  std::vector<std::uint64_t> refused(rules().size());
  const Overlaps all = all_overlaps(shard);
  for (const Overlaps& variant : overlaps(job_, options_.space, shard)) {
    layout_ = plain_layout(job_, options_.space, shard, variant);
    for (const Shape& shape : shapes(shard)) {
      take(shape);
      if (const Rule rule = refused_whatever_states(job_, layout_); rule != nullptr) {
        refused[index_of(rule)] += shardings_.size() * shape.recomputes->size();
        continue;
      }
      for (const Sharding& sharding : shardings_) {
        sharding.give(layout_);
        if (const Rule rule = refused_by_states(job_, layout_); rule != nullptr) {
          refused[index_of(rule)] += shape.recomputes->size();
          continue;
        }
        if (!bounded_) return 0;
        const Seconds fastest = fastest_pass(shard, all);
        return value_at_least(least_step_of_shard(fastest, layout_, job_.global_batch, job_.accelerators));
      }
    }
  }
  for (std::size_t rule = 0; rule < refused.size(); ++rule) {
    counts.by_rule[rule] += refused[rule];
    counts.considered += refused[rule];
  }
  return std::nullopt;
}

void Worker::pass_over(const ShardChoice& shard) {
  std::uint64_t choices = 0;
  for (const Shape& shape : shapes(shard)) choices += shape.recomputes->size();
  const std::uint64_t layouts = overlaps(job_, options_.space, shard).size() * shardings_.size() * choices;
  counts.considered += layouts;
  counts.passed_over += layouts;
}

void Worker::visit(const ShardChoice& shard, double threshold) {
  threshold_ = threshold;
  has_layers_ = false;
  found_.clear();
  for (const Overlaps& variant : overlaps(job_, options_.space, shard)) {
    layout_ = plain_layout(job_, options_.space, shard, variant);
    known_.assign(pipeline_schedules().size(), {});
    for (Shape& shape : shapes(shard)) {
      take(shape);
      visit_shape(shape);
    }
  }
  best.merge(found_);
}

void Worker::take(const RecomputeChoice& choice) {
  layout_.recompute = choice.mode, layout_.recompute_layers = choice.layers;
}

void Worker::keep_recomputes(const Shape& shape) {
  kept_.clear();
  if (!bounded_) return kept_.assign(shape.recomputes->begin(), shape.recomputes->end());
  const auto too_slow = [&](const RecomputeChoice& choice) {
    take(choice);
    return worse(least_step(passes(), stages(shape), layout_, job_.global_batch, tables_.constants()));
  };
  if (too_slow(RecomputeChoice{})) return;  // whatever is done again takes no less than nothing
  std::ranges::copy_if(*shape.recomputes, std::back_inserter(kept_),
                       [&](const RecomputeChoice& choice) { return !too_slow(choice); });
}

void Worker::visit_shape(Shape& shape) {
  counts.considered += shardings_.size() * shape.recomputes->size();
  take(RecomputeChoice{});  // no rule refuses it
  if (const Rule rule = refused_whatever_states(job_, layout_); rule != nullptr) {
    counts.by_rule[index_of(rule)] += shardings_.size() * shape.recomputes->size();
    return;
  }
  if (shape.stages == nullptr) shape.stages = &stages(shape);
  keep_recomputes(shape);
  counts.passed_over += shardings_.size() * (shape.recomputes->size() - kept_.size());
  if (kept_.empty()) return;
  for (const Sharding& sharding : shardings_) {
    take(RecomputeChoice{});
    sharding.give(layout_);
    if (const Rule rule = refused_by_states(job_, layout_); rule != nullptr) {
      counts.by_rule[index_of(rule)] += kept_.size();
    } else {
      visit_recomputes(shape);
    }
  }
}

void Worker::visit_recomputes(const Shape& shape) {
  std::optional<Entries> entries;
  for (const RecomputeChoice& choice : kept_) {
    take(choice);
    // The rules on overlapped experts and on some layers are the only ones that ask for recompute.
    const bool asked = layout_.ep_comm_overlap || choice.layers > 0;
    const Rule rule = asked ? refused_by(job_, layout_) : nullptr;
    if (rule != nullptr) {
      ++counts.by_rule[index_of(rule)];
    } else if (choice.layers > 0) {
      std::optional<Entries> own;
      evaluate(stages(shape), own);
    } else {
      evaluate(*shape.stages, entries);
    }
  }
}

/// Memory first: it takes the fewest table entries, and refuses most of what the bound lets through.
void Worker::evaluate(const StageKinds& stages, std::optional<Entries>& entries) {
  if (!has_layers_) {
    layers_ = layer_memory(job_, layout_);
    has_layers_ = true;
  }
  const Memory need = memory(memory_constants_, layers_, stages, layout_);
  if (!memory_suffices(need)) return;
  if (!entries) entries = tables_.entries(layout_);
  const Step step = step_time(tables_.constants(), *entries, layout_);
  const Seconds time = total(step.time);
  bounded_&& worse(time) ? void(++counts.evaluated) : offer(step, time, need);
}

bool Worker::memory_suffices(const Memory& need) {
  if (options_.any_memory) return true;
  if (const Rule rule = short_of(memory_constants_, need); rule != nullptr) {
    ++counts.by_rule[index_of(rule)];
    return false;
  }
  if (options_.max_memory > Bytes{} && need.reserved > options_.max_memory) {
    ++counts.over_limit;
    return false;
  }
  return true;
}

void Worker::offer(const Step& step, Seconds time, const Memory& need) {
  const Outcome outcome{job_, layout_, step, need, time};
  for (std::size_t i = 0; i < options_.constraints.size(); ++i) {
    if (options_.constraints[i].holds(outcome)) continue;
    ++counts.by_constraint[i];
    return;
  }
  ++counts.evaluated;
  const Candidate found = candidate(checked(options_.objective, outcome), time, need.reserved, layout_);
  if (found.value > rounded(options_.below)) return;
  found_.offer(found);
  if (options_.pareto.empty()) return;
  std::vector<double> values;
  for (const Objective& objective : options_.pareto) values.push_back(checked(objective, outcome));
  front.offer(values, found);
}

}  // namespace meshwright::search
