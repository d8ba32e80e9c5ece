#include "hardware/fields.hpp"

#include <utility>

namespace meshwright::hardware {
namespace {

const std::vector<std::string>& confidences() {
  static const std::vector<std::string> names = {"high", "medium", "low"};
  return names;
}

std::string confidence(const Reader& r) { return confidences()[r.at("confidence").one_of(confidences())]; }

Price read_price(const Reader& r) {
  r.allow_only({"amount", "rate", "kind", "provider", "date", "confidence", "url"});
  if (r.has("amount") == r.has("rate")) r.fail("expected either 'amount' (a purchase) or 'rate' (a rent)");
  return {.amount = r.quantity_or("amount", Dollars{}),
          .rate = r.quantity_or("rate", DollarsPerSecond{}),
          .kind = r.at("kind").string(),
          .provider = r.string_or("provider", ""),
          .date = r.at("date").string(),
          .confidence = confidence(r),
          .url = r.string_or("url", "")};
}

Provenance read_source(const Reader& r) {
  static const std::vector<std::string> verifications = {"read", "recalled"};
  r.allow_only({"title", "url", "date", "verification", "confidence"});
  return {.title = r.at("title").string(),
          .url = r.string_or("url", ""),
          .date = r.string_or("date", ""),
          .read = r.at("verification").one_of(verifications) == 0,
          .confidence = confidence(r)};
}

}  // namespace

void take_texts(const Reader& r, std::string_view key, std::vector<std::string>& field) {
  const auto list = r.find(key);
  if (!list) return;
  field.clear();
  for (const Reader& item : list->items()) field.push_back(item.string());
}

void take_prices(const Reader& r, std::vector<Price>& prices) {
  if (const auto list = r.find("prices")) prices = read_prices(*list);
}

std::vector<Price> read_prices(const Reader& list) {
  std::vector<Price> prices;
  for (const Reader& item : list.items()) prices.push_back(read_price(item));
  return prices;
}

void take_sources(const Reader& r, std::vector<Provenance>& sources) {
  const auto list = r.find("sources");
  if (!list) return;
  for (const Reader& item : list->items()) sources.push_back(read_source(item));
}

}  // namespace meshwright::hardware
