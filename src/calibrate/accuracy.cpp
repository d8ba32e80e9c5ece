// docs/accuracy.md from checked runs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/embedded.hpp"
#include "meshwright/calibrate/validate_runs.hpp"

namespace meshwright::calibrate {
namespace {

std::string figures_row(const std::string& name, const ErrorFigures& f) {
  if (f.count == 0) return fmt::format("| {} | 0 | {} | - | - | - | - | - |\n", name, f.skipped);
  return fmt::format("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:+.1f} | {:.1f} |\n", name, f.count, f.skipped,
                     100 * f.median, 100 * f.mean, 100 * f.p90, 100 * f.bias, 100 * f.baseline);
}

std::string figures_table(const std::map<std::string, ErrorFigures>& groups, std::string_view prefix) {
  std::string rows;
  for (const auto& [name, f] : groups) {
    if (name.starts_with(prefix) && f.count + f.skipped > 0) {
      const std::size_t colon = name.find(':');
      const bool labelled = prefix.ends_with(":") && colon != std::string::npos;
      rows += figures_row(labelled ? name.substr(colon + 1) : name, f);
    }
  }
  return "| group | runs | left out | median | mean | p90 | bias | constant rate, mean |\n"
         "|---|---|---|---|---|---|---|---|\n" +
         rows + "\n";
}

/// Mixtures of one model on a stack and device in a format, from three runs on: whether they err to one side.
std::string mixtures_table(std::span<const RunCheck> checks) {
  constexpr double wanted = 0.1;
  constexpr std::size_t least = 3;
  std::map<std::string, std::vector<double>> families;
  for (const RunCheck& c : checks) {
    if (!c.experts || !c.counted || !c.step_time_error || c.tier == "C") continue;
    families[fmt::format("{} | {} | {} | {}", c.model, c.framework, c.accelerator, c.precision)].push_back(
        *c.step_time_error);
  }
  std::vector<std::pair<double, std::string>> rows;
  std::size_t inside = 0;
  for (const auto& [name, errors] : families) {
    if (errors.size() < least) continue;
    const double bias = std::reduce(errors.begin(), errors.end()) / static_cast<double>(errors.size());
    inside += std::abs(bias) <= wanted ? 1U : 0U;
    rows.emplace_back(-std::abs(bias), fmt::format("| {} | {} | {:+.1f} |\n", name, errors.size(), 100 * bias));
  }
  std::ranges::sort(rows);
  std::string out = fmt::format(
      "Mean signed error in % of mixtures, by model, stack, device and format, of {} runs or more of tiers A and B. "
      "Within {:.0f} %: {} of {}.\n\n| model | stack | device | format | runs | bias |\n|---|---|---|---|---|---|\n",
      least, 100 * wanted, inside, rows.size());
  for (const auto& [size, row] : rows) out += row;
  return out + "\n";
}

/// What the model leaves open of a run, for the list of those that are furthest off.
std::string reason(const RunCheck& c) {
  if (!c.state.empty()) return "sick by its twins (" + c.state + ")";
  if (c.tier == "C") return "layout or figure derived, see the source";
  const Layout& l = c.prediction->layout;
  if (l.ep > 1) return "expert exchange and routing of that release";
  if (l.tp > c.node_accelerators) return "tensor parallelism across nodes";
  if (l.pp > 1 && l.accelerators() > c.node_accelerators) return "sends between nodes";
  if (l.zero_stage == 3) return "what a stack hides of its gathers";
  return "not explained by the configuration";
}

std::string outliers(std::span<const RunCheck> checks, std::size_t count) {
  std::vector<const RunCheck*> far;
  for (const RunCheck& c : checks) {
    if (c.counted && c.step_time_error && c.tier == "A") far.push_back(&c);
  }
  const auto size = [](const RunCheck* c) { return std::abs(std::log1p(*c->step_time_error)); };
  std::ranges::stable_sort(far, [&](const RunCheck* a, const RunCheck* b) { return size(a) > size(b); });
  if (far.size() > count) far.resize(count);
  std::string rows = "| run | measured s | predicted s | error % | what is open |\n|---|---|---|---|---|\n";
  for (const RunCheck* c : far) {
    rows += fmt::format("| {} | {:.4g} | {:.4g} | {:+.0f} | {} |\n", c->id, c->measured.step_time->value(),
                        c->prediction->step_time.value(), 100 * *c->step_time_error, reason(*c));
  }
  return rows;
}

/// Of runs that ran, by stack: those with a wrong answer first.
std::string fits_table(std::span<const RunCheck> checks) {
  const auto by_stack = fits_by_stack(checks);
  std::vector<std::pair<std::string, FitFigures>> rows(by_stack.begin(), by_stack.end());
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const auto& row) {
    return std::pair{row.second.of(Fit::does_not_fit), row.second.ran};
  });
  std::string out =
      "| stack | runs | fits or likely | borderline | unlikely | does not fit | the same as resolved | left open |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const auto& [stack, f] : rows) {
    out +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", stack, f.ran, f.of(Fit::fits) + f.of(Fit::likely),
                    f.of(Fit::borderline), f.of(Fit::unlikely), f.of(Fit::does_not_fit), f.refused_as_resolved, f.open);
  }
  return out + "\n";
}

