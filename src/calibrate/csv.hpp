#pragma once
// A table of comma-separated values (RFC 4180): a header, then rows of as many fields.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::calibrate {

/// Fields may be quoted, and then hold commas, line ends and doubled quotes; blanks around a field, a byte-order mark,
/// \r\n and blank lines are no part of the table. Numbers are read the same in every locale.
class CsvTable {
 public:
  /// Reads the whole file (plain or .gz). Error where it is empty.
  explicit CsvTable(const std::filesystem::path& path);
  /// The same from text; `name` stands for the file in messages.
  CsvTable(std::string content, std::string name);
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  /// Index of a column; Error names the columns that there are.
  std::size_t column(std::string_view name) const;
  bool has(std::string_view name) const;
  /// Moves to the next row; false at the end. Error where its number of fields differs from the header's.
  bool next();
  std::string_view text(std::size_t column) const { return fields_[column]; }
  /// A finite number within [least, most].
  double number(std::size_t column, double least, double most = 1e12) const;
  std::string where() const;  ///< "path:LINE", the line that the row begins in

 private:
  bool read_row();
  std::string_view read_field();
  std::string_view read_quoted();
  std::string name_, content_;
  std::size_t position_ = 0;
  long line_ = 1, row_line_ = 1;  ///< of the position, of the row
  std::vector<std::string_view> header_, fields_;
};

}  // namespace meshwright::calibrate
