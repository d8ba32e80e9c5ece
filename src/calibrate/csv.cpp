#include "calibrate/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "meshwright/core/error.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::calibrate {
namespace {

std::string_view trimmed(std::string_view field) {
  const std::size_t first = field.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view{}
                                         : field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

/// Column names for a message: the first few, fit for a terminal.
std::string listed(const std::vector<std::string_view>& names) {
  constexpr std::size_t most = 20;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) shown.push_back(printable(names[i]));
  if (names.size() > most) shown.push_back(fmt::format("... ({} in all)", names.size()));
  return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace

CsvTable::CsvTable(const std::filesystem::path& path) : CsvTable(read_file(path), path.string()) {}

CsvTable::CsvTable(std::string content, std::string name) : name_(std::move(name)), content_(std::move(content)) {
  if (content_.starts_with("\xef\xbb\xbf")) position_ = 3;
  if (!read_row()) throw Error(name_, "empty; expected a header line with column names");
  header_ = fields_;
}

/// The rest of a quoted field after its opening quote. Doubled quotes are closed up in place: the text only shrinks.
std::string_view CsvTable::read_quoted() {
  const std::size_t first = position_;
  std::size_t end = first;
  for (; position_ < content_.size(); ++position_) {
    const char c = content_[position_];
    if (c == '\n') ++line_;
    if (c == '"') {
      ++position_;
      if (position_ >= content_.size() || content_[position_] != '"') {
        return std::string_view(content_).substr(first, end - first);
      }
    }
    content_[end++] = c;
  }
  throw Error(where(), "a quoted field is not closed; expected '\"' before the end of the file");
}

/// One field, up to the comma or line end after it, which stays.
std::string_view CsvTable::read_field() {
  const std::size_t first = std::min(content_.find_first_not_of(" \t", position_), content_.size());
  if (first < content_.size() && content_[first] == '"') {
    position_ = first + 1;
    const std::string_view field = read_quoted();
    position_ = std::min(content_.find_first_not_of(" \t\r", position_), content_.size());
    if (position_ < content_.size() && content_[position_] != ',' && content_[position_] != '\n')
      throw Error(where(), fmt::format("'{}' after a quoted field; expected a comma or the end of the line",
                                       printable(std::string_view(content_).substr(position_, 10))));
    return field;
  }
  const std::size_t end = std::min(content_.find_first_of(",\n", position_), content_.size());
  std::string_view field = std::string_view(content_).substr(position_, end - position_);
  position_ = end;
  if (field.ends_with('\r')) field.remove_suffix(1);
  return trimmed(field);
}

bool CsvTable::read_row() {
  while (position_ < content_.size()) {
    row_line_ = line_;
    fields_.clear();
    fields_.push_back(read_field());
    while (position_ < content_.size() && content_[position_] == ',') {
      ++position_;
      fields_.push_back(read_field());
    }
    if (position_ < content_.size()) ++position_, ++line_;
    if (fields_.size() > 1 || !fields_[0].empty()) return true;
  }
  return false;
}

bool CsvTable::has(std::string_view name) const { return std::ranges::find(header_, name) != header_.end(); }

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found == header_.end()) throw Error(name_ + ":1", fmt::format("no column '{}'; found {}", name, listed(header_)));
  return static_cast<std::size_t>(found - header_.begin());
}

bool CsvTable::next() {
  if (!read_row()) return false;
  if (fields_.size() != header_.size())
    throw Error(where(), fmt::format("{} fields; expected {} as in the header", fields_.size(), header_.size()));
  return true;
}

double CsvTable::number(std::size_t column, double least, double most) const {
  const std::optional<double> value = parse_number(fields_[column]);
  if (!value || *value < least || *value > most)
    throw Error(where(), fmt::format("{} is '{}'; expected a number of {:g} to {:g}", printable(header_[column]),
                                     printable(fields_[column]), least, most));
  return *value;
}

std::string CsvTable::where() const { return fmt::format("{}:{}", name_, row_line_); }

}  // namespace meshwright::calibrate
