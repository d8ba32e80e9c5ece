#include "meshwright/core/breakdown.hpp"
#include "core/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace meshwright {
namespace {

nlohmann::ordered_json as_json(const Term& term) {
  nlohmann::ordered_json out = {{"name", term.name}, {"value", term.value}, {"unit", term.unit}};
  if (!term.formula.empty()) out["formula"] = term.formula;
  if (!term.source.empty()) out["source"] = term.source;
  for (const Term& part : term.parts) out["parts"].push_back(as_json(part));
  return out;
}

const Term* part_named(const Term& term, std::string_view name) {
  const auto found = std::find_if(term.parts.begin(), term.parts.end(), [&](const Term& t) { return t.name == name; });
  return found == term.parts.end() ? nullptr : &*found;
}

}  // namespace

double total(const Term& term) {
  if (term.parts.empty()) return term.value;
  double sum = 0;
  for (const Term& part : term.parts) sum += total(part);
  return sum;
}

Term compare(const Term& a, const Term& b) {
  Term difference{b.name.empty() ? a.name : b.name, b.value - a.value, b.unit.empty() ? a.unit : b.unit, "", "", {}};
  for (const Term& part : a.parts) {
    const Term* other = part_named(b, part.name);
    difference.parts.push_back(compare(part, other ? *other : Term{}));
  }
  for (const Term& part : b.parts) {
    if (!part_named(a, part.name)) difference.parts.push_back(compare(Term{}, part));
  }
  return difference;
}

const Term* find(const Term& term, std::string_view name) {
  if (term.name == name) return &term;
  for (const Term& part : term.parts) {
    if (const Term* found = find(part, name)) return found;
  }
  return nullptr;
}

std::string to_json(const Term& term) { return json_text(as_json(term)); }

}  // namespace meshwright
