#include "parallel/stack_reader.hpp"

#include <algorithm>

#include "meshwright/core/units.hpp"

namespace meshwright::parallel {
namespace {

void read_value(const Reader& value, double& field) { field = value.number(); }
void read_value(const Reader& value, int& field) { field = value.integer(); }
void read_value(const Reader& value, bool& field) { field = value.boolean(); }
template <Dimension D>
void read_value(const Reader& value, Quantity<D>& field) {
  field = value.quantity<D>();
}
template <const auto& Names>
void read_value(const Reader& value, NameSet<Names>& field) {
  static const std::vector<std::string> valid(Names.begin(), Names.end());
  field.bits = 0;
  for (const Reader& item : value.items()) field.bits |= 1U << item.one_of(valid);
}
template <class Row>
void read_rows(const Reader& value, std::span<const Row> table, std::span<const std::string_view> names,
               RowSet<Row>& field) {
  const std::vector<std::string> valid(names.begin(), names.end());
  field.rows.clear();
  for (const Reader& item : value.items()) field.rows.push_back(table[item.one_of(valid)]);
}
void read_value(const Reader& value, ScheduleSet& field) {
  read_rows(value, pipeline_schedules(), schedule_names(), field);
}
void read_value(const Reader& value, ContextKindSet& field) {
  read_rows(value, context_kinds(), context_kind_names(), field);
}
void read_value(const Reader& value, RankOrder& field) { field = read_order(value.string(), value.where()); }

template <class Part>
void read_part(const Reader& object, Part& part) {
  std::vector<std::string_view> known;
  describe(part, [&](std::string_view key, auto&) { known.push_back(key); });
  object.allow_only(known);
  describe(part, [&](std::string_view key, auto& field) {
    if (const auto value = object.find(key)) read_value(*value, field);
  });
}

void read_parts(const Reader& object, Framework& stack) {
  describe(stack, [&](std::string_view key, auto& part) {
    if (const auto value = object.find(key)) read_part(*value, part);
  });
}

/// Refuses members that are neither `own` nor a part.
void allow_parts_and(const Reader& object, std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> known(own);
  const Framework any;
  describe(any, [&](std::string_view key, const auto&) { known.push_back(key); });
  object.allow_only(known);
}

void read_identity(const Reader& file, Framework& stack) {
  allow_parts_and(file, {"description", "sources", "name", "aliases", "title", "flags", "notes", "releases"});
  stack.name = file.at("name").string();
  stack.title = stack.title.empty() ? file.at("title").string() : file.string_or("title", stack.title);
  stack.notes = file.string_or("notes", stack.notes);
  if (file.has("aliases")) stack.aliases = strings(file, "aliases");
  if (file.has("flags")) stack.flags = strings(file, "flags");
}

/// A release with every place that says something of it.
struct Dated {
  Release release;
  std::vector<Reader> changes;
};

/// Adds the releases of one file: to those of the same version, or where their dates belong.
void add_releases(std::vector<Dated>& all, const Reader& file) {
  const auto list = file.find("releases");
  if (!list) return;
  for (const Reader& entry : list->items()) {
    allow_parts_and(entry, {"version", "date", "aliases", "sources", "notes"});
    const std::string version = entry.at("version").string();
    auto same = std::ranges::find_if(all, [&](const Dated& d) { return d.release.version == version; });
    if (same == all.end()) {
      const std::string date = entry.at("date").string();
      const auto later = std::ranges::find_if(all, [&](const Dated& d) { return d.release.date > date; });
      same = all.insert(later, Dated{{version, date, {}}, {}});
    }
    std::ranges::move(strings(entry, "aliases"), std::back_inserter(same->release.aliases));
    same->changes.push_back(entry);
  }
}

}  // namespace

std::vector<std::string> strings(const Reader& reader, std::string_view key) {
  std::vector<std::string> values;
  const auto member = reader.find(key);
  if (!member) return values;
  for (const Reader& item : member->items()) values.push_back(item.string());
  return values;
}

Framework read_stack(std::span<const Reader> files, std::string_view version, std::string_view date,
                     ReleaseChoice* choice) {
  Framework stack;
  std::vector<Dated> dated;
  for (const Reader& file : files) {
    read_identity(file, stack);
    read_parts(file, stack);
    add_releases(dated, file);
  }
  for (const Dated& d : dated) stack.releases.push_back(d.release);
  const ReleaseChoice chosen = release_choice(stack.releases, version, date);
  for (int i = 0; i <= chosen.index; ++i) {
    for (const Reader& change : dated[static_cast<std::size_t>(i)].changes) read_parts(change, stack);
  }
  if (chosen.index >= 0) stack.version = stack.releases[static_cast<std::size_t>(chosen.index)].version;
  if (choice != nullptr) *choice = chosen;
  return stack;
}

}  // namespace meshwright::parallel
