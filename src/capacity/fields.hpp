#pragma once
// Small values that capacity's files state as numbers or as text.
#include <string>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright::capacity {

/// A share: 0.05 or "5 %", within [least, most].
double read_share(const Reader& reader, double least = 0, double most = 1);
/// A number within [least, most].
double read_number(const Reader& reader, double least, double most);
/// A number of tokens: 15e12 or "15T".
double read_tokens(const Reader& reader);
/// {"title", "url", "date", "verification", "confidence"}.
hardware::Provenance read_provenance(const Reader& reader);
/// A time above zero.
Seconds read_time(const Reader& reader);

}  // namespace meshwright::capacity
