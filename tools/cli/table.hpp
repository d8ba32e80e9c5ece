#pragma once
// Tables for people: aligned, at most 100 columns, bold heads on a terminal and plain in a pipe.
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
  /// The text, with two spaces between columns; the widest left-aligned column is cut where a line would pass `width`.
  std::string render(std::size_t width = 100) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // a heading is a row of one cell with a leading '\n'
};

/// True where stdout is a terminal and NO_COLOR is unset.
bool is_terminal();
std::string bold(std::string_view text);
std::string dim(std::string_view text);
std::string yellow(std::string_view text);
/// A bar of block characters for `fraction` of `width` columns, at least one for anything above zero.
std::string bar(double fraction, std::size_t width);
/// Columns that a UTF-8 text takes on the screen.
std::size_t display_width(std::string_view text);
/// Text broken at spaces into lines of at most `width`, each after `indent` spaces.
std::string wrap(std::string_view text, std::size_t indent = 0, std::size_t width = 100);

}  // namespace meshwright::cli
