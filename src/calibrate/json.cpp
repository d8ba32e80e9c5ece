#include "meshwright/calibrate/json.hpp"
#include "core/json_text.hpp"
#include "meshwright/parallel/memory.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json prediction_object(const RunCheck& c) {
  if (!c.prediction) return nullptr;
  const Prediction& p = *c.prediction;
  Json object = {{"step_time_s", p.step_time.value()},
                 {"peak_memory_bytes", c.logged_peak.value_or(p.memory.reserved).value()},
                 {"comm_share", p.comm_share},
                 {"mfu", p.mfu},
                 {"p10_s", p.p10.value()},
                 {"p90_s", p.p90.value()},
                 {"fit", name(fit(c.fits_probability))},
                 {"fits_probability", c.fits_probability},
                 {"memory_open", c.memory_open}};
  Json& terms = object["breakdown"] = Json::object();
  describe(p.time, [&](const char* term, Seconds time) { terms[std::string(term) + "_s"] = time.value(); });
  return object;
}

Json run_object(const RunCheck& c) {
  Json entry = {{"id", c.id},     {"kind", c.kind},           {"set", c.set},           {"tier", c.tier},
                {"task", c.task}, {"framework", c.framework}, {"device", c.accelerator}};
  if (!c.state.empty()) entry["state"] = c.state;
  entry["predicted"] = prediction_object(c);
  entry["measured"] = {{"step_time_s", c.measured.step_time ? Json(c.measured.step_time->value()) : Json()},
                       {"peak_memory_bytes", c.measured.peak_memory ? Json(c.measured.peak_memory->value()) : Json()},
                       {"mfu", optional_number(c.measured.mfu)}};
  entry["relative_error"] = {{"step_time", optional_number(c.step_time_error)},
                             {"peak_memory", optional_number(c.peak_memory_error)}};
  entry["skipped"] = c.skipped ? Json(*c.skipped) : Json();
  return entry;
}

/// Nothing measured has no error.
Json figures_object(const ErrorFigures& f) {
  const auto figure = [&](double value) { return f.count > 0 ? Json(value) : Json(); };
  return {{"count", f.count},
          {"skipped", f.skipped},
          {"mape", figure(f.mean)},
          {"median_ape", figure(f.median)},
          {"p90_ape", figure(f.p90)},
          {"bias", figure(f.bias)},
          {"baseline_mape", figure(f.baseline)}};
}

Json fits_object(const FitFigures& f) {
  Json object = {{"count", f.ran}};
  for (std::size_t i = 0; i < fit_names.size(); ++i) object[std::string(fit_names[i])] = f.answers[i];
  object["memory_open"] = f.open;
  object["does not fit as resolved"] = f.refused_as_resolved;
  return object;
}

}  // namespace

std::vector<std::pair<std::string, ErrorFigures>> in_reading_order(const std::map<std::string, ErrorFigures>& groups) {
  std::vector<std::pair<std::string, ErrorFigures>> rows(groups.begin(), groups.end());
  const auto rank = [](const std::string& group) {
    constexpr std::string_view order[] = {"headline", "all", "tier", "framework", "device", "precision", "set", "task"};
    return std::ranges::find_if(order, [&](std::string_view prefix) { return group.starts_with(prefix); }) - order;
  };
  std::ranges::stable_sort(rows, {}, [&](const auto& row) { return std::pair{rank(row.first), -row.second.count}; });
  return rows;
}

std::string to_json(std::span<const RunCheck> checks) {
  Json document = {{"runs", Json::array()}};
  for (const RunCheck& check : checks) document["runs"].push_back(run_object(check));
  const auto groups = figures_by_group(checks);
  const auto all = groups.find("all");
  const ErrorFigures total = all == groups.end() ? ErrorFigures{} : all->second;
  Json by_group = Json::object();
  for (const auto& [name, figures] : in_reading_order(groups)) by_group[name] = figures_object(figures);
  const auto skipped = std::ranges::count_if(checks, [](const RunCheck& c) { return c.skipped.has_value(); });
  const Json figures = figures_object(total);
  document["summary"] = {{"count", checks.size()}, {"skipped", skipped}};
  for (const char* key : {"mape", "median_ape", "p90_ape"}) document["summary"][key] = figures[key];
  document["summary"]["by_group"] = by_group;
  Json& fits = document["summary"]["device_memory"] = Json::object();
  for (const auto& [stack, of] : fits_by_stack(checks)) fits[stack] = fits_object(of);
  return json_text(document);
}

}  // namespace meshwright::calibrate
