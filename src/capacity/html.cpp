#include "capacity/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace meshwright::capacity {
namespace {

constexpr std::string_view style = R"(
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid #8884}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}
th,td{padding:.25rem .6rem;border-bottom:1px solid #8883;text-align:right;vertical-align:top}
th{font-weight:600}.t{text-align:left}.best{font-weight:600}.no{color:#b33}.small{font-size:.85rem;opacity:.8}
svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}
details{margin:.4rem 0}summary{cursor:pointer}
@media print{body{margin:0;max-width:none}.more{break-before:page}}
.card{border:1px solid #8884;border-radius:.5rem;padding:.7rem 1rem;margin:.6rem 0}
)";

/// A round number of which a few make `most`.
double tick_of(double most) {
  const double raw = most / 5, power = std::pow(10, std::floor(std::log10(raw)));
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    if (step * power >= raw) return step * power;
  }
  return 10 * power;
}

constexpr double width = 640, height = 340, left = 80, bottom = 45, top = 15, right = 20;

std::string line(double x1, double y1, double x2, double y2) {
  return fmt::format(
      R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="currentColor" stroke-opacity=".25"/>)", x1, y1,
      x2, y2);
}

std::string label(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor, escaped(text));
}

}  // namespace

std::string escaped(std::string_view text) {
  // nlohmann's writer replaces broken UTF-8; what is left to escape is ASCII.
  const std::string json =
      nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string clean = nlohmann::json::parse(json).get<std::string>();
  std::string out;
  for (const char c : clean) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 32 ? std::string(" ") : std::string(1, c);
    }
  }
  return out;
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, std::size_t text_columns) {
  std::string out = "<table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const char* tag = r == 0 ? "th" : "td";
      out += fmt::format("<{}{}>{}</{}>", tag, c < text_columns ? " class=\"t\"" : "", escaped(rows[r][c]), tag);
    }
    out += "</tr>";
  }
  return out + "</table>\n";
}

std::string scatter_chart(const std::vector<ChartPoint>& points, std::string_view x_title, std::string_view y_title) {
  if (points.empty()) return "";
  double most_x = 0, most_y = 0;
  for (const ChartPoint& p : points) most_x = std::max(most_x, p.x), most_y = std::max(most_y, p.y);
  const double step_x = tick_of(std::max(most_x, 1e-12)), step_y = tick_of(std::max(most_y, 1e-12));
  most_x = std::ceil(most_x / step_x) * step_x, most_y = std::ceil(most_y / step_y) * step_y;
  const auto at_x = [&](double x) { return left + x / most_x * (width - left - right); };
  const auto at_y = [&](double y) { return height - bottom - y / most_y * (height - bottom - top); };
  std::string out =
      fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" width="{}" height="{}">)", width, height, width, height);
  for (double x = 0; x <= most_x * 1.0001; x += step_x) {
    out += line(at_x(x), top, at_x(x), height - bottom) +
           label(at_x(x), height - bottom + 16, "middle", fmt::format("{:g}", x));
  }
  for (double y = 0; y <= most_y * 1.0001; y += step_y) {
    out += line(left, at_y(y), width - right, at_y(y)) + label(left - 6, at_y(y) + 4, "end", fmt::format("{:g}", y));
  }
  out += label(width / 2, height - 8, "middle", x_title) + label(left, 11, "middle", y_title);
  for (const ChartPoint& p : points) {
    out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}"><title>{}</title></circle>)", at_x(p.x),
                       at_y(p.y), p.marked ? 6 : 4, p.marked ? "#c60" : "#36c", escaped(p.label));
    if (p.marked)
      out += label(at_x(p.x) + (p.x < most_x / 2 ? 9 : -9), at_y(p.y) - 6, p.x < most_x / 2 ? "start" : "end", p.label);
  }
  return out + "</svg>\n";
}

std::string tornado_chart(const std::vector<ChartBar>& bars) {
  if (bars.empty()) return "";
  double most = 1e-9;
  for (const ChartBar& b : bars) most = std::max({most, std::abs(b.low), std::abs(b.high)});
  constexpr double row = 22, middle = 430, half = 200;
  const double tall = row * static_cast<double>(bars.size()) + 30;
  std::string out = fmt::format(R"(<svg viewBox="0 0 760 {}" role="img" width="760" height="{}">)", tall, tall);
  double y = 10;
  for (const ChartBar& b : bars) {
    for (const double end : {b.low, b.high}) {
      const double x = middle + std::min(0.0, end) / most * half, w = std::abs(end) / most * half;
      out += fmt::format(
          R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="14" fill="{}"><title>{:+.2f} %</title></rect>)", x, y,
          w, end == b.low ? "#36c" : "#c60", end * 100);
    }
    out += label(215, y + 12, "end", b.label);
    out += label(750, y + 12, "end", fmt::format("{:+.1f} / {:+.1f} %", b.low * 100, b.high * 100));
    y += row;
  }
  out += line(middle, 0, middle, tall - 22) + label(middle, tall - 6, "middle", "low value blue, high value orange");
  return out + "</svg>\n";
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
      "<meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{}</title><style>{}</style></head>\n<body>\n{}</body></html>\n",
      escaped(title), style, body);
}

}  // namespace meshwright::capacity
