#include "calibrate/record_stacks.hpp"

#include <algorithm>
#include <string_view>

#include "core/embedded.hpp"

namespace meshwright::calibrate {
namespace {

const Reader& document() {
  static const Reader file = [] {
    constexpr std::string_view name = "record-stacks.json";
    for (const EmbeddedFile& own : embedded_recipes()) {
      if (own.name == name) return Reader::text(own.content, "data/recipes/" + std::string(name));
    }
    throw Error("data/recipes", "no " + std::string(name));
  }();
  return file;
}

std::vector<std::string> list(const Reader& row, std::string_view key) {
  std::vector<std::string> values;
  if (const auto member = row.find(key)) {
    for (const Reader& item : member->items()) values.push_back(item.string());
  }
  return values;
}

Recompute recompute_named(const Reader& text) {
  static const std::vector<std::string> names(parallel::recompute_names.begin(), parallel::recompute_names.end());
  return static_cast<Recompute>(text.one_of(names));
}

bool among(const std::vector<std::string>& values, const std::string& value) {
  return std::ranges::find(values, value) != values.end();
}

/// A row that holds for some stacks, tasks, sources, versions, dates or sizes: a profile of its own, or what its
/// switches mean.
struct Exception {
  std::vector<std::string> names, tasks, sets;
  std::string version_has, before, profile{}, stack{};
  int accelerators_from = 0;
  std::vector<std::pair<Recompute, Recompute>> recompute{};
  bool holds(const RecordedStack& run) const {
    const bool named = names.empty() || among(names, run.name);
    const bool tasked = tasks.empty() || among(tasks, run.task);
    const bool published = sets.empty() || among(sets, run.set);
    const bool said = version_has.empty() || run.version.find(version_has) != std::string::npos;
    const bool early = before.empty() || (!run.date.empty() && run.date < before);
    return named && tasked && published && said && early && run.accelerators >= accelerators_from;
  }
};

/// Whom a row holds for.
Exception holder(const Reader& entry) {
  return {.names = list(entry, "names"),
          .tasks = list(entry, "tasks"),
          .sets = list(entry, "sets"),
          .version_has = entry.string_or("version_has", ""),
          .before = entry.string_or("before", "")};
}

/// What a stack did unsaid, and whose row that is.
struct UsualRow {
  Exception of;
  UsualChoices choices;
};

std::vector<UsualRow> read_usual() {
  std::vector<UsualRow> rows;
  for (const Reader& entry : document().at("stacks").items()) {
    entry.allow_only({"names", "sets", "before", "family", "sequence_parallel", "tp_comm_overlap", "overlap",
                      "overlap_p2p", "zero_stage", "recompute", "recompute_to_fit", "one_pass", "experts_cut_by_tp"});
    rows.push_back({.of = holder(entry),
                    .choices = {.family = entry.at("family").string(),
                                .sequence_parallel = entry.at("sequence_parallel").boolean(),
                                .tp_comm_overlap = entry.at("tp_comm_overlap").boolean(),
                                .overlap = entry.at("overlap").boolean(),
                                .overlap_p2p = entry.boolean_or("overlap_p2p", true),
                                .zero_stage = entry.at("zero_stage").integer(0, 3),
                                .recompute = recompute_named(entry.at("recompute")),
                                .recompute_to_fit = entry.boolean_or("recompute_to_fit", false),
                                .one_pass = entry.boolean_or("one_pass", false),
                                .experts_cut_by_tp = entry.boolean_or("experts_cut_by_tp", false)}});
  }
  return rows;
}

std::vector<Exception> read_exceptions(std::string_view key) {
  std::vector<Exception> rows;
  for (const Reader& entry : document().at(key).items()) {
    entry.allow_only({"names", "tasks", "version_has", "before", "accelerators_from", "profile", "stack", "recompute"});
    Exception row = holder(entry);
    row.profile = entry.string_or("profile", ""), row.stack = entry.string_or("stack", "");
    row.accelerators_from = entry.integer_or("accelerators_from", 0, 0);
    if (const auto meant = entry.find("recompute")) {
      for (const std::string& from : meant->keys()) {
        row.recompute.emplace_back(recompute_named(Reader::text("\"" + from + "\"", meant->where())),
                                   recompute_named(meant->at(from)));
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Sources that pack documents when they fine-tune.
struct Documents {
  std::vector<std::string> sets;
  std::string version_has;
  int tokens = 0;
};

std::vector<Documents> read_documents() {
  std::vector<Documents> rows;
  for (const Reader& entry : document().at("documents").items()) {
    entry.allow_only({"sets", "version_has", "tokens"});
    rows.push_back({list(entry, "sets"), entry.string_or("version_has", ""),
                    entry.at("tokens").integer(1, parallel::largest_data_degree)});
  }
  return rows;
}

}  // namespace

RecordedStack recorded_stack(const Reader& record) {
  const Reader layout = record.at("layout");
  return {.name = layout.string_or("framework", "other"),
          .task = record.string_or("task", std::string(pretraining)),
          .version = layout.string_or("framework_version", ""),
          .date = record.at("source").string_or("date", ""),
          .precision = layout.string_or("precision", "bf16"),
          .set = record.string_or("set", ""),
          .accelerators = record.at("cluster").integer_or("count", 0, 0, parallel::largest_data_degree)};
}

const UsualChoices& usual_choices(const RecordedStack& run) {
  static const std::vector<UsualRow> rows = read_usual();
  const auto row = std::ranges::find_if(rows, [&](const UsualRow& r) { return r.of.holds(run); });
  return (row == rows.end() ? rows.front() : *row).choices;
}

std::string profile_of(std::string& stack, const std::string& version, const std::string& date) {
  static const std::vector<Exception> rows = read_exceptions("profiles");
  for (const Exception& row : rows) {
    if (!row.holds({.name = stack, .version = version, .date = date})) continue;
    if (!row.stack.empty()) stack = row.stack;
    return row.profile;
  }
  return stack;
}

Recompute recompute_meant(const RecordedStack& run, Recompute recorded) {
  static const std::vector<Exception> rows = read_exceptions("choices");
  for (const Exception& row : rows) {
    if (!row.holds(run)) continue;
    for (const auto& [from, to] : row.recompute) {
      if (from == recorded) return to;
    }
  }
  return recorded;
}

bool tuned_by_vendor(const std::string& set) {
  static const std::vector<std::string> sets = list(document(), "tuned");
  return among(sets, set);
}

bool users_runs(const std::string& set) {
  static const std::vector<std::string> sets = list(document(), "users");
  return among(sets, set);
}

std::optional<int> documents_of(const std::string& set, const std::string& task, const std::string& version) {
  static const std::vector<Documents> rows = read_documents();
  if (task == pretraining) return std::nullopt;
  for (const Documents& row : rows) {
    if (std::ranges::find(row.sets, set) != row.sets.end() && version.find(row.version_has) != std::string::npos)
      return row.tokens;
  }
  return std::nullopt;
}

bool has_sick_jobs(const std::string& set) {
  static const std::vector<std::string> sets = list(document(), "with_sick_jobs");
  return among(sets, set);
}

bool RecordGroup::has(const RunCheck& c) const {
  const auto begins = [&](const std::string& device) { return c.accelerator.starts_with(device); };
  return c.tier == tier && c.family == family && std::ranges::any_of(devices, begins) &&
         std::ranges::find(without, c.set) == without.end();
}

const std::vector<RecordGroup>& record_groups() {
  static const std::vector<RecordGroup> rows = [] {
    std::vector<RecordGroup> all;
    for (const Reader& entry : document().at("groups").items()) {
      entry.allow_only({"name", "tier", "family", "devices", "without"});
      all.push_back({entry.at("name").string(), entry.at("tier").string(), entry.at("family").string(),
                     list(entry, "devices"), list(entry, "without")});
    }
    return all;
  }();
  return rows;
}

std::string overlay_of_set(const std::string& set) {
  for (const Reader& entry : document().at("overlays").items()) {
    if (entry.at("set").string() == set) return entry.at("overlay").string();
  }
  return "";
}

}  // namespace meshwright::calibrate
