#pragma once
// What a capacity plan assumes: one table of inputs (data/capacity/inputs.json), each with range, date and source. A
// scenario states its own over them; sensitivity, Monte Carlo and break-even vary rows of this table and nothing else.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"

namespace meshwright::capacity {

/// The input that a candidate's "price_premium" stands for.
inline constexpr std::string_view network_premium = "prices.network_premium";

/// How an input is written, and in which base unit it is held.
enum class Kind { number, share, time, money, money_rate, energy_price, bandwidth, power, carbon };

struct Input {
  std::string name;  ///< "prices.energy"
  std::string what;
  Kind kind = Kind::number;
  double value = 0, low = 0, high = 0;  ///< base units; low and high are the tenth and ninetieth percentile
  double least = 0, most = 0;           ///< what it can be at all
  std::string date, confidence, source;
  bool stated = false;  ///< by the user, not a default
  bool varies() const { return low < high; }
  /// The value at probability `u` in (0, 1): the value at a half, low and high at 0.1 and 0.9, log-normal between where
  /// all are above zero, normal otherwise; within [least, most].
  double at(double u) const;
};

class Inputs {
 public:
  /// The defaults.
  Inputs();
  /// The value of an input. Names are closed: an unknown one is a programming error (std::logic_error).
  double operator()(std::string_view name) const { return row(name).value; }
  const Input& row(std::string_view name) const;
  const std::vector<Input>& rows() const { return rows_; }
  bool has(std::string_view name) const;
  /// Sets a value in base units, within [least, most].
  void set(std::string_view name, double value);
  /// Sets the tenth and ninetieth percentile, widened to hold the value.
  void set_range(std::string_view name, double low, double high);
  /// The member `group` of a scenario: {"energy": "0.08 USD/kWh"} or {"energy": {"value", "low", "high", "source"}} for
  /// the inputs "group.*". A value without a range keeps the default's relative one. Keys in `others` are left to
  /// the caller.
  void take(const Reader& object, std::string_view group, std::span<const std::string_view> others = {});
  void take(const Reader& object, std::string_view group, std::initializer_list<std::string_view> others) {
    take(object, group, std::span<const std::string_view>(others.begin(), others.size()));
  }
  /// One input from what stands at `reader`.
  void take_one(const Reader& reader, std::string_view name);
  /// [low, high] of an input; Error where the value doesn't lie between them.
  void take_range(const Reader& reader, std::string_view name);
  /// The input that a user means by a name with or without its group; Error with the nearest spelling.
  const Input& named(std::string_view name, const std::string& where) const;

 private:
  Input& find(std::string_view name);
  std::vector<Input> rows_;  ///< by name
};

/// A value of that kind read from `reader`, in base units; `least` and `most` of a number or share.
double read_value(const Reader& reader, Kind kind, double least, double most);
/// "0.081 $/kWh", "1.2", "2.0 %", ...
std::string format_value(double value, Kind kind);
/// Of that input: a premium as what it adds.
std::string format_value(double value, const Input& input);
/// "prices.energy: 0.081 $/kWh (0.05 to 0.15; 2024, medium confidence: EIA ...)".
std::string describe(const Input& input);

}  // namespace meshwright::capacity
