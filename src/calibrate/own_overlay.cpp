// Own runs' figures as an overlay of the hardware database.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "calibrate/overlay_fields.hpp"
#include "core/json_text.hpp"
#include "meshwright/calibrate/nearest_run.hpp"
#include "meshwright/calibrate/own_fit.hpp"
#include "meshwright/parallel/run_figures.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const OwnFit& fit) {
  Json rows = Json::array();
  for (const OwnMemory& m : fit.memory) {
    rows.push_back({{"of", m.owner},
                    {"runs", m.runs},
                    {"after", rounded(m.after)},
                    {"log_spread_before", rounded(m.spread_before)},
                    {"log_spread_after", rounded(m.spread_after)},
                    {"mean_error_before", rounded(m.error_before)},
                    {"mean_error_after", rounded(m.error_after)}});
  }
  return rows;
}

Json figures_json(const OwnFit& fit) {
  Json figures = Json::array();
  for (const OwnFigure& f : fit.figures) {
    figures.push_back({{"of", f.owner},
                       {"field", f.field},
                       {"before", rounded(f.before)},
                       {"after", rounded(f.after)},
                       {"log_spread_before", rounded(f.spread_before)},
                       {"log_spread_after", rounded(f.spread_after)},
                       {"told", rounded(f.told())}});
  }
  return {{"runs", fit.runs},
          {"mean_error_before", rounded(fit.error_before)},
          {"mean_error_after", rounded(fit.error_after)},
          {"within_noise", fit.within_noise},
          {"figures", figures},
          {"memory", memory_json(fit)}};
}

/// Rows of a matrix, unrounded: what is nearly singular bears no rounding.
Json rows_of(const std::vector<double>& values, std::size_t columns) {
  Json rows = Json::array();
  for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(columns))
    rows.push_back(std::vector<double>(at, at + static_cast<std::ptrdiff_t>(columns)));
  return rows;
}

Json discrepancy_json(const Knowledge& known) {
  const Discrepancy& d = known.discrepancy;
  Json apart = Json::object(), runs = Json::array();
  for (std::size_t i = 0; i < place_features; ++i) apart[std::string(place_feature(i))] = d.likeness.apart[i];
  for (std::size_t i = 0; i < d.runs.size(); ++i) {
    const Place& place = d.runs[i];
    runs.push_back({{"site", place.site},
                    {"doublings", place.doublings},
                    {"names", place.names},
                    {"spread", place.spread},
                    {"weight", d.weights[i]}});
  }
  return {{"likeness", {{"alone", d.likeness.alone}, {"common", d.likeness.common}, {"apart", apart}}},
          {"runs", runs},
          {"inverse", rows_of(d.inverse, d.runs.size())},
          {"cross", rows_of(d.cross, d.runs.size())}};
}

Json knowledge_json(const OwnFit& fit, std::span<const OwnRun> runs) {
  const std::size_t n = fit.known.figures.size();
  Json rows = Json::array();
  for (std::size_t r = 0; r < n; ++r) {
    Json row = Json::array();
    for (std::size_t c = 0; c < n; ++c) row.push_back(rounded(fit.known.covariance[r * n + c]));
    rows.push_back(std::move(row));
  }
  Json measured = Json::array();
  for (const OwnRun& run : runs) measured.push_back(Json::parse(run_shape_json(run.id, run.job, run.layout)));
  return {{"runs", fit.runs},
          {"measured", measured},
          {"figures", fit.known.figures},
          {"covariance", rows},
          {"discrepancy", discrepancy_json(fit.known)}};
}

/// The stack's entry, and in it that of the release of the runs: what a release states would stand over the stack's.
void set_stack(Json& frameworks, const OwnFigure& f, std::string_view name, std::span<const OwnRun> runs) {
  Json& entry = named(frameworks, name);
  set_stack_field(entry, f.field, f.after);
  for (const OwnRun& run : runs) {
    const Framework& stack = run.job.framework;
    if (stack.name != name || stack.version.empty()) continue;
    Json& releases = entry["releases"];
    if (releases.is_null()) releases = Json::array();
    auto same = std::ranges::find_if(releases, [&](const Json& r) { return r["version"] == stack.version; });
    if (same == releases.end()) {
      releases.push_back({{"version", stack.version}});
      same = releases.end() - 1;
    }
    set_stack_field(*same, f.field, f.after);
  }
}

/// What no figure explains of a job: its steps over what the figures say.
Json work_json(const OwnFigure& f, const Job& job) {
  return {{"model", job.model.name},
          {"seq_len", job.seq_len},
          {"precision", job.precision.name},
          {"trainable", trainable_names[static_cast<std::size_t>(job.recipe.trainable.kind)]},
          {"time", rounded(f.after)}};
}

/// Of the jobs that the stack ran.
Json works_json(const OwnFit& fit, std::span<const OwnRun> runs, std::string_view stack) {
  Json works = Json::array();
  for (const OwnFigure& f : fit.figures) {
    const RunField& row = run_field(f.field);
    if (row.by_traits == nullptr) continue;
    const auto same = std::ranges::find_if(
        runs, [&](const OwnRun& run) { return run.job.framework.name == stack && row.owner(run.job) == f.owner; });
    if (same == runs.end()) continue;
    works.push_back(work_json(f, same->job));
    const auto memory = std::ranges::find(fit.memory, f.owner, &OwnMemory::owner);
    if (memory == fit.memory.end()) continue;
    works.back()["memory"] = rounded(memory->after);
    works.back()["memory_spread"] = rounded(memory->spread_after);
  }
  return works;
}

}  // namespace

std::string own_overlay_json(const OwnFit& fit, std::span<const OwnRun> runs, const Catalog& catalog,
                             const std::string& description) {
  Json document = {{"description", description},
                   {"fit", figures_json(fit)},
                   {"devices", Json::array()},
                   {"media", Json::array()},
                   {"frameworks", Json::array()}};
  for (const OwnFigure& f : fit.figures) {
    const auto [kind, name] = owner_parts(f.owner);
    if (kind == "device")
      set_device_field(named(document["devices"], name), f.field, f.after, catalog.accelerator(name));
    if (kind == "medium") named(document["media"], name)["in_step"] = rounded(f.after);
    if (kind == "framework") set_stack(document["frameworks"], f, name, runs);
  }
  Json& stacks = document["frameworks"];
  for (const OwnRun& run : runs) named(stacks, run.job.framework.name);
  if (!stacks.empty()) stacks.back()["own_runs"] = knowledge_json(fit, runs);
  for (Json& stack : stacks) stack["works"] = works_json(fit, runs, stack["name"].get<std::string>());
  return json_text(document, 1) + "\n";
}

}  // namespace meshwright::calibrate
