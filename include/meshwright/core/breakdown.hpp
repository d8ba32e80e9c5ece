#pragma once
// Results that explain themselves: a tree of named, disjoint terms. Total, text, JSON and what-if differences are folds
// over it. Result structs describe their fields once (`describe`); everything else is derived from that list.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/namespaces.hpp"

namespace meshwright {

/// One named term in base units. A term with parts is the sum of them; a leaf says where its number comes from.
struct Term {
  std::string name;     ///< "tensor_parallel"
  double value = 0;     ///< base units
  std::string unit;     ///< "s", "B", "$"
  std::string formula;  ///< how it was computed, in words and symbols
  std::string source;   ///< the parameter and its source
  std::vector<Term> parts;
};

/// Sum of the leaves; equals `term.value` within rounding (a law).
double total(const Term& term);
/// b - a, term by term, by name; terms that only one side has count as zero on the other.
Term compare(const Term& a, const Term& b);
/// The first term of that name in depth-first order, or null.
const Term* find(const Term& term, std::string_view name);
/// JSON object text {"name", "value", "unit", "formula", "source", "parts"}; empty strings are left out.
std::string to_json(const Term& term);

}  // namespace meshwright
