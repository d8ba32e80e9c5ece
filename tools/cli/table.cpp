#include "table.hpp"

#include <algorithm>
#include <cmath>

#include "output.hpp"
#include "terminal.hpp"

namespace meshwright::cli {
namespace {

constexpr std::size_t usual_width = 100;

bool is_heading(const std::vector<std::string>& row) { return row.size() == 1 && row[0].starts_with('\n'); }

std::string_view word_at(std::string_view text, std::size_t begin) {
  return text.substr(begin, text.find(' ', begin) - begin);
}

/// Where the word begins that `at` stands in or behind.
std::size_t word_begin(std::string_view text, std::size_t at) {
  const std::size_t space = at == 0 ? std::string_view::npos : text.rfind(' ', at - 1);
  return space == std::string_view::npos ? 0 : space + 1;
}

bool has_digit(std::string_view word) { return word.find_first_of("0123456789") != std::string_view::npos; }

/// "-87.2", "150": a word with a unit behind it.
bool is_number(std::string_view word) {
  const std::size_t sign = word.starts_with('-') || word.starts_with('+') ? 1 : 0;
  return word.size() > sign && has_digit(word.substr(sign, 1));
}

/// How much of the first `kept` bytes can be shown: a figure stands there with its unit, or not at all.
std::size_t without_half_figures(std::string_view text, std::size_t kept) {
  constexpr std::size_t longest = 12;  // words beyond are names, which may be cut
  const std::size_t begin = word_begin(text, kept);
  const std::string_view word = word_at(text, begin);
  if (begin == 0 || word.size() > longest) return kept;
  const std::size_t before = word_begin(text, begin - 1);
  if (before > 0 && is_number(word_at(text, before)) && begin + word.size() > kept) return before;
  const bool cuts = begin + word.size() > kept;
  return (cuts && has_digit(word)) || is_number(word) ? begin : kept;
}

/// The first `width` columns of a UTF-8 text, its last one an ellipsis.
std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t kept = 0;
  for (std::size_t columns = 0; kept < text.size() && columns + 1 < width; ++columns) {
    ++kept;
    while (kept < text.size() && (text[kept] & 0xC0) == 0x80) ++kept;
  }
  return text.substr(0, without_half_figures(text, kept)) + "…";
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t used = display_width(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return align == Align::left ? text + space : space + text;
}

void trim_right(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t style = style_at(text.substr(at));
    width += style == 0 && (text[at] & 0xC0) != 0x80 ? 1 : 0;
    at += std::max<std::size_t>(1, style);
  }
  return width;
}

std::string bold(std::string_view text) { return marked(text, "1"); }
std::string dim(std::string_view text) { return marked(text, "2"); }
std::string yellow(std::string_view text) { return marked(text, "33"); }

std::string bar(double fraction, std::size_t width) {
  if (!(fraction > 0)) return "";
  const std::size_t missing = usual_width - std::min(usual_width, terminal().width);
  width -= std::min(missing, width / 2);
  const auto blocks = static_cast<std::size_t>(std::lround(std::min(1.0, fraction) * static_cast<double>(width)));
  std::string out;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, blocks); ++i) out += "█";
  return out;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  if (width == 0) width = std::min(usual_width, terminal().width);
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

namespace {

/// Takes columns from the widest text column that may be `narrowed`, one at a time, until the table fits.
template <class May>
void narrow(std::vector<std::size_t>& widths, const std::vector<Column>& columns, std::size_t width, May narrowed) {
  constexpr std::size_t least = 12;
  std::size_t sum = 2 * (columns.empty() ? 0 : columns.size() - 1);
  for (const std::size_t w : widths) sum += w;
  for (; sum > width; --sum) {
    std::size_t victim = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool wider = victim == columns.size() || widths[c] > widths[victim];
      if (columns[c].align == Align::left && widths[c] > least && wider && narrowed(c)) victim = c;
    }
    if (victim == columns.size()) break;
    --widths[victim];
  }
}

/// A cell's lines: cut to its column, or folded at spaces.
std::vector<std::string> lines_of(const std::string& cell, std::size_t width, bool folds) {
  if (!folds || display_width(cell) <= width) return {cut(cell, width)};
  std::vector<std::string> lines;
  const std::string wrapped = wrap(cell, 0, width);
  for (std::size_t at = 0; at < wrapped.size();) {
    const std::size_t end = wrapped.find('\n', at);
    lines.push_back(cut(wrapped.substr(at, end - at), width));
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string Table::render(std::size_t width) const {
  const bool cuts = width > 0 || terminal().bounded;
  if (width == 0) width = terminal().width;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = display_width(columns_[c].head);
    for (const auto& row : rows_) {
      if (!is_heading(row)) widest = std::max(widest, display_width(row[c]));
    }
    widths.push_back(widest);
  }
  narrow(widths, columns_, width, [&](std::size_t c) { return cuts || c == folded_; });
  std::size_t sum = 2 * (columns_.empty() ? 0 : columns_.size() - 1);
  for (const std::size_t w : widths) sum += w;
  const std::string gap(cuts && sum > width ? 1 : 2, ' ');  // figures are never cut
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      out += (c == 0 ? "" : gap) + padded(cells[c], widths[c], columns_[c].align);
    trim_right(out);
    return out;
  };
  const auto block = [&](const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> lines;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::vector<std::string> own = lines_of(cells[c], widths[c], c == folded_);
      if (lines.size() < own.size()) lines.resize(own.size(), std::vector<std::string>(columns_.size()));
      for (std::size_t i = 0; i < own.size(); ++i) lines[i][c] = own[i];
    }
    std::string out;
    for (const auto& one : lines) out += (out.empty() ? "" : "\n") + line(one);
    return out;
  };
  std::vector<std::string> heads;
  for (const Column& column : columns_) heads.push_back(column.head);
  std::string out = bold(block(heads)) + "\n";
  for (const auto& row : rows_) out += is_heading(row) ? row[0] + "\n" : block(row) + "\n";
  return out;
}

}  // namespace meshwright::cli
