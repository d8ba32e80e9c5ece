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
  static const std::vector<std::string> names = {"none", "selective", "full"};
  return static_cast<Recompute>(text.one_of(names));
}

std::vector<UsualChoices> read_usual() {
  std::vector<UsualChoices> rows;
  for (const Reader& entry : document().at("stacks").items()) {
    entry.allow_only({"names", "family", "sequence_parallel", "tp_comm_overlap", "overlap", "zero_stage", "recompute",
                      "one_pass", "experts_cut_by_tp"});
    rows.push_back({.names = list(entry, "names"),
                    .family = entry.at("family").string(),
                    .sequence_parallel = entry.at("sequence_parallel").boolean(),
                    .tp_comm_overlap = entry.at("tp_comm_overlap").boolean(),
                    .overlap = entry.at("overlap").boolean(),
                    .zero_stage = entry.at("zero_stage").integer(0, 3),
                    .recompute = recompute_named(entry.at("recompute")),
                    .one_pass = entry.boolean_or("one_pass", false),
                    .experts_cut_by_tp = entry.boolean_or("experts_cut_by_tp", false)});
  }
  return rows;
}

/// A row that holds for some stacks, versions or dates: a profile of its own, or what its switches mean.
struct Exception {
  std::vector<std::string> names;
  std::string version_has, before, profile, stack;
  std::vector<std::pair<Recompute, Recompute>> recompute;
  bool holds(const std::string& name, const std::string& version, const std::string& date) const {
    const bool named = names.empty() || std::ranges::find(names, name) != names.end();
    const bool said = version_has.empty() || version.find(version_has) != std::string::npos;
    return named && said && (before.empty() || (!date.empty() && date < before));
  }
};

std::vector<Exception> read_exceptions(std::string_view key) {
  std::vector<Exception> rows;
  for (const Reader& entry : document().at(key).items()) {
    entry.allow_only({"names", "version_has", "before", "profile", "stack", "recompute"});
    Exception row{list(entry, "names"),           entry.string_or("version_has", ""), entry.string_or("before", ""),
                  entry.string_or("profile", ""), entry.string_or("stack", ""),       {}};
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

}  // namespace

const UsualChoices& usual_choices(const std::string& stack) {
  static const std::vector<UsualChoices> rows = read_usual();
  const auto row = std::ranges::find_if(
      rows, [&](const UsualChoices& u) { return std::ranges::find(u.names, stack) != u.names.end(); });
  return row == rows.end() ? rows.front() : *row;
}

std::string profile_of(std::string& stack, const std::string& version, const std::string& date) {
  static const std::vector<Exception> rows = read_exceptions("profiles");
  for (const Exception& row : rows) {
    if (!row.holds(stack, version, date)) continue;
    if (!row.stack.empty()) stack = row.stack;
    return row.profile;
  }
  return stack;
}

Recompute recompute_meant(const std::string& version, Recompute recorded) {
  static const std::vector<Exception> rows = read_exceptions("choices");
  for (const Exception& row : rows) {
    if (!row.holds("", version, "")) continue;
    for (const auto& [from, to] : row.recompute) {
      if (from == recorded) return to;
    }
  }
  return recorded;
}

bool tuned_by_vendor(const std::string& set) {
  static const std::vector<std::string> sets = list(document(), "tuned");
  return std::ranges::find(sets, set) != sets.end();
}

std::optional<int> documents_of(const std::string& set, const std::string& task, const std::string& version) {
  if (task == "pretrain") return std::nullopt;
  for (const Reader& entry : document().at("documents").items()) {
    entry.allow_only({"sets", "version_has", "tokens"});
    const auto sets = list(entry, "sets");
    if (std::ranges::find(sets, set) == sets.end()) continue;
    if (version.find(entry.string_or("version_has", "")) == std::string::npos) continue;
    return entry.at("tokens").integer(1, parallel::largest_data_degree);
  }
  return std::nullopt;
}

std::string overlay_of_set(const std::string& set) {
  for (const Reader& entry : document().at("overlays").items()) {
    if (entry.at("set").string() == set) return entry.at("overlay").string();
  }
  return "";
}

}  // namespace meshwright::calibrate
