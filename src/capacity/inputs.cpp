#include "meshwright/capacity/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "capacity/fields.hpp"
#include "core/embedded.hpp"
#include "core/normal.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = {"number",       "share",     "time",  "money", "money rate",
                                                 "energy price", "bandwidth", "power", "carbon"};
  return names;
}

struct Limits {
  double least, most;
};

/// What a kind can be where its row says nothing else. Large enough for anything real, small enough to multiply.
Limits limits_of(Kind kind) {
  switch (kind) {
    case Kind::share:
      return {0, 1};
    case Kind::time:
      return {0, 1e11};
    case Kind::money:
      return {0, 1e13};
    case Kind::money_rate:
      return {0, 1e7};
    case Kind::bandwidth:
      return {1, 1e16};
    case Kind::power:
      return {1e-3, 1e12};
    default:
      return {0, 1e9};
  }
}

/// "367 g/kWh" in kg per J.
double read_carbon(const Reader& reader) {
  struct MassUnit {
    std::string_view text;
    double factor;
  };
  static constexpr MassUnit units[] = {{"g/kWh", 1e-3 / 3.6e6}, {"kg/kWh", 1 / 3.6e6}, {"kg/MWh", 1 / 3.6e9}};
  const std::string text = reader.string();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest(end, text.data() + text.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const MassUnit& unit : units) {
    if (error == std::errc{} && value >= 0 && std::isfinite(value) && unit.text == rest) return value * unit.factor;
  }
  reader.fail(fmt::format("found '{}', expected a carbon intensity with a unit (g/kWh, kg/kWh, kg/MWh)", text));
}

double parsed(const Reader& reader, Kind kind) {
  switch (kind) {
    case Kind::time:
      return reader.quantity<Seconds::dimension>().value();
    case Kind::money:
      return reader.quantity<Dollars::dimension>().value();
    case Kind::money_rate:
      return reader.quantity<DollarsPerSecond::dimension>().value();
    case Kind::energy_price:
      return reader.quantity<DollarsPerJoule::dimension>().value();
    case Kind::bandwidth:
      return reader.quantity<BytesPerSecond::dimension>().value();
    case Kind::power:
      return reader.quantity<Watts::dimension>().value();
    case Kind::carbon:
      return read_carbon(reader);
    default:
      return reader.number();
  }
}

Input read_input(const Reader& r) {
  r.allow_only({"name", "kind", "value", "low", "high", "least", "most", "what", "date", "confidence", "source"});
  Input input;
  input.name = r.at("name").string();
  input.kind = static_cast<Kind>(r.at("kind").one_of(kind_names()));
  const Limits limits = limits_of(input.kind);
  input.least = r.number_or("least", limits.least);
  input.most = r.number_or("most", limits.most);
  input.value = read_value(r.at("value"), input.kind, input.least, input.most);
  input.low = read_value(r.at("low"), input.kind, input.least, input.most);
  input.high = read_value(r.at("high"), input.kind, input.least, input.most);
  if (!(input.low <= input.value && input.value <= input.high)) r.fail("expected low <= value <= high");
  input.what = r.at("what").string();
  input.date = r.at("date").string();
  input.confidence = r.at("confidence").string();
  input.source = r.at("source").string();
  return input;
}

std::vector<Input> read_inputs() {
  std::vector<Input> rows;
  for (const EmbeddedFile& file : embedded_capacity()) {
    const Reader document = Reader::text(file.content, std::string(file.name));
    if (const auto list = document.find("inputs")) {
      for (const Reader& item : list->items()) rows.push_back(read_input(item));
    }
  }
  std::ranges::sort(rows, {}, &Input::name);
  return rows;
}

std::vector<std::string> names_of(const std::vector<Input>& rows, std::string_view group = "") {
  std::vector<std::string> names;
  for (const Input& row : rows) {
    if (row.name.starts_with(group)) names.push_back(row.name.substr(group.size()));
  }
  return names;
}

}  // namespace

double Input::at(double u) const {
  const double z = normal_quantile(u) / normal_decile;
  const double end = z < 0 ? low : high, distance = std::abs(z);
  const double drawn =
      value > 0 && end > 0 ? value * std::pow(end / value, distance) : value + (end - value) * distance;
  return std::clamp(drawn, least, most);
}

Inputs::Inputs() {
  static const std::vector<Input> defaults = read_inputs();
  rows_ = defaults;
}

const Input& Inputs::row(std::string_view name) const {
  const auto at = std::ranges::lower_bound(rows_, name, {}, &Input::name);
  if (at == rows_.end() || at->name != name) throw std::logic_error("no input '" + std::string(name) + "'");
  return *at;
}

bool Inputs::has(std::string_view name) const { return std::ranges::binary_search(rows_, name, {}, &Input::name); }

Input& Inputs::find(std::string_view name) { return const_cast<Input&>(row(name)); }

void Inputs::set(std::string_view name, double value) {
  Input& input = find(name);
  input.value = std::clamp(value, input.least, input.most);
}

