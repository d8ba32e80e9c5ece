#include "meshwright/parallel/collective_choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/names.hpp"
#include "meshwright/parallel/schema.hpp"

namespace meshwright::parallel {
namespace {

/// A name that one of `rows` has, in whatever library; `of` says whose they are, for the message.
std::string read_algorithm(const Reader& reader, std::span<const Algorithm> rows, const std::string& of) {
  const std::string text = reader.string();
  std::vector<std::string> names;
  for (const Algorithm& row : rows) {
    if (called(row, text) != Called::no) return text;
    names.emplace_back(row.name);
  }
  reader.fail(fmt::format("'{}' is not an algorithm{}{}", text, of, suggestion(text, names)));
}

}  // namespace

CollectiveOptions CollectiveChoices::of(Collective collective) const {
  CollectiveOptions options = all;
  const std::string& own = algorithm[static_cast<std::size_t>(collective)];
  if (!own.empty()) options.algorithm = own;
  return options;
}

bool CollectiveChoices::empty() const {
  return all == CollectiveOptions{} && std::ranges::all_of(algorithm, &std::string::empty);
}

namespace {

void read_algorithms(const Reader& r, CollectiveChoices& choices) {
  if (!r.is_object()) {
    choices.all.algorithm = read_algorithm(r, algorithms(), "");
    return;
  }
  for (const std::string& key : r.keys()) {
    const Reader value = r.at(key);
    const Collective collective = parse_collective(key, value.where());
    choices.algorithm[static_cast<std::size_t>(collective)] =
        read_algorithm(value, algorithms(collective), fmt::format(" of {}", name(collective)));
  }
}

const Members<CollectiveChoices>& collectives_members() {
  static const std::vector<std::string> protocols(protocol_names.begin(), protocol_names.end());
  static const Members<CollectiveChoices> rows = {
      {"algorithm", "of all, or by collective: \"ring\", {\"all_reduce\": \"tree\"}",
       shape::either({shape::text(), shape::map(shape::text())}), read_algorithms},
      {"protocol", "of all", shape::one_of(protocols),
       [](const Reader& r, CollectiveChoices& c) { c.all.protocol = protocols[r.one_of(protocols)]; }},
      {"nvls", "reduction in NVLink switches", shape::truth(),
       [](const Reader& r, CollectiveChoices& c) { c.all.nvls = r.boolean(); }},
      {"sharp", "reduction in the network's switches", shape::truth(),
       [](const Reader& r, CollectiveChoices& c) { c.all.collnet = r.boolean(); }}};
  return rows;
}

}  // namespace

JsonSchema collectives_shape() { return shape_of(collectives_members()); }

CollectiveChoices read_collective_choices(const Reader& reader) {
  CollectiveChoices choices;
  choices.all.nvls = true, choices.all.collnet = false;
  read_members(reader, collectives_members(), choices);
  return choices;
}

}  // namespace meshwright::parallel
