#pragma once
// Reading one field over the value that stands there: what an overlay does not state is kept.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/members.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright::hardware {

/// A bandwidth that is stated: zero would read as "not stated", and nothing moves a petabyte a second.
inline BytesPerSecond stated_bandwidth(const Reader& member) {
  const auto bandwidth = member.quantity<BytesPerSecond::dimension>();
  if (!(bandwidth.value() >= 1 && bandwidth.value() <= 1e15)) member.fail("expected more than zero, at most 1 PB/s");
  return bandwidth;
}
template <auto Field>
Member<OwnerOf<Field>> bandwidth_member(std::string_view key, std::string_view doc) {
  return {key, doc, shape::quantity(BytesPerSecond::dimension),
          [](const Reader& r, auto& into) { into.*Field = stated_bandwidth(r); }};
}

/// A share of a limit that can be reached.
inline double stated_fraction(const Reader& member) {
  const double share = member.number();
  if (share < 1e-6 || share > 1) member.fail("expected a fraction above 0 and at most 1, found " + member.dump());
  return share;
}

/// The row of an entry's name.
template <auto Field>
Member<OwnerOf<Field>> name_member() {
  return needed(stated<Field>(text_member<Field>("name", "")));
}

/// "prices" replaces, "sources" adds: an overlay keeps the sources of what it does not change.
std::vector<Price> read_prices(const Reader& list);
void add_sources(const Reader& list, std::vector<Provenance>& sources);
JsonSchema prices_shape();
JsonSchema sources_shape();
template <auto Field>
Member<OwnerOf<Field>> prices_member() {
  return {"prices", "what it costs to buy or to rent", prices_shape(),
          [](const Reader& r, auto& into) { into.*Field = read_prices(r); }};
}
template <auto Field>
Member<OwnerOf<Field>> sources_member() {
  return {"sources", "where the figures come from", sources_shape(),
          [](const Reader& r, auto& into) { add_sources(r, into.*Field); }};
}

}  // namespace meshwright::hardware