/// What the shipped fit reports of groups that it had not seen.
std::string left_out_figures() {
  const Reader fit = Reader::text(embedded_fitted().front().content, "data/fitted/runs.json").at("fit");
  const auto row = [&](const char* title, const char* key) {
    const Reader errors = fit.at(key);
    return fmt::format("| {} | {:.1f} | {:.1f} |\n", title, 100 * errors.at("median").number(),
                       100 * errors.at("mean").number());
  };
  const Reader users = fit.at("users_set_left_out");
  const std::string of_users =
      fmt::format("each source of ordinary users' runs ({} configurations, all tasks, tiers A and B)",
                  users.at("configurations").integer());
  return fmt::format(
             "## Cross-validation\n\n{} parameters fitted to {} configurations of published runs (all tiers and "
             "tasks of pre-training); each group predicted by the fit of all others, from the same priors. "
             "Mean error with the priors alone: {:.1f} %; with the fit: {:.1f} %.\n\n"
             "| left out in turn | median | mean |\n|---|---|---|\n",
             fit.at("parameters").items().size(), fit.at("configurations").integer(),
             100 * fit.at("mean_error_before").number(), 100 * fit.at("mean_error_after").number()) +
         row("each model on a device", "model_and_device_left_out") + row("each source of records", "set_left_out") +
         row(of_users.c_str(), "users_set_left_out") +
         fmt::format(
             "\nOf the {} records of ordinary users' runs, {} can't be stated as a job ({:.1f} %). "
             "`meshwright calibrate runs data/runs/published.jsonl --from-benchmarks` prints these figures.\n\n",
             users.at("records").integer(), users.at("not_stated").integer(),
             100.0 * users.at("not_stated").integer() / users.at("records").integer());
}

}  // namespace

std::string accuracy_markdown(std::span<const RunCheck> checks) {
  const auto groups = figures_by_group(checks);
  std::string out =
      "# Accuracy\n\nGenerated by `meshwright validate --markdown`. Absolute relative error of the step "
      "time in %, predicted against measured.\n\n"
      "*Constant rate* is the simplest model there is: one rate for each device, number format and stack, the "
      "median of these very runs (so it is flattered). A run is left out only by a written rule that does "
      "not look at its error: models or layouts that were not published, and jobs that their own "
      "twins show to be sick (shown with them in too). Runs of one configuration under different releases "
      "differ by 2 % (median) to 8 % (p90): the noise floor.\n\n";
  out += "## Headline\n\n" + figures_table(groups, "headline") + figures_table(groups, "all");
  for (const auto& [title, prefix] :
       {std::pair{"By stack", "framework:"}, std::pair{"By device", "device:"},
        std::pair{"By number format", "precision:"}, std::pair{"By source", "set:"},
        std::pair{"By tier (A: all known; C: incomplete or derived)", "tier:"}, std::pair{"Other tasks", "task:"},
        std::pair{"Stacks that no profile knows (predicted as any stack, counted nowhere else)", "unknown stack:"}}) {
    out += fmt::format("## {}\n\n", title) + figures_table(groups, prefix);
  }
  out += "## Mixtures of experts, by model\n\n" + mixtures_table(checks) + left_out_figures();
  std::map<std::string, int> reasons;
  for (const RunCheck& c : checks) {
    if (c.skipped) ++reasons[*c.skipped];
  }
  out += "## Left out\n\n";
  for (const auto& [why, count] : reasons) out += fmt::format("- {}: {}\n", count, why);
  out +=
      "\n## Device memory of what ran\n\n"
      "What the memory model answers for every run that is predicted here; all of them ran. *Does not fit* is a "
      "confident wrong answer. Where a record leaves open what memory asks for (recompute, the ZeRO stage, sequence "
      "parallelism, the micro-batch), it may have run what a rule makes of it or what takes the least memory, each "
      "alike likely; *as resolved*: by the rule alone.\n\n" +
      fits_table(checks);
  return out + "## Furthest off, tier A\n\n" + outliers(checks, 25);
}

}  // namespace meshwright::calibrate
