#include "hardware/fields.hpp"

#include <utility>

namespace meshwright::hardware {
namespace {

const std::vector<std::string>& confidences() {
  static const std::vector<std::string> names = {"high", "medium", "low"};
  return names;
}

const Members<Price>& price_members() {
  static const Members<Price> rows = {quantity_member<&Price::amount>("amount", "of a purchase"),
                                      quantity_member<&Price::rate>("rate", "of a rent"),
                                      needed(text_member<&Price::kind>("kind", "list, street, quote, on demand, ...")),
                                      text_member<&Price::provider>("provider", ""),
                                      needed(text_member<&Price::date>("date", "2026-11")),
                                      needed(choice_member<&Price::confidence>("confidence", confidences(), "")),
                                      text_member<&Price::url>("url", "")};
  return rows;
}

Price read_price(const Reader& r) {
  Price price;
  read_members(r, price_members(), price);
  if (r.has("amount") == r.has("rate")) r.fail("expected either 'amount' (a purchase) or 'rate' (a rent)");
  return price;
}

const Members<Provenance>& source_members() {
  static const std::vector<std::string> verifications = {"read", "recalled"};
  static const Members<Provenance> rows = {
      needed(text_member<&Provenance::title>("title", "")), text_member<&Provenance::url>("url", ""),
      text_member<&Provenance::date>("date", ""),
      needed<Provenance>({"verification", "whether someone read it or recalls it", shape::one_of(verifications),
                          [](const Reader& r, Provenance& p) { p.read = r.one_of(verifications) == 0; }}),
      needed(choice_member<&Provenance::confidence>("confidence", confidences(), ""))};
  return rows;
}

}  // namespace

std::vector<Price> read_prices(const Reader& list) {
  std::vector<Price> prices;
  for (const Reader& item : list.items()) prices.push_back(read_price(item));
  return prices;
}

void add_sources(const Reader& list, std::vector<Provenance>& sources) {
  for (const Reader& item : list.items()) read_members(item, source_members(), sources.emplace_back());
}

JsonSchema prices_shape() { return shape::list(shape_of(price_members())); }
JsonSchema sources_shape() { return shape::list(shape_of(source_members())); }

}  // namespace meshwright::hardware
