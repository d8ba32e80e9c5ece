#pragma once
// Reading one field over the value that stands there: what an overlay does not state is kept.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright::hardware {

template <Dimension D>
void take(const Reader& r, std::string_view key, Quantity<D>& field) {
  field = r.quantity_or(key, field);
}
inline void take(const Reader& r, std::string_view key, std::string& field) { field = r.string_or(key, field); }
inline void take(const Reader& r, std::string_view key, bool& field) { field = r.boolean_or(key, field); }
inline void take(const Reader& r, std::string_view key, int& field, int least, int most) {
  field = r.integer_or(key, field, least, most);
}

/// A bandwidth that is stated: zero would read as "not stated", and nothing moves a petabyte a second.
inline BytesPerSecond stated_bandwidth(const Reader& member) {
  const auto bandwidth = member.quantity<BytesPerSecond::dimension>();
  if (!(bandwidth.value() >= 1 && bandwidth.value() <= 1e15)) member.fail("expected more than zero, at most 1 PB/s");
  return bandwidth;
}
inline void take_bandwidth(const Reader& r, std::string_view key, BytesPerSecond& field) {
  if (const auto member = r.find(key)) field = stated_bandwidth(*member);
}

/// A share of a limit that can be reached.
inline double stated_fraction(const Reader& member) {
  const double share = member.number();
  if (share < 1e-6 || share > 1) member.fail("expected a fraction above 0 and at most 1, found " + member.dump());
  return share;
}

/// As take, for a field that a new entry must state and that must not be zero.
template <Dimension D>
void need(const Reader& r, std::string_view key, Quantity<D>& field) {
  if (field.value() <= 0) field = r.at(key).quantity<D>();
  take(r, key, field);
  if (field.value() <= 0) r.at(key).fail("expected more than zero");
}
inline void need(const Reader& r, std::string_view key, std::string& field) {
  if (field.empty()) field = r.at(key).string();
  take(r, key, field);
  if (field.empty()) r.at(key).fail("expected a name, found an empty text");
}

/// A list of texts replaces the one that stands there.
void take_texts(const Reader& r, std::string_view key, std::vector<std::string>& field);
std::vector<Price> read_prices(const Reader& list);
/// "prices" replaces, "sources" adds: an overlay keeps the sources of what it does not change.
void take_prices(const Reader& r, std::vector<Price>& prices);
void take_sources(const Reader& r, std::vector<Provenance>& sources);

}  // namespace meshwright::hardware
