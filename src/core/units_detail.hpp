#pragma once
#include <string>
#include <string_view>

#include "meshwright/core/quantity.hpp"

namespace meshwright {

/// What parse_quantity does, for a dimension known at run time; the result is in base units.
double parse_in_base_units(std::string_view text, Dimension dimension, const std::string& where);
/// "a bandwidth with a unit (GB/s, Gb/s, ...)": what a reader says it expected.
std::string expected_quantity(Dimension dimension);
/// A regular expression (ECMA 262) of the texts that parse_quantity takes, for JSON Schemas.
std::string quantity_pattern(Dimension dimension);

}  // namespace meshwright
