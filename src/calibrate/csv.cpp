#include "calibrate/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "meshwright/core/error.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::calibrate {

CsvTable::CsvTable(const std::filesystem::path& path) : path_(path.string()), content_(read_file(path)) {
  if (content_.empty()) throw Error(path_, "empty; expected a header line with column names");
  const std::size_t end = std::min(content_.find('\n'), content_.size());
  split(std::string_view(content_).substr(0, end));
  header_ = fields_;
  position_ = end + 1;
  line_ = 1;
}

void CsvTable::split(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  fields_.clear();
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t comma = std::min(line.find(',', from), line.size());
    fields_.push_back(line.substr(from, comma - from));
    from = comma + 1;
  }
}

bool CsvTable::has(std::string_view name) const { return std::ranges::find(header_, name) != header_.end(); }

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end())
    throw Error(path_ + ":1", fmt::format("no column '{}'; found {}", name, fmt::join(header_, ", ")));
  return static_cast<std::size_t>(found - header_.begin());
}

bool CsvTable::next() {
  while (position_ < content_.size()) {
    const std::size_t end = std::min(content_.find('\n', position_), content_.size());
    const std::string_view line = std::string_view(content_).substr(position_, end - position_);
    position_ = end + 1;
    ++line_;
    if (line.empty() || line == "\r") continue;
    split(line);
    if (fields_.size() != header_.size())
      throw Error(where(), fmt::format("{} fields; expected {} as in the header", fields_.size(), header_.size()));
    return true;
  }
  return false;
}

double CsvTable::number(std::size_t column, double least) const {
  const std::string_view field = fields_[column];
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(value) || value < least)
    throw Error(where(), fmt::format("{} is '{}'; expected a number of at least {:g}", header_[column], field, least));
  return value;
}

std::string CsvTable::where() const { return fmt::format("{}:{}", path_, line_); }

}  // namespace meshwright::calibrate
