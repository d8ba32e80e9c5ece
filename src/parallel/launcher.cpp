#include "meshwright/parallel/launcher.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "meshwright/parallel/placement.hpp"
#include "parallel/launcher_dialects.hpp"

namespace meshwright::parallel {
namespace {

struct Dialect {
  std::string_view name;
  std::string_view release;  ///< that its names and rules were read from
  AxisSet axes;              ///< that it can configure, dp in any case
  std::vector<std::string> (*flags)(const Job& job, const Layout& layout);
};
constexpr std::uint32_t bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
constexpr AxisSet every_axis{0b11111};
constexpr std::array<Dialect, 7> dialects = {{
    {"megatron", "Megatron-LM, core 0.20, 2026-08-22 (d98e8a64dd)", every_axis, megatron_flags},
    {"megatron-deepspeed", "Megatron-DeepSpeed, main of 2024", every_axis, megatron_deepspeed_flags},
    {"torchtitan", "torchtitan 0.2.2, 2026-08-21 (b5bcd76c66)", every_axis, torchtitan_flags},
    {"nanotron", "nanotron 0.4, 2026-04-07 (2411b022a7)", every_axis, nanotron_flags},
    {"deepspeed", "DeepSpeed 0.19.6, 2026-08-22 (edaa722126)", {bit(Axis::tp) | bit(Axis::cp)}, deepspeed_flags},
    {"fsdp", "LLM Foundry 0.22 (Composer's fsdp_config)", {}, fsdp_flags},
    {"maxtext", "MaxText 0.2.4, 2026-08-22 (e591f30cbb)", every_axis, maxtext_flags},
}};

const Dialect& dialect_of(const Framework& stack, std::string_view asked) {
  const std::vector<std::string>& own = stack.flags;
  const std::string wanted = !asked.empty() ? std::string(asked) : own.empty() ? "megatron" : own.front();
  const auto row = std::find_if(dialects.begin(), dialects.end(), [&](const Dialect& d) { return d.name == wanted; });
  if (row == dialects.end()) {
    throw Error("--flags",
                fmt::format("unknown launcher dialect '{}'{}", wanted, suggestion(wanted, launcher_dialects())));
  }
  if (!own.empty() && std::find(own.begin(), own.end(), wanted) == own.end()) {
    throw Error("--flags",
                fmt::format("found '{}', but the layout is for {}, which that does not configure; expected {}, "
                            "or plan for another framework",
                            wanted, stack.name, fmt::join(own, " or ")));
  }
  return *row;
}

void check_axes(const Dialect& dialect, const Layout& l) {
  const std::array degrees = {l.tp, l.cp, l.ep, 1, l.pp};
  for (std::size_t axis = 0; axis < degrees.size(); ++axis) {
    if (degrees[axis] == 1 || dialect.axes.has(axis)) continue;
    throw Error("--flags", fmt::format("{} cannot configure {} {}: it has no such key", dialect.name, axis_names[axis],
                                       degrees[axis]));
  }
}

}  // namespace

std::vector<std::string> launcher_dialects() {
  std::vector<std::string> names;
  for (const Dialect& dialect : dialects) names.emplace_back(dialect.name);
  return names;
}

std::vector<std::string> launcher_flags(const Job& job, const Layout& layout, std::string_view dialect) {
  const Dialect& row = dialect_of(job.framework, dialect);
  check_axes(row, layout);
  return row.flags(job, complete(job, layout));
}

std::string launcher_release(const Job& job, std::string_view dialect) {
  return std::string(dialect_of(job.framework, dialect).release);
}

}  // namespace meshwright::parallel
