#pragma once
// Pieces of an HTML page: escaped text, tables, charts as SVG. No scripts.
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::capacity {

/// `text` with everything that HTML reads as markup escaped, control characters and broken UTF-8 replaced.
std::string escaped(std::string_view text);

/// One row of cells; the first row of a table is its head. `numeric` columns are right-aligned: all but the first.
std::string html_table(const std::vector<std::vector<std::string>>& rows, std::size_t text_columns = 1);

struct ChartPoint {
  double x = 0, y = 0;
  std::string label;
  bool marked = false;
};
/// Points with labels; x and y from zero on.
std::string scatter_chart(const std::vector<ChartPoint>& points, std::string_view x_title, std::string_view y_title);

struct ChartBar {
  std::string label, low_text, high_text;
  double low = 0, high = 0;  ///< relative change at either end
};
/// A tornado: bars from low to high around zero.
std::string tornado_chart(const std::vector<ChartBar>& bars);

/// The page around `body`.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace meshwright::capacity
