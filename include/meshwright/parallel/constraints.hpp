#pragma once
// What refuses a layout: one table of rules, memory among them.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/error.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/layout.hpp"

namespace meshwright::parallel {

struct Memory;
struct MemoryConstants;

/// What a rule needs and what is there, in words: "a multiple of tp 3", "40 heads".
struct RuleWords {
  std::string needed, available;
};

struct RuleRow {
  std::string_view name;  ///< "heads % tp"
  /// True where the rule refuses. Arithmetic only for all rules but memory: no allocation, no throw.
  bool (*refuses)(const Job& job, const Layout& layout) noexcept = nullptr;
  RuleWords (*words)(const Job& job, const Layout& layout) = nullptr;  ///< of a layout that it refuses
  bool of_stack = true;  ///< another stack may accept the layout: the refusal names the stack
};
/// A row of the table; nullptr = none.
using Rule = const RuleRow*;

/// The rules in the order in which they are tried; those on memory come last.
std::span<const RuleRow> rules();
/// Place of a rule in rules().
std::size_t index_of(Rule rule) noexcept;
/// Whether a rule is about memory, of the host or the device: the layout has a time, but no room.
bool of_memory(Rule rule) noexcept;

/// What refuses `layout`, first rule first, memory left out; nullptr where nothing does. Arithmetic only: no
/// allocation, no throw.
Rule refused_by(const Job& job, const Layout& layout) noexcept;
/// The two halves of refused_by(), for loops over sharded states inside a loop over the rest of a layout: what does not
/// look at them, and what does.
Rule refused_whatever_states(const Job& job, const Layout& layout) noexcept;
Rule refused_by_states(const Job& job, const Layout& layout) noexcept;
/// The rules on memory, which are dear to test: refused_by() leaves them out.
Rule refused_by_memory(const Job& job, const Layout& layout) noexcept;
/// The memory that keeps a plan from resting on a layout which needs `memory`, nullptr where it may (plannable()).
Rule short_of(const MemoryConstants& constants, const Memory& memory) noexcept;
/// refused_by() with memory.
Rule refusal(const Job& job, const Layout& layout) noexcept;
/// The refusal in words, with what is needed and what is there. `rule` is what refused the layout.
Violation violation_of(const Job& job, const Layout& layout, Rule rule);
/// refused_by as an answer for people.
std::optional<Violation> constraint(const Job& job, const Layout& layout);

/// The layouts nearest to a refused one that nothing refuses, nearest first, at most `count`: degrees first by their
/// ratios, then other choices one or two at a time. All use the job's accelerators. Empty where none is found near.
std::vector<Layout> nearest_layouts(const Job& job, const Layout& layout, std::size_t count);

/// The split that a stack would be given for `chunks` = pp * vp: automatic where that is allowed, else uneven where the
/// stack takes an explicit layout, else automatic (which is refused).
StageSplit usual_stage_split(int layers, const Framework& framework, int pp, int vp) noexcept;
/// What `automatic` stands for: cost, even, embedding or uneven; automatic where nothing is allowed.
StageSplit resolved_split(StageSplit split, int layers, const Framework& framework, int pp, int vp) noexcept;

}  // namespace meshwright::parallel
