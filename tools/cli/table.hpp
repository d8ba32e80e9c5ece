#pragma once
// Tables for people: aligned, as wide as the terminal (as wide as they need in a pipe), bold heads on a terminal.
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::cli {

enum class Align { left, right };
struct Column {
  std::string head;
  Align align = Align::right;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell a column; missing cells are empty.
  void add(std::vector<std::string> cells);
  /// A line that starts a group of rows.
  void add_heading(std::string text);
  bool empty() const { return rows_.empty(); }
  /// The text, with two spaces between columns; where a line would pass `width` (0 = the terminal's), the widest
  /// left-aligned columns are cut or, with `folded` cells, go on in further lines. A pipe gets nothing cut.
  std::string render(std::size_t width = 0) const;
  /// Cells of column `column` that are too wide go on below instead of being cut.
  Table& fold(std::size_t column) {
    folded_ = column;
    return *this;
  }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // a heading is a row of one cell with a leading '\n'
  std::size_t folded_ = static_cast<std::size_t>(-1);
};

std::string bold(std::string_view text);
std::string dim(std::string_view text);
std::string yellow(std::string_view text);
/// A bar of block characters for `fraction` of `width` columns, at least one for anything above zero; shorter where the
/// terminal has fewer than 100 columns.
std::string bar(double fraction, std::size_t width);
/// Columns that a UTF-8 text takes on the screen.
std::size_t display_width(std::string_view text);
/// Text broken at spaces into lines of at most `width`, each after `indent` spaces.
/// 0 = the terminal's width, at most 100.
std::string wrap(std::string_view text, std::size_t indent = 0, std::size_t width = 0);

}  // namespace meshwright::cli
