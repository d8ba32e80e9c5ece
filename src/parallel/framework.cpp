#include "meshwright/parallel/framework.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/embedded.hpp"
#include "meshwright/core/names.hpp"
#include "parallel/part_reader.hpp"
#include "parallel/stack_reader.hpp"

namespace meshwright::parallel {
namespace {

/// A stack's own file, then what overlays say of it.
struct Documents {
  std::string name;
  std::vector<std::string> aliases;
  std::vector<Reader> files;
};

void add(std::vector<Documents>& stacks, const Reader& file) {
  const std::string name = file.at("name").string();
  auto same =
      std::ranges::find_if(stacks, [&](const Documents& d) { return folded_name(d.name) == folded_name(name); });
  if (same == stacks.end()) same = stacks.insert(stacks.end(), Documents{name, {}, {}});
  if (file.has("aliases")) same->aliases = strings(file, "aliases");
  same->files.push_back(file);
}

/// The stacks as data/frameworks describes them, without what was fitted to runs.
const std::vector<Documents>& described() {
  static const std::vector<Documents> stacks = [] {
    std::vector<Documents> read;
    for (const EmbeddedFile& file : embedded_frameworks()) {
      add(read, Reader::text(file.content, "data/frameworks/" + std::string(file.name)));
    }
    return read;
  }();
  return stacks;
}

std::vector<Documents> documents(const Catalog& catalog) {
  std::vector<Documents> stacks = described();
  for (const Reader& entry : catalog.frameworks) add(stacks, entry);
  return stacks;
}

/// The one of that name or alias among values with `name` and `aliases`.
template <class Stack>
const Stack& named(const std::vector<Stack>& stacks, std::string_view name, const std::string& where) {
  if (const Stack* stack = find_named(stacks, name)) return *stack;
  std::vector<std::string> valid;
  for (const Stack& stack : stacks) valid.push_back(stack.name);
  const std::string listed = suggestion(name, valid);
  std::string close;
  for (const Stack& stack : stacks) {
    if (close.empty()) close = nearest(name, stack.aliases);
  }
  const bool by_alias = nearest(name, valid).empty() && !close.empty();
  throw UnknownName(where, "unknown framework '" + std::string(name) + "'" +
                               (by_alias ? " (did you mean '" + close + "'?)" : listed));
}

}  // namespace

Framework read_framework(const Reader& reader) { return read_stack({reader}, {}, {}, nullptr); }

std::vector<Framework> frameworks(const Catalog& catalog) {
  std::vector<Framework> profiles;
  for (const Documents& stack : documents(catalog)) profiles.push_back(read_stack(stack.files, {}, {}, nullptr));
  return profiles;
}

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> profiles = frameworks(builtin_catalog());
  return profiles;
}

const Framework& framework(std::string_view name, const std::string& where) { return named(frameworks(), name, where); }

Framework framework(std::string_view name, const std::string& where, const Catalog& catalog, std::string_view version,
                    std::string_view date, ReleaseChoice* choice) {
  const std::vector<Documents> stacks = documents(catalog);
  return read_stack(named(stacks, name, where).files, version, date, choice);
}

bool trains_with(const Framework& framework, const Precision& precision) noexcept {
  const std::vector<std::string>& known = framework.rules.precisions;
  if (known.empty() || std::ranges::find(known, precision.name) != known.end()) return true;
  return precision.any_recipe && std::ranges::any_of(precisions(), [&](const Precision& row) {
           return row.gemm == precision.gemm && std::ranges::find(known, row.name) != known.end();
         });
}

bool has_units_for(const Accelerator& device, const Precision& precision) noexcept {
  const auto runs = [&](DType format) { return device.peak(format).value() > 0; };
  // Units that scale blocks of 16 or 32 came with those of fp4 (Blackwell, CDNA 4, Trainium3).
  return runs(precision.gemm) && runs(precision.rest) && (!precision.scaled_in_units || runs(DType::fp4));
}

}  // namespace meshwright::parallel
