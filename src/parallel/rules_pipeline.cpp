// Rules on layers, stages and schedules.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "meshwright/parallel/stages.hpp"
#include "parallel/rules.hpp"

namespace meshwright::parallel {
namespace {

bool piped(const Layout& l) noexcept { return l.pp > 1; }
bool stated(const Layout& l) noexcept { return !l.stages.empty(); }
int parts_a_stage(const Layout& l) noexcept { return split_ways(l) / l.pp; }

StageSplit split_of(const Job& job, const Layout& l) noexcept {
  return resolved_split(l.stage_split, job.model.layers, job.framework, l.pp, parts_a_stage(l));
}

// Stages that a layout states.

int stated_sum(const Layout& l) noexcept { return std::accumulate(l.stages.begin(), l.stages.end(), 0); }
bool counts_a_stage(const Layout& l) noexcept { return static_cast<int>(l.stages.size()) == l.pp; }
bool counts_a_part(const Layout& l) noexcept { return static_cast<int>(l.stages.size()) == split_ways(l); }

/// The first stated count that the parts of a stage do not divide, or the end.
auto undivided(const Layout& l) noexcept {
  const int parts = parts_a_stage(l);
  const bool whole = counts_a_part(l) || !counts_a_stage(l);
  return std::find_if(l.stages.begin(), l.stages.end(), [&](int count) { return !whole && !divides(parts, count); });
}

/// Degrees of virtual stages that every stated count could be cut into.
std::vector<int> possible_parts(const Layout& l) {
  const int common = std::accumulate(l.stages.begin(), l.stages.end(), 0, [](int a, int b) { return std::gcd(a, b); });
  std::vector<int> degrees;
  for (int vp = 1; vp <= common; ++vp) {
    if (common % vp == 0) degrees.push_back(vp);
  }
  return degrees;
}

// Schedules.

int least_batches(PipelineSchedule schedule, int pp) noexcept {
  return schedule->least_micro_batches != nullptr ? schedule->least_micro_batches(pp) : 1;
}
int batches_of(const Job& job, const Layout& l) noexcept { return micro_batches(job.global_batch, l); }

bool shape_refused(const Job& job, const Layout& l) noexcept {
  if (!piped(l)) return false;
  const PipelineSchedule schedule = effective_schedule(l);
  if (l.vp > 1 && schedule->chunks != 0) return true;
  return !divides(schedule->multiple, l.pp) || !divides(schedule->multiple, batches_of(job, l));
}

bool too_few_batches(const Job& job, const Layout& l) noexcept {
  if (!piped(l)) return false;
  const int batches = batches_of(job, l);
  if (job.framework.rules.micro_batches_cover_pipeline && batches < l.pp - 1) return true;
  return batches < least_batches(effective_schedule(l), l.pp);
}

RuleWords too_few_words(const Job& job, const Layout& l) {
  const int batches = batches_of(job, l), least = least_batches(effective_schedule(l), l.pp);
  if (batches < least) {
    return {fmt::format("{} or more for {}", least, name(effective_schedule(l))), fmt::format("{}", batches)};
  }
  return {fmt::format("pp - 1 = {} or more", l.pp - 1), fmt::format("{} micro-batches", batches)};
}

RuleWords split_words(const Job& job, const Layout& l) {
  const int chunks = split_ways(l), layers = job.model.layers;
  std::string other;
  if (divides(chunks, layers + 2)) other = "; stage_split 'embedding' counts 2 more";
  if (other.empty() && job.framework.rules.uneven_stages) other = "; stage_split 'uneven' gives an explicit layout";
  return {fmt::format("a multiple of pp * vp {}", chunks),
          fmt::format("{} layers, {} left over{}", layers, layers % chunks, other)};
}

constexpr RuleRow table[] = {
    {.name = "virtual stages",
     .refuses = [](const Job&,
                   const Layout& l) noexcept { return l.vp > 1 && (l.pp == 1 || (l.pp == 2 && !l.overlap_p2p)); },
     .words = [](const Job&, const Layout& l) -> RuleWords {
       if (l.pp == 1) return {fmt::format("pp > 1 for vp {}", l.vp), "pp 1"};
       return {"pp > 2 where sends do not overlap (overlap_p2p)", fmt::format("pp {}", l.pp)};
     }},
    {.name = "pipeline schedule",
     .refuses = [](const Job& job,
                   const Layout& l) noexcept { return piped(l) && !runs(job.framework, effective_schedule(l)); },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       std::vector<std::string> own;
       for (const PipelineSchedule& row : pipeline_schedules()) {
         if (runs(job.framework, row)) own.emplace_back(name(row));
       }
       return {fmt::format("a schedule of {}: {}", job.framework.name, fmt::join(own, ", ")),
               std::string(name(effective_schedule(l)))};
     }},
    {.name = "shape of the pipeline schedule",
     .refuses = shape_refused,
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       const PipelineSchedule schedule = effective_schedule(l);
       if (l.vp > 1 && schedule->chunks != 0) {
         return {fmt::format("vp 1 for {}", name(schedule)), fmt::format("vp {}", l.vp)};
       }
       return {fmt::format("pp and micro-batches that are multiples of {}", schedule->multiple),
               fmt::format("pp {}, {} micro-batches", l.pp, batches_of(job, l))};
     }},
    {.name = "stated stages",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           const StackRules& rules = job.framework.rules;
           if (!stated(l)) return false;
           return !(rules.uneven_stages || rules.uneven_by_default) || !(counts_a_stage(l) || counts_a_part(l));
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       if (counts_a_stage(l) || counts_a_part(l)) {
         return {"layers split by the stack's own rule", fmt::format("no explicit split in {}", job.framework.name)};
       }
       return {parts_a_stage(l) > 1 ? fmt::format("{} counts, one a stage, or {}, one a chunk", l.pp, split_ways(l))
                                    : fmt::format("{} counts, one a stage", l.pp),
               fmt::format("{}", l.stages.size())};
     }},
    {.name = "stages sum to the layers",
     .refuses = [](const Job& job, const Layout& l) noexcept { return stated(l) && stated_sum(l) != job.model.layers; },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("stages that sum to {} layers", job.model.layers),
               fmt::format("{} = {}", fmt::join(l.stages, " + "), stated_sum(l))};
     },
     .of_stack = false},
    {.name = "layers of a stage % vp",
     .refuses = [](const Job&, const Layout& l) noexcept { return stated(l) && undivided(l) != l.stages.end(); },
     .words = [](const Job&, const Layout& l) -> RuleWords {
       return {fmt::format("a multiple of {} {} on every stage", parts_a_stage(l) == l.vp ? "vp" : "parts",
                           parts_a_stage(l)),
               fmt::format("{} layers on stage {}; valid are {}", *undivided(l), undivided(l) - l.stages.begin(),
                           fmt::join(possible_parts(l), ", "))};
     }},
    {.name = "layers >= pp * vp",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           const int ends = split_of(job, l) == StageSplit::embedding ? 2 : 0;
           return piped(l) && !stated(l) && split_ways(l) > job.model.layers + ends;
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("{} layers, one a chunk", split_ways(l)), fmt::format("{}", job.model.layers)};
     }},
    {.name = "layers % (pp * vp)",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return piped(l) && !stated(l) && split_of(job, l) == StageSplit::automatic;
         },
     .words = split_words},
    {.name = "stages by cost",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return piped(l) && !stated(l) && split_of(job, l) == StageSplit::cost &&
                  stages_used_by_cost(job.model, split_ways(l)) < split_ways(l);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("a block for each of {} stages", split_ways(l)),
               fmt::format("{} stages filled by cost", stages_used_by_cost(job.model, split_ways(l)))};
     }},
    {.name = "micro-batches % pp (interleaving)",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return piped(l) && l.vp > 1 && job.framework.rules.interleaving_needs_multiple &&
                  !divides(l.pp, batches_of(job, l));
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("a multiple of pp {}", l.pp), fmt::format("{} micro-batches", batches_of(job, l))};
     }},
    {.name = "micro-batches for the pipeline", .refuses = too_few_batches, .words = too_few_words},
    {.name = "recompute_layers",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.recompute_layers > 0 && (l.recompute != Recompute::full || !job.framework.rules.recomputes_some);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       if (!job.framework.rules.recomputes_some) return {"recompute of all layers or none", "no other in the stack"};
       return {fmt::format("recompute full for {} layers of it", l.recompute_layers),
               fmt::format("recompute {}", name(l.recompute))};
     }},
};

}  // namespace

std::span<const RuleRow> pipeline_rules() { return table; }

}  // namespace meshwright::parallel
