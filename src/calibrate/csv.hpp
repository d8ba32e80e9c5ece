#pragma once
// A table of comma-separated values without quoting: header, then rows of as many fields.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::calibrate {

class CsvTable {
 public:
  /// Reads the whole file (plain or .gz). Error where it is empty.
  explicit CsvTable(const std::filesystem::path& path);
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  /// Index of a column; Error names the columns that there are.
  std::size_t column(std::string_view name) const;
  bool has(std::string_view name) const;
  /// Moves to the next row; false at the end. Error where its number of fields differs from the header's.
  bool next();
  std::string_view text(std::size_t column) const { return fields_[column]; }
  /// A finite number of at least `least`.
  double number(std::size_t column, double least) const;
  std::string where() const;  ///< "path:LINE"

 private:
  void split(std::string_view line);
  std::string path_, content_;
  std::size_t position_ = 0;
  long line_ = 0;
  std::vector<std::string_view> header_, fields_;
};

}  // namespace meshwright::calibrate
