#include "meshwright/parallel/constraints.hpp"

#include <fmt/format.h>

#include <vector>

#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "parallel/rules.hpp"

namespace meshwright::parallel {
namespace {

struct Table {
  std::vector<RuleRow> rows;
  Rule states, memory, end;  // where the rules on sharded states and on memory begin
  Table() {
    for (const auto part : {axis_rules(), expert_rules(), pipeline_rules(), state_rules(), memory_rules()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    end = rows.data() + rows.size();
    memory = end - memory_rules().size();
    states = memory - state_rules().size();
  }
};

const Table& table() noexcept {
  static const Table all;
  return all;
}

Rule first_of(Rule begin, Rule end, const Job& job, const Layout& layout) noexcept {
  for (Rule rule = begin; rule != end; ++rule) {
    if (rule->refuses(job, layout)) return rule;
  }
  return nullptr;
}

}  // namespace

std::span<const RuleRow> rules() { return table().rows; }
std::size_t index_of(Rule rule) noexcept { return static_cast<std::size_t>(rule - table().rows.data()); }
bool of_memory(Rule rule) noexcept { return rule >= table().memory && rule < table().end; }

Rule refused_whatever_states(const Job& job, const Layout& layout) noexcept {
  return first_of(table().rows.data(), table().states, job, layout);
}
Rule refused_by_states(const Job& job, const Layout& layout) noexcept {
  return first_of(table().states, table().memory, job, layout);
}
Rule refused_by(const Job& job, const Layout& layout) noexcept {
  return first_of(table().rows.data(), table().memory, job, layout);
}

Rule refused_by_memory(const Job& job, const Layout& layout) noexcept {
  return first_of(table().memory, table().end, job, layout);
}
Rule short_of(const MemoryConstants& constants, const Memory& memory) noexcept {
  if (plannable(constants, memory)) return nullptr;
  const Rule host = table().memory, device = host + 1;
  return more_than_host(constants.host_memory, memory) ? host : device;
}

Violation violation_of(const Job& job, const Layout& layout, Rule rule) {
  const RuleWords said = rule->words(job, layout);
  return {.rule = rule->of_stack ? fmt::format("{} ({})", rule->name, job.framework.name) : std::string(rule->name),
          .needed = said.needed,
          .available = said.available};
}

std::optional<Violation> constraint(const Job& job, const Layout& layout) {
  const Rule rule = refused_by(job, layout);
  if (rule == nullptr) return std::nullopt;
  return violation_of(job, layout, rule);
}

Rule refusal(const Job& job, const Layout& layout) noexcept {
  if (const Rule rule = refused_by(job, layout)) return rule;
  return refused_by_memory(job, layout);
}

std::optional<Violation> violation(const Job& job, const Layout& layout) {
  const Rule rule = refusal(job, layout);
  if (rule == nullptr) return std::nullopt;
  return violation_of(job, layout, rule);
}

StageSplit resolved_split(StageSplit split, int layers, const Framework& framework, int pp, int vp) noexcept {
  const int chunks = pp * vp;
  const bool even = divides(chunks, layers), with_ends = divides(chunks, layers + 2);
  switch (split) {
    case StageSplit::even:
      return even ? StageSplit::even : StageSplit::automatic;
    case StageSplit::embedding:
      return with_ends || framework.defaults.splits_with_ends ? StageSplit::embedding : StageSplit::automatic;
    case StageSplit::uneven:
      return framework.rules.uneven_stages || framework.rules.uneven_by_default ? StageSplit::uneven
                                                                                : StageSplit::automatic;
    case StageSplit::cost:
      return StageSplit::cost;
    case StageSplit::automatic:
      break;
  }
  if (framework.rules.splits_by_cost) return StageSplit::cost;
  if (framework.defaults.splits_with_ends) return StageSplit::embedding;
  if (even) return StageSplit::even;
  if (framework.rules.uneven_by_default) return StageSplit::uneven;
  return framework.rules.uneven_stages && with_ends ? StageSplit::embedding : StageSplit::automatic;
}

StageSplit usual_stage_split(int layers, const Framework& framework, int pp, int vp) noexcept {
  const StageSplit split = resolved_split(StageSplit::automatic, layers, framework, pp, vp);
  return split == StageSplit::automatic && framework.rules.uneven_stages ? StageSplit::uneven : split;
}

}  // namespace meshwright::parallel
