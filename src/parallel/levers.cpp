#include "meshwright/parallel/levers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {
namespace {

constexpr std::size_t near_enough = 200;  ///< layouts that are timed

std::string value_of(const LayoutField& field, const Layout& layout) {
  const int value = field.get(layout);
  if (field.row_name != nullptr) return std::string(field.row_name(layout));
  if (field.is_switch) return value != 0 ? "on" : "off";
  const bool named = value >= 0 && static_cast<std::size_t>(value) < field.names.size();
  return named ? std::string(field.names[static_cast<std::size_t>(value)]) : fmt::format("{}", value);
}

/// "tp 4 instead of 8, dp 16 instead of 8"
std::string change_between(const Layout& before, const Layout& after) {
  std::string words;
  for (const LayoutField& field : layout_fields()) {
    const std::string now = value_of(field, after), then = value_of(field, before);
    if (now == then) continue;
    words += fmt::format("{}{} {} instead of {}", words.empty() ? "" : ", ", field.key, now, then);
  }
  const char* other = before.stages != after.stages ? "stages" : "order";
  return words.empty() ? fmt::format("other {}", other) : words;
}

}  // namespace

std::vector<Lever> memory_levers(const Job& job, const Layout& layout, std::size_t count) {
  const Layout before = complete(job, layout);
  Tables tables(job);
  std::vector<Lever> levers;
  for (const Layout& near : nearest_layouts(job, layout, near_enough)) {
    Prediction p = predict(job, near, tables);
    if (p.fits_probability < 0.5) continue;
    std::string change = change_between(before, p.layout);
    levers.push_back({std::move(change), std::move(p)});
  }
  std::ranges::stable_sort(levers, {}, [](const Lever& lever) { return lever.prediction.step_time; });
  std::vector<Lever> worth;
  for (Lever& lever : levers) {
    const Bytes least = worth.empty() ? lever.prediction.memory.reserved : worth.back().prediction.memory.reserved;
    if (worth.size() < count && (worth.empty() || lever.prediction.memory.reserved < least))
      worth.push_back(std::move(lever));
  }
  return worth;
}

}  // namespace meshwright::parallel
