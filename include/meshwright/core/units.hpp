#pragma once
// Strings with units at every border: parsing and formatting of quantities.
#include <string>
#include <string_view>

#include "meshwright/core/quantity.hpp"

namespace meshwright {

/// Parses "400 Gb/s", "80 GB", "80GiB", "2 us", "989 TFLOP/s", "700 W", "2.5 $", "0.08 $/kWh", ...
/// A bare number is refused, with the units that the dimension takes; so are infinities, NaN, negative values
/// and anything after the unit. Throws Error(where, ...). Decimal prefixes k M G T P; Ki Mi Gi Ti spelled out.
/// Bits ("b", "bit") only for bandwidths; bytes "B".
template <Dimension D>
Quantity<D> parse_quantity(std::string_view text, const std::string& where);

/// Formatting for people: three significant figures or so, with the prefix that reads best.
std::string format(Bytes);           ///< "91.2 GB"
std::string format(Seconds);         ///< "4.31 s", "12.7 ms", "3.2 us"
std::string format(BytesPerSecond);  ///< "450 GB/s"
std::string format(FlopsPerSecond);  ///< "400 TFLOP/s"
std::string format(Flops);           ///< "3.9 PFLOP"
std::string format(Watts);           ///< "700 W"
std::string format(Joules);          ///< "600 kJ"
std::string format(Dollars);         ///< "$1.25 M"
std::string format_count(double);    ///< "405.9 B" parameters, "14.8 T" tokens
std::string format_rate(double);     ///< "198.7", "9723", "13.3 k" tokens a second
std::string format_percent(double);  ///< 0.417 -> "41.7 %"
/// A figure in the base unit of a term or a column: "s", "B", "B/s", "FLOP/s", "FLOP", "W", "J", "$", "%" (a fraction),
/// "" (a count). Error("unit", ...) with the nearest for others.
std::string format_in(double value, std::string_view unit);
/// Powers of two as nccl-tests take them: "1K" = 1024, "8G", "512", "1M". Throws Error(where, ...).
Bytes parse_message_size(std::string_view text, const std::string& where);

}  // namespace meshwright
