#include "meshwright/parallel/collective_choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/names.hpp"

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

CollectiveChoices read_collective_choices(const Reader& reader) {
  reader.allow_only({"algorithm", "protocol", "nvls", "sharp"});
  CollectiveChoices choices;
  if (const auto member = reader.find("algorithm"); member && member->is_object()) {
    for (const std::string& key : member->keys()) {
      const Reader value = member->at(key);
      const Collective collective = parse_collective(key, value.where());
      choices.algorithm[static_cast<std::size_t>(collective)] =
          read_algorithm(value, algorithms(collective), fmt::format(" of {}", name(collective)));
    }
  } else if (member) {
    choices.all.algorithm = read_algorithm(*member, algorithms(), "");
  }
  if (const auto protocol = reader.find("protocol")) {
    const std::vector<std::string> names(protocol_names.begin(), protocol_names.end());
    choices.all.protocol = names[protocol->one_of(names)];
  }
  choices.all.nvls = reader.boolean_or("nvls", true);
  choices.all.collnet = reader.boolean_or("sharp", false);
  return choices;
}

}  // namespace meshwright::parallel
