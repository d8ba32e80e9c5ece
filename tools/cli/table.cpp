#include "table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "output.hpp"

namespace meshwright::cli {
namespace {

std::string styled(std::string_view text, std::string_view code) {
  if (!is_terminal()) return std::string(text);
  return marked(text, code);
}

bool is_heading(const std::vector<std::string>& row) { return row.size() == 1 && row[0].starts_with('\n'); }

// The first `width` columns of a UTF-8 text, its last one an ellipsis.
std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::string out;
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size() && columns + 1 < width; ++columns) {
    std::size_t next = i + 1;
    while (next < text.size() && (text[next] & 0xC0) == 0x80) ++next;
    out += text.substr(i, next - i);
    i = next;
  }
  return out + "…";
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t used = display_width(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return align == Align::left ? text + space : space + text;
}

void trim_right(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_terminal() {
  static const bool terminal = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return terminal;
}
std::string bold(std::string_view text) { return styled(text, "1"); }
std::string dim(std::string_view text) { return styled(text, "2"); }
std::string yellow(std::string_view text) { return styled(text, "33"); }

std::string bar(double fraction, std::size_t width) {
  if (!(fraction > 0)) return "";
  const auto blocks = static_cast<std::size_t>(std::lround(std::min(1.0, fraction) * static_cast<double>(width)));
  std::string out;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, blocks); ++i) out += "█";
  return out;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  const std::string margin(indent, ' ');
  std::string out, line;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = text.find(' ', start);
    if (end == std::string_view::npos) end = text.size();
    const std::string word(text.substr(start, end - start));
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > width) {
      out += margin + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    start = end + 1;
  }
  return out + margin + line + "\n";
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::add_heading(std::string text) { rows_.push_back({"\n" + std::move(text)}); }

std::string Table::render(std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = display_width(columns_[c].head);
    for (const auto& row : rows_) {
      if (!is_heading(row)) widest = std::max(widest, display_width(row[c]));
    }
    widths.push_back(widest);
  }
  std::size_t sum = 2 * (columns_.empty() ? 0 : columns_.size() - 1);
  for (const std::size_t w : widths) sum += w;
  for (; sum > width; --sum) {  // take columns from the widest text column, one at a time
    std::size_t victim = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool wider = victim == columns_.size() || widths[c] > widths[victim];
      if (columns_[c].align == Align::left && widths[c] > 12 && wider) victim = c;
    }
    if (victim == columns_.size()) break;
    --widths[victim];
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      out += (c == 0 ? "" : "  ") + padded(cut(cells[c], widths[c]), widths[c], columns_[c].align);
    }
    trim_right(out);
    return out;
  };
  std::vector<std::string> heads;
  for (const Column& column : columns_) heads.push_back(column.head);
  std::string out = bold(line(heads)) + "\n";
  for (const auto& row : rows_) out += is_heading(row) ? row[0] + "\n" : line(row) + "\n";
  return out;
}

}  // namespace meshwright::cli