void Inputs::set_range(std::string_view name, double low, double high) {
  Input& input = find(name);
  input.low = std::clamp(std::min(low, input.value), input.least, input.most);
  input.high = std::clamp(std::max(high, input.value), input.least, input.most);
}

void Inputs::take_one(const Reader& reader, std::string_view name) {
  Input& input = find(name);
  const double before = input.value;
  const bool object = reader.is_object();
  if (object) reader.allow_only({"value", "low", "high", "source", "date"});
  input.value = read_value(object ? reader.at("value") : reader, input.kind, input.least, input.most);
  // A price whose default is zero is the database's until another is stated.
  if (before == 0 && input.value == 0 && (input.kind == Kind::money || input.kind == Kind::money_rate))
    reader.fail("expected a price above zero; without it the database's holds");
  const auto scaled = [&](double end) {
    return std::clamp(before > 0 ? end / before * input.value : input.value, input.least, input.most);
  };
  input.low = scaled(input.low);
  input.high = scaled(input.high);
  input.stated = true;
  input.date = input.confidence = "";
  input.source = "stated";
  if (!object) return;
  if (const auto low = reader.find("low")) input.low = read_value(*low, input.kind, input.least, input.most);
  if (const auto high = reader.find("high")) input.high = read_value(*high, input.kind, input.least, input.most);
  if (!(input.low <= input.value && input.value <= input.high)) reader.fail("expected low <= value <= high");
  input.source = reader.string_or("source", input.source);
  input.date = reader.string_or("date", "");
}

void Inputs::take(const Reader& object, std::string_view group, std::span<const std::string_view> others) {
  const std::string prefix = std::string(group) + ".";
  const std::vector<std::string> names = names_of(rows_, prefix);
  std::vector<std::string_view> known(names.begin(), names.end());
  known.insert(known.end(), others.begin(), others.end());
  object.allow_only(known);
  for (const std::string& name : names) {
    if (std::ranges::find(others, name) != others.end()) continue;
    if (const auto member = object.find(name)) take_one(*member, prefix + name);
  }
}

void Inputs::take_range(const Reader& reader, std::string_view name) {
  Input& input = find(name);
  const std::vector<Reader> ends = reader.items();
  if (ends.size() != 2) reader.fail("expected [tenth percentile, ninetieth percentile]");
  input.low = read_value(ends[0], input.kind, input.least, input.most);
  input.high = read_value(ends[1], input.kind, input.least, input.most);
  if (!(input.low <= input.value && input.value <= input.high))
    reader.fail(fmt::format("{} is {}, expected it between the two", name, format_value(input.value, input)));
}

const Input& Inputs::named(std::string_view name, const std::string& where) const {
  if (has(name)) return row(name);
  const Input* only = nullptr;
  for (const Input& candidate : rows_) {
    if (!candidate.name.ends_with("." + std::string(name))) continue;
    if (only != nullptr) throw Error(where, fmt::format("'{}' is both {} and {}", name, only->name, candidate.name));
    only = &candidate;
  }
  if (only != nullptr) return *only;
  throw Error(where, fmt::format("no input '{}'{}", name, suggestion(name, names_of(rows_))));
}

double read_value(const Reader& reader, Kind kind, double least, double most) {
  if (kind == Kind::number) return read_number(reader, least, most);
  if (kind == Kind::share) return read_share(reader, least, most);
  const double value = parsed(reader, kind);
  if (!(value >= least && value <= most))
    reader.fail(fmt::format("found {}, expected {} to {}", format_value(value, kind), format_value(least, kind),
                            format_value(most, kind)));
  return value;
}

std::string format_value(double value, Kind kind) {
  switch (kind) {
    case Kind::share:
      return fmt::format("{:.3g} %", value * 100);
    case Kind::time:
      return value >= 2 * 31557600.0 ? fmt::format("{:.3g} years", value / 31557600) : format(Seconds::base(value));
    case Kind::money:
      return format(Dollars::base(value));
    case Kind::money_rate:
      return fmt::format("{:.4g} $/h", value * 3600);
    case Kind::energy_price:
      return fmt::format("{:.3g} $/kWh", value * 3.6e6);
    case Kind::bandwidth:
      return format(BytesPerSecond::base(value));
    case Kind::power:
      return format(Watts::base(value));
    case Kind::carbon:
      return fmt::format("{:.4g} g/kWh", value * 3.6e9);
    default:
      return fmt::format("{:.4g}", value);
  }
}

std::string format_value(double value, const Input& input) {
  return input.name == network_premium ? fmt::format("{:+.1f} %", value * 100) : format_value(value, input.kind);
}

std::string describe(const Input& input) {
  std::string text = fmt::format("{}: {}", input.name, format_value(input.value, input));
  if (input.varies())
    text += fmt::format(" ({} to {})", format_value(input.low, input), format_value(input.high, input));
  if (!input.date.empty()) text += fmt::format("; {}, {} confidence", input.date, input.confidence);
  return text + ": " + input.source;
}

}  // namespace meshwright::capacity
