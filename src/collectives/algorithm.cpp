#include "meshwright/collectives/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "meshwright/core/error.hpp"
#include "rows.hpp"

namespace meshwright {
namespace {

std::vector<Algorithm> gather_rows() {
  std::vector<Algorithm> all;
  for (const auto rows : {rows::ring(), rows::tree(), rows::recursive(), rows::all_to_all()})
    all.insert(all.end(), rows.begin(), rows.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Algorithm& a, const Algorithm& b) { return a.collective < b.collective; });
  return all;
}

std::string letters(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> all = gather_rows();
  return all;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  const std::string wanted = letters(name);
  for (const Algorithm& row : algorithms()) {
    if (row.collective == collective && letters(row.name) == wanted) return &row;
  }
  return nullptr;
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

LevelCoefficients coefficients(const Algorithm& algorithm, const Shape& shape) {
  return algorithm.coefficients_of(shape);
}

Schedule schedule(const Algorithm& algorithm, const Shape& shape) { return algorithm.schedule_of(shape); }

std::string algorithms_markdown() {
  std::string text = "| collective | algorithm | closed form | source |\n|---|---|---|---|\n";
  for (const Algorithm& row : algorithms())
    text += fmt::format("| {} | {} | {} | {} |\n", name(row.collective), row.name, row.closed_form, row.citation);
  return text;
}

}  // namespace meshwright
