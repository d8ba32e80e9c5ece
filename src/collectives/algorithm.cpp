#include "meshwright/collectives/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/names.hpp"
#include "rows.hpp"

namespace meshwright::collectives {
namespace {

std::vector<Algorithm> gather_rows() {
  std::vector<Algorithm> all;
  for (const auto rows : {rows::ring(), rows::tree(), rows::recursive(), rows::in_switch(), rows::hierarchical(),
                          rows::torus(), rows::all_to_all()})
    all.insert(all.end(), rows.begin(), rows.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Algorithm& a, const Algorithm& b) { return a.collective < b.collective; });
  return all;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> all = gather_rows();
  return all;
}

std::span<const Algorithm> algorithms(Collective collective) {
  const std::span<const Algorithm> all = algorithms();
  // Not equal_range: its subrange doesn't compile with Clang 14 and GCC 12's library.
  return {std::ranges::lower_bound(all, collective, {}, &Algorithm::collective),
          std::ranges::upper_bound(all, collective, {}, &Algorithm::collective)};
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  const std::string wanted = folded_name(name);
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective && folded_name(row.name) == wanted) return &row;
  }
  return nullptr;
}

Called called(const Algorithm& row, std::string_view name) {
  const std::string wanted = folded_name(name);
  const auto same = [&](std::string_view spelling) { return !spelling.empty() && folded_name(spelling) == wanted; };
  if (same(row.name)) return Called::by_name;
  if (same(row.elsewhere.nccl) || same(row.elsewhere.rccl) || same(row.elsewhere.mpi)) return Called::elsewhere;
  return same(row.name.substr(0, row.name.find('_'))) ? Called::family : Called::no;
}

const Algorithm& algorithm(Collective collective, std::string_view wanted, const std::string& where) {
  if (const Algorithm* row = find_algorithm(collective, wanted)) return *row;
  std::vector<std::string> valid;
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective) valid.emplace_back(row.name);
  }
  throw Error(where,
              fmt::format("unknown algorithm '{}' for {}{}", wanted, name(collective), suggestion(wanted, valid)));
}

namespace {

int ranks_below(const Shape& shape, int level) {
  int product = 1;
  for (int i = 0; i < level; ++i) product *= shape.extent[static_cast<std::size_t>(i)];
  return product;
}

Shape shape_of(const Stage& stage, const Shape& whole) {
  return flat_shape(whole.extent[static_cast<std::size_t>(stage.level)], whole.segments);
}

}  // namespace

/// By its exact name: no allocation, closed forms are a hot path. Stages name rows of this very table; a name that
/// isn't there is a bug that the tests find.
const Algorithm& row_of(const Stage& stage) {
  for (const Algorithm& row : algorithms(stage.collective)) {
    if (row.name == stage.algorithm && row.stages.empty()) return row;
  }
  throw Error("algorithm table", fmt::format("no row '{}' for a stage", stage.algorithm));
}

LevelCoefficients coefficients(const Algorithm& row, const Shape& shape) {
  if (row.stages.empty()) return row.coefficients_of(shape);
  LevelCoefficients sum{};
  for (const Stage& stage : row.stages) {
    if (shape.extent[static_cast<std::size_t>(stage.level)] == 1) continue;
    const Coefficients flat = row_of(stage).coefficients_of(shape_of(stage, shape))[0];
    Coefficients& level = sum[static_cast<std::size_t>(stage.level)];
    level = level + scaled(flat, Ratio(1, ranks_below(shape, stage.level)));
  }
  return sum;
}

Schedule schedule(const Algorithm& row, const Shape& shape) {
  if (row.stages.empty()) return row.schedule_of(shape);
  std::vector<std::pair<int, Schedule>> flat;
  Schedule whole{.collective = row.collective, .shape = shape};
  for (const Stage& stage : row.stages) {
    if (shape.extent[static_cast<std::size_t>(stage.level)] == 1) continue;
    flat.emplace_back(stage.level, row_of(stage).schedule_of(shape_of(stage, shape)));
    whole.chunks = std::max(whole.chunks, ranks_below(shape, stage.level) * flat.back().second.chunks);
  }
  for (const auto& [level, stage] : flat) append_stage(whole, stage, level);
  return whole;
}

std::string algorithms_markdown() {
  std::string text =
      "| collective | algorithm | closed form | source | NCCL | RCCL | Open MPI |\n|---|---|---|---|---|---|---|\n";
  for (const Algorithm& row : algorithms())
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", name(row.collective), row.name, row.closed_form,
                        row.citation, row.elsewhere.nccl, row.elsewhere.rccl, row.elsewhere.mpi);
  return text;
}

}  // namespace meshwright::collectives
