#include "parallel/stack_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/parallel/schema.hpp"
#include "meshwright/workload/precision.hpp"
#include "parallel/part_reader.hpp"

namespace meshwright::parallel {

template <class Row>
static void read_rows(const Reader& value, std::span<const Row> table, std::span<const std::string_view> names,
                      RowSet<Row>& field) {
  const std::vector<std::string> valid(names.begin(), names.end());
  field.rows.clear();
  for (const Reader& item : value.items()) field.rows.push_back(table[item.one_of(valid)]);
}
static void read_field(const Reader& value, ScheduleSet& field) {
  read_rows(value, pipeline_schedules(), schedule_names(), field);
}
static void read_field(const Reader& value, ContextKindSet& field) {
  read_rows(value, context_kinds(), context_kind_names(), field);
}
static void read_field(const Reader& value, RankOrder& field) { field = read_order(value.string(), value.where()); }
static void read_field(const Reader& value, std::vector<RankOrder>& field) {
  field.clear();
  for (const Reader& item : value.items()) field.push_back(read_order(item.string(), item.where()));
}
static JsonSchema field_shape(const std::vector<RankOrder>&) { return shape::list(shape::text()); }
static JsonSchema field_shape(const ScheduleSet&) { return shape::list(shape::one_of(schedule_names())); }
static JsonSchema field_shape(const ContextKindSet&) { return shape::list(shape::one_of(context_kind_names())); }
static JsonSchema field_shape(const RankOrder&) { return shape::text(); }

namespace {

const Members<Framework>& release_members() {
  static const Members<Framework> rows = [] {
    Members<Framework> all = part_members(Framework{});
    const JsonSchema by_precision = shape::map(recipe_shape()), texts = shape::list(shape::text());
    all.push_back(needed<Framework>({"version", "", shape::text()}));
    all.push_back({"date", "", shape::text()});
    all.push_back({"aliases", "other names", texts});
    all.push_back({"sources", "", shape::anything()});
    all.push_back({"notes", "", shape::text()});
    all.push_back({"by_precision", "recipes of single precisions", by_precision});
    return all;
  }();
  return rows;
}

const Members<WorkTime>& work_members() {
  static const Members<WorkTime> rows = {
      needed(text_member<&WorkTime::model>("model", "")),
      needed(whole_member<&WorkTime::seq_len>("seq_len", 1, most_of_count, "")),
      needed(text_member<&WorkTime::precision>("precision", "")),
      needed(text_member<&WorkTime::trainable>("trainable", "all or lora")),
      needed(number_member<&WorkTime::time>("time", "a step over what its figures say")),
      number_member<&WorkTime::memory>("memory", "what comes and goes in a step over what operators keep"),
      number_member<&WorkTime::memory_spread>("memory_spread", "of the log of a peak over its prediction"),
  };
  return rows;
}

const Members<Framework>& stack_members() {
  static const Members<Framework> rows = [] {
    Members<Framework> all = part_members(Framework{});
    const JsonSchema by_precision = shape::map(recipe_shape()), texts = shape::list(shape::text());
    all.push_back({"description", "", shape::text()});
    all.push_back({"sources", "", shape::anything()});
    all.push_back(needed<Framework>({"name", "", shape::text()}));
    all.push_back({"aliases", "other names", texts});
    all.push_back({"title", "in words", shape::text()});
    all.push_back({"flags", "dialects of launch configurations", texts});
    all.push_back({"fitted", "figures that were fitted to runs", texts});
    all.push_back({"notes", "", shape::text()});
    all.push_back({"own_runs", "what `calibrate runs` learnt of one's own runs", shape::anything()});
    all.push_back({"works", "own runs: what no figure explains of a job", shape::list(shape_of(work_members()))});
    all.push_back({"by_precision", "recipes of single precisions", by_precision});
    all.push_back({"releases", "what changed with each", shape::list(shape_of(release_members()))});
    return all;
  }();
  return rows;
}

WorkTime read_work(const Reader& entry) {
  constexpr double most = 100;
  WorkTime work;
  read_members(entry, work_members(), work);
  if (!(work.time >= 1 / most && work.time <= most))
    entry.at("time").fail(fmt::format("expected a step's time over that of its figures, {} to {}", 1 / most, most));
  if (!(work.memory >= 1 / most && work.memory <= most))
    entry.at("memory").fail(fmt::format("expected memory over what operators keep, {} to {}", 1 / most, most));
  if (!(work.memory_spread >= 0 && work.memory_spread <= most))
    entry.at("memory_spread").fail(fmt::format("expected a standard deviation, 0 to {}", most));
  return work;
}

void read_identity(const Reader& file, Framework& stack) {
  file.allow_only(keys_of(stack_members()));
  stack.name = file.at("name").string();
  stack.title = stack.title.empty() ? file.at("title").string() : file.string_or("title", stack.title);
  stack.notes = file.string_or("notes", stack.notes);
  if (file.has("aliases")) stack.aliases = strings(file, "aliases");
  if (file.has("flags")) stack.flags = strings(file, "flags");
  if (file.has("fitted")) stack.fitted = strings(file, "fitted");
  if (const auto works = file.find("works")) {
    stack.works.clear();  // of the last overlay that has runs
    for (const Reader& entry : works->items()) stack.works.push_back(read_work(entry));
  }
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
    entry.allow_only(keys_of(release_members()));
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

/// Parts that a file or a release states; what it says of single precisions is put off until all is read.
void read_parts(const Reader& object, Framework& stack, std::vector<Reader>& by_precision) {
  read_fields(object, stack);
  if (const auto member = object.find("by_precision")) by_precision.push_back(*member);
}

/// Recipes of single precisions: the stack's own with what `stated` says of each, in order.
void read_by_precision(const std::vector<Reader>& stated, Framework& stack) {
  for (const Reader& object : stated) {
    for (const std::string& key : object.keys()) {
      const std::string name(precision(key, object.where()).name);
      auto same = std::ranges::find(stack.by_precision, name, &PrecisionRecipe::precision);
      if (same == stack.by_precision.end()) {
        same = stack.by_precision.insert(same, PrecisionRecipe{name, stack.recipe});
      }
      read_field(object.at(key), same->recipe);
    }
  }
}

}  // namespace

JsonSchema stack_shape() { return shape_of(stack_members()); }

Framework read_stack(std::span<const Reader> files, std::string_view version, std::string_view date,
                     ReleaseChoice* choice) {
  Framework stack;
  std::vector<Dated> dated;
  std::vector<Reader> by_precision;
  for (const Reader& file : files) {
    read_identity(file, stack);
    read_parts(file, stack, by_precision);
    add_releases(dated, file);
  }
  for (const Dated& d : dated) stack.releases.push_back(d.release);
  const ReleaseChoice chosen = release_choice(stack.releases, version, date);
  for (int i = 0; i <= chosen.index; ++i) {
    for (const Reader& change : dated[static_cast<std::size_t>(i)].changes) {
      read_parts(change, stack, by_precision);
    }
  }
  read_by_precision(by_precision, stack);
  if (chosen.index >= 0) stack.version = stack.releases[static_cast<std::size_t>(chosen.index)].version;
  if (choice != nullptr) *choice = chosen;
  return stack;
}

}  // namespace meshwright::parallel
