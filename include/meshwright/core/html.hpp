#pragma once
// Pieces of an HTML page: escaped text, tables, charts as SVG. No scripts.
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::html {

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

/// One figure of a page: what a person reads, and the very number that the JSON of the same answer has under `key`.
struct Fact {
  std::string label, key;
  double value = 0;
  std::string text;
};
/// A table of facts; each cell carries its number (data-key, data-value).
std::string facts_table(const std::vector<Fact>& facts);

/// Facts as steps from zero to `whole`, each beginning where the one before ends, with share and number; a line at
/// `limit`, if any. Numbers as those of facts.
std::string waterfall_chart(const std::vector<Fact>& steps, double whole, double limit = 0,
                            std::string_view limit_text = "");

struct Span {
  double start = 0, end = 0;
  int kind = 0;  ///< its colour, in the order of `kinds`
  std::string label;
};
struct Track {
  std::string label;
  std::vector<Span> spans;
};
/// What happens when, a track a row.
std::string timeline_chart(const std::vector<Track>& tracks, const std::vector<std::string>& kinds);

/// The page around `body`.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace meshwright::html
