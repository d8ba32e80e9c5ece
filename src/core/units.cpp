#include "meshwright/core/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "core/units_detail.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/names.hpp"

namespace meshwright {
namespace {

struct Unit {
  std::string_view text;
  double factor;
};

// Every spelling that a dimension takes, the usual one first: it is the one that error messages name.
constexpr Unit bytes_units[] = {{"GB", 1e9},
                                {"B", 1},
                                {"kB", 1e3},
                                {"KB", 1e3},
                                {"MB", 1e6},
                                {"TB", 1e12},
                                {"PB", 1e15},
                                {"KiB", 1024.0},
                                {"MiB", 1048576.0},
                                {"GiB", 1073741824.0},
                                {"TiB", 1099511627776.0}};
constexpr Unit seconds_units[] = {{"s", 1},        {"ms", 1e-3},      {"us", 1e-6},         {"µs", 1e-6},
                                  {"ns", 1e-9},    {"min", 60},       {"h", 3600},          {"d", 86400},
                                  {"days", 86400}, {"y", 31557600.0}, {"minutes", 60},      {"hours", 3600},
                                  {"day", 86400},  {"weeks", 604800}, {"year", 31557600.0}, {"years", 31557600.0}};
constexpr Unit flops_units[] = {{"TFLOP", 1e12}, {"FLOP", 1},     {"MFLOP", 1e6}, {"GFLOP", 1e9},
                                {"PFLOP", 1e15}, {"EFLOP", 1e18}, {"ZFLOP", 1e21}};
constexpr Unit rate_units[] = {{"GB/s", 1e9},
                               {"Gb/s", 1.25e8},
                               {"Gbit/s", 1.25e8},
                               {"Gbps", 1.25e8},
                               {"B/s", 1},
                               {"kB/s", 1e3},
                               {"MB/s", 1e6},
                               {"TB/s", 1e12},
                               {"PB/s", 1e15},
                               {"b/s", 0.125},
                               {"Mb/s", 1.25e5},
                               {"Tb/s", 1.25e11},
                               {"Mbit/s", 1.25e5},
                               {"Tbit/s", 1.25e11},
                               {"GiB/s", 1073741824.0},
                               {"MiB/s", 1048576.0},
                               {"TiB/s", 1099511627776.0}};
constexpr Unit flop_rate_units[] = {{"TFLOP/s", 1e12}, {"FLOP/s", 1},    {"GFLOP/s", 1e9}, {"PFLOP/s", 1e15},
                                    {"EFLOP/s", 1e18}, {"TFLOPS", 1e12}, {"PFLOPS", 1e15}, {"MFLOP/s", 1e6}};
constexpr Unit watt_units[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {"GW", 1e9}, {"mW", 1e-3}};
constexpr Unit joule_units[] = {{"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"kWh", 3.6e6}, {"MWh", 3.6e9}, {"pJ", 1e-12}};
constexpr Unit dollar_units[] = {{"$", 1},       {"USD", 1},     {"k$", 1e3},   {"M$", 1e6},
                                 {"B$", 1e9},    {"kUSD", 1e3},  {"MUSD", 1e6}, {"BUSD", 1e9},
                                 {"k USD", 1e3}, {"M USD", 1e6}, {"B USD", 1e9}};
constexpr Unit hertz_units[] = {{"Hz", 1}, {"kHz", 1e3},       {"MHz", 1e6},        {"GHz", 1e9},
                                {"/s", 1}, {"/h", 1.0 / 3600}, {"/d", 1.0 / 86400}, {"/y", 1.0 / 31557600.0}};
constexpr Unit second_per_byte_units[] = {{"s/B", 1}, {"us/B", 1e-6}, {"ns/B", 1e-9}, {"ps/B", 1e-12}};
constexpr Unit dollar_rate_units[] = {
    {"$/h", 1.0 / 3600},         {"USD/h", 1.0 / 3600},     {"$/y", 1.0 / 31557600.0},
    {"USD/y", 1.0 / 31557600.0}, {"$/hour", 1.0 / 3600},    {"USD/hour", 1.0 / 3600},
    {"$/GPU-h", 1.0 / 3600},     {"USD/GPU-h", 1.0 / 3600}, {"USD/GPU-hour", 1.0 / 3600}};
constexpr Unit dollar_energy_units[] = {{"$/kWh", 1 / 3.6e6},          {"USD/kWh", 1 / 3.6e6},
                                        {"$/MWh", 1 / 3.6e9},          {"USD/MWh", 1 / 3.6e9},
                                        {"$/kW-month", 1 / 2629800e3}, {"USD/kW-month", 1 / 2629800e3}};

struct UnitFamily {
  Dimension dimension;
  std::string_view noun;
  std::span<const Unit> units;
  /// In base units: beyond anything real, and products and ratios of a few such values are finite. Zero is allowed.
  double least, most;
};

const UnitFamily& family(Dimension d) {
  static constexpr std::array families = {
      UnitFamily{Bytes::dimension, "a size", bytes_units, 1e-6, 1e24},
      UnitFamily{Seconds::dimension, "a time", seconds_units, 1e-18, 1e15},
      UnitFamily{Flops::dimension, "an amount of work", flops_units, 1e-6, 1e36},
      UnitFamily{BytesPerSecond::dimension, "a bandwidth", rate_units, 1e-3, 1e18},
      UnitFamily{FlopsPerSecond::dimension, "a compute rate", flop_rate_units, 1, 1e24},
      UnitFamily{Watts::dimension, "a power", watt_units, 1e-9, 1e15},
      UnitFamily{Joules::dimension, "an energy", joule_units, 1e-18, 1e24},
      UnitFamily{Dollars::dimension, "an amount of money", dollar_units, 1e-9, 1e18},
      UnitFamily{Hertz::dimension, "a rate", hertz_units, 1e-15, 1e18},
      UnitFamily{SecondsPerByte::dimension, "a time per byte", second_per_byte_units, 1e-21, 1e3},
      UnitFamily{DollarsPerSecond::dimension, "a price per time", dollar_rate_units, 1e-15, 1e15},
      UnitFamily{DollarsPerJoule::dimension, "a price of energy", dollar_energy_units, 1e-15, 1e6},
  };
  for (const UnitFamily& f : families) {
    if (f.dimension == d) return f;
  }
  throw std::logic_error("no units are known for this dimension");
}

std::string expected_units(const UnitFamily& f) {
  std::string list;
  for (std::size_t i = 0; i < f.units.size() && i < 4; ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", f.units[i].text);
  return fmt::format("{} with a unit ({}, ...)", f.noun, list);
}

bool is_money(const UnitFamily& f) { return f.units.front().text.find('$') != std::string_view::npos; }

/// What is left of "$/h" and "M$" in "$2.50/h" and "$4.7M"; a unit without '$' stays.
std::string_view around_dollar(std::string_view unit) {
  if (unit.starts_with('$')) return unit.substr(1);
  return unit.ends_with('$') ? unit.substr(0, unit.size() - 1) : unit;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A finite, non-negative number at the start of `text`, which loses it; NaN where there is none.
double take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nan("");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

double bounded(double value, const UnitFamily& f, std::string_view text, const std::string& where) {
  if (value == 0 || (value >= f.least && value <= f.most)) return value;
  const Unit& usual = f.units[0];
  throw Error(where, fmt::format("found '{}', expected {} from {:g} to {:g} {}", text, f.noun, f.least / usual.factor,
                                 f.most / usual.factor, usual.text));
}

}  // namespace

double parse_in_base_units(std::string_view text, Dimension dimension, const std::string& where) {
  const UnitFamily& f = family(dimension);
  std::string_view rest = trimmed(text);
  const bool dollar_first = !rest.empty() && rest.front() == '$' && is_money(f);
  if (dollar_first) rest = trimmed(rest.substr(1));
  const double number = take_number(rest);
  if (!std::isfinite(number) || number < 0) {
    throw Error(where, fmt::format("found '{}', expected {}", text, expected_units(f)));
  }
  rest = trimmed(rest);
  if (rest.empty() && !(dollar_first && dimension == Dollars::dimension)) {
    throw Error(where, fmt::format("found the bare number '{}', expected {}", text, expected_units(f)));
  }
  std::vector<std::string> names;
  for (const Unit& unit : f.units) {
    if (unit.text == rest || (dollar_first && around_dollar(unit.text) == rest))
      return bounded(number * unit.factor, f, text, where);
    names.emplace_back(unit.text);
  }
  throw Error(where, fmt::format("found the unit '{}' in '{}', expected {}{}", rest, text, expected_units(f),
                                 nearest(rest, names).empty() ? "" : suggestion(rest, names)));
}

std::string expected_quantity(Dimension dimension) { return expected_units(family(dimension)); }

std::string quantity_pattern(Dimension dimension) {
  const std::string number = "([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?";
  std::string units;
  for (const Unit& unit : family(dimension).units) {
    if (!units.empty()) units += '|';
    for (const char c : unit.text) units += c == '$' ? std::string("[$]") : std::string(1, c);
  }
  const std::string plain = fmt::format("{}[ \\t]*({})", number, units);
  if (!is_money(family(dimension))) return fmt::format("^[ \\t]*{}[ \\t]*$", plain);
  for (const Unit& unit : family(dimension).units) {
    if (unit.text.find('$') != std::string_view::npos) units += fmt::format("|{}", around_dollar(unit.text));
  }
  return fmt::format("^[ \\t]*({}|[$][ \\t]*{}[ \\t]*({}))[ \\t]*$", plain, number, units);
}

template <Dimension D>
Quantity<D> parse_quantity(std::string_view text, const std::string& where) {
  return Quantity<D>::base(parse_in_base_units(text, D, where));
}

template Bytes parse_quantity(std::string_view, const std::string&);
template Seconds parse_quantity(std::string_view, const std::string&);
template Flops parse_quantity(std::string_view, const std::string&);
template BytesPerSecond parse_quantity(std::string_view, const std::string&);
template FlopsPerSecond parse_quantity(std::string_view, const std::string&);
template Watts parse_quantity(std::string_view, const std::string&);
template Joules parse_quantity(std::string_view, const std::string&);
template Dollars parse_quantity(std::string_view, const std::string&);
template Hertz parse_quantity(std::string_view, const std::string&);
template SecondsPerByte parse_quantity(std::string_view, const std::string&);
template DollarsPerSecond parse_quantity(std::string_view, const std::string&);
template DollarsPerJoule parse_quantity(std::string_view, const std::string&);

namespace {

struct Prefix {
  double factor;
  std::string_view text;
};

// "91.2 GB": the largest prefix that leaves at least 1, three significant figures.
std::string scaled(double value, std::string_view unit, std::span<const Prefix> prefixes) {
  const double size = std::abs(value);
  const Prefix* chosen = &prefixes.back();
  for (const Prefix& prefix : prefixes) {
    if (size >= prefix.factor * 0.9995) {
      chosen = &prefix;
      break;
    }
  }
  const double shown = value / chosen->factor;
  const double magnitude = std::abs(shown);
  const int decimals = magnitude == 0 || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", shown, decimals, chosen->text, unit);
}

constexpr Prefix decimal[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};

}  // namespace

std::string format(Bytes v) { return scaled(v.value(), "B", decimal); }
std::string format(BytesPerSecond v) { return scaled(v.value(), "B/s", decimal); }
std::string format(Flops v) { return scaled(v.value(), "FLOP", decimal); }
std::string format(FlopsPerSecond v) { return scaled(v.value(), "FLOP/s", decimal); }
std::string format(Watts v) { return scaled(v.value(), "W", decimal); }
std::string format(Joules v) { return scaled(v.value(), "J", decimal); }

std::string format(Seconds v) {
  static constexpr Prefix times[] = {{1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
  if (std::abs(v.value()) >= 2 * 86400) return fmt::format("{:.1f} days", v.value() / 86400);
  if (std::abs(v.value()) >= 2 * 3600) return fmt::format("{:.1f} h", v.value() / 3600);
  return v.value() == 0 ? "0 s" : scaled(v.value(), "s", times);
}

std::string format(Dollars v) {
  static constexpr Prefix money[] = {{1e9, "B"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
  std::string text = "$" + scaled(v.value(), "", money);
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string format_count(double value) {
  static constexpr Prefix counts[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
  std::string text = scaled(value, "", counts);
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string format_rate(double value) {
  constexpr double longest = 9999.5;  // in four figures
  return value < longest ? fmt::format("{:.4g}", value) : format_count(value);
}

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

namespace {

template <class Q>
std::string as(double value) {
  return format(Q::base(value));
}
struct Written {
  std::string_view unit;
  std::string (*text)(double);
};
constexpr Written written[] = {
    {"s", as<Seconds>},    {"B", as<Bytes>},  {"B/s", as<BytesPerSecond>}, {"FLOP/s", as<FlopsPerSecond>},
    {"FLOP", as<Flops>},   {"W", as<Watts>},  {"J", as<Joules>},           {"$", as<Dollars>},
    {"%", format_percent}, {"", format_count}};

}  // namespace

std::string format_in(double value, std::string_view unit) {
  std::vector<std::string> units;
  for (const Written& row : written) {
    if (row.unit == unit) return row.text(value);
    units.emplace_back(row.unit);
  }
  throw Error("unit", fmt::format("unknown unit '{}'{}", unit, suggestion(unit, units)));
}

Bytes parse_message_size(std::string_view text, const std::string& where) {
  constexpr double most = 1125899906842624.0;  // a pebibyte
  static constexpr Unit suffixes[] = {
      {"", 1}, {"B", 1}, {"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}, {"T", 1099511627776.0}};
  std::string_view rest = trimmed(text);
  const double number = take_number(rest);
  std::string suffix(rest);
  if (suffix.size() == 3 && suffix.ends_with("iB")) suffix.resize(1);
  if (suffix.size() == 1 && suffix[0] >= 'a' && suffix[0] <= 'z') suffix[0] = static_cast<char>(suffix[0] - 'a' + 'A');
  for (const Unit& unit : suffixes) {
    const double bytes = std::floor(number * unit.factor);
    if (unit.text == suffix && bytes >= 0 && bytes <= most) return Bytes::base(bytes);
  }
  throw Error(where, fmt::format("found '{}', expected a message size of at most 1024T such as 8, 1K, 4M or 8G (powers "
                                 "of 1024)",
                                 text));
}

}  // namespace meshwright
