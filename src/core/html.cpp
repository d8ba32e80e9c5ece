#include "meshwright/core/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::html {
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

constexpr double width = 640, height = 340, left = 80, bottom = 45, top = 26, right = 20;

std::string svg(double wide, double tall) {
  return fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" width="{}" height="{}">)", wide, tall, wide, tall);
}

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
  const std::string json = json_text(nlohmann::json(std::string(text)));
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
  std::string out = svg(width, height);
  for (double x = 0; x <= most_x * 1.0001; x += step_x) {
    out += line(at_x(x), top, at_x(x), height - bottom) +
           label(at_x(x), height - bottom + 16, "middle", fmt::format("{:g}", x));
  }
  for (double y = 0; y <= most_y * 1.0001; y += step_y) {
    out += line(left, at_y(y), width - right, at_y(y)) + label(left - 6, at_y(y) + 4, "end", fmt::format("{:g}", y));
  }
  out += label(width / 2, height - 8, "middle", x_title) + label(4, 11, "start", y_title);
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
  constexpr double wide = 900, row = 22, labels = 330, middle = 545, half = 200;
  const double tall = row * static_cast<double>(bars.size()) + 30;
  std::string out = svg(wide, tall);
  double y = 10;
  for (const ChartBar& b : bars) {
    for (const double end : {b.low, b.high}) {
      const double x = middle + std::min(0.0, end) / most * half, w = std::abs(end) / most * half;
      out += fmt::format(
          R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="14" fill="{}"><title>{:+.2f} %</title></rect>)", x, y,
          w, end == b.low ? "#36c" : "#c60", end * 100);
    }
    out += label(labels, y + 12, "end", b.label);
    out += label(wide - 10, y + 12, "end", fmt::format("{:+.1f} / {:+.1f} %", b.low * 100, b.high * 100));
    y += row;
  }
  out += line(middle, 0, middle, tall - 22) + label(middle, tall - 6, "middle", "low value blue, high value orange");
  return out + "</svg>\n";
}

namespace {

constexpr const char* colours[] = {"#36c", "#c60", "#393", "#a3a", "#0aa", "#963", "#666", "#c36"};

std::string number(double value) { return fmt::format("{:.17g}", value); }

}  // namespace

std::string facts_table(const std::vector<Fact>& facts) {
  std::string out = "<table>";
  for (const Fact& fact : facts) {
    const std::string data =
        fact.key.empty() ? ""
                         : fmt::format(" data-key=\"{}\" data-value=\"{}\"", escaped(fact.key), number(fact.value));
    out += fmt::format("<tr><th class=\"t\">{}</th><td class=\"t\"{}>{}</td></tr>", escaped(fact.label), data,
                       escaped(fact.text));
  }
  return out + "</table>\n";
}

std::string waterfall_chart(const std::vector<Fact>& steps, double whole, double limit, std::string_view limit_text) {
  const double most = std::max({whole, limit, 1e-300});
  constexpr double row = 22, from = 190, wide = 380, page = 760;
  const double tall = row * static_cast<double>(steps.size()) + 34;
  std::string out = svg(page, tall);
  double y = 8, done = 0;
  int colour = 0;
  for (const Fact& step : steps) {
    const double x = from + done / most * wide;
    out += label(from - 8, y + 12, "end", step.label);
    out += fmt::format(
        R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="14" fill="{}" data-key="{}" data-value="{}"><title>{}</title></rect>)",
        x, y, std::max(0.5, step.value / most * wide), colours[colour++ % std::size(colours)], escaped(step.key),
        number(step.value), escaped(step.label + ": " + step.text));
    out += label(from + wide + 12, y + 12, "start",
                 fmt::format("{}  {}", step.text, format_percent(step.value / std::max(whole, 1e-300))));
    done += step.value, y += row;
  }
  out += line(from, 2, from, y);
  if (limit > 0) {
    const double x = from + limit / most * wide;
    out += fmt::format(R"(<line x1="{:.1f}" y1="2" x2="{:.1f}" y2="{:.1f}" stroke="#b33" stroke-dasharray="4 3"/>)", x,
                       x, y);
    out += label(x, y + 14, "middle", limit_text);
  }
  return out + "</svg>\n";
}

std::string timeline_chart(const std::vector<Track>& tracks, const std::vector<std::string>& kinds) {
  double most = 1e-300;
  for (const Track& track : tracks) {
    for (const Span& span : track.spans) most = std::max(most, span.end);
  }
  const double row = tracks.size() > 24 ? 10 : 18, from = 90, wide = 660;
  const double tall = row * static_cast<double>(tracks.size()) + 46;
  std::string out = svg(from + wide + 10, tall);
  double y = 4;
  for (const Track& track : tracks) {
    if (row > 12) out += label(from - 6, y + 12, "end", track.label);
    for (const Span& span : track.spans) {
      out += fmt::format(
          R"(<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}" fill="{}" fill-opacity=".85"><title>{}</title></rect>)",
          from + span.start / most * wide, y, std::max(0.2, (span.end - span.start) / most * wide - 0.3), row - 2,
          colours[static_cast<std::size_t>(span.kind) % std::size(colours)], escaped(span.label));
    }
    y += row;
  }
  for (int tick = 0; tick <= 4; ++tick) {
    const double at = most * tick / 4;
    out += line(from + wide * tick / 4, 2, from + wide * tick / 4, y);
    out += label(from + wide * tick / 4, y + 14, tick == 4 ? "end" : "middle", format(Seconds::base(at)));
  }
  double x = from;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    out += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="10" height="10" fill="{}"/>)", x, y + 22, colours[i]);
    out += label(x + 14, y + 31, "start", kinds[i]);
    x += 30 + 7.0 * static_cast<double>(kinds[i].size());
  }
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

}  // namespace meshwright::html
