#include "promise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "meshwright/core/quantile.hpp"
#include "meshwright/search/search.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Best = std::map<std::string, const RunRecord*>;

/// The fastest record of each job: releases and layouts differ, what was asked for does not.
Best best_of_each_job(std::span<const RunRecord> runs) {
  Best best;
  for (const RunRecord& run : runs) {
    if (run.skipped || !run.measured.step_time || !run.state.empty() || !run.tuned) continue;
    const Job& job = run.job;
    const std::string key =
        fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", run.task, job.model.name, job.model.layers, run.accelerator,
                    job.accelerators, job.global_batch, job.seq_len, job.precision.name);
    const RunRecord*& kept = best[key];
    if (kept == nullptr || *run.measured.step_time < *kept->measured.step_time) kept = &run;
  }
  return best;
}

Promise promise_of(const RunRecord& run) {
  Promise p{.id = run.id,
            .moe = run.job.model.is_moe(),
            .measured = *run.measured.step_time,
            .layout = run.layout,
            .own = {},
            .planned = {},
            .plan = {}};
  if (!violation(run.job, run.layout)) p.own = predict(run.job, run.layout).step_time;
  const search::SearchResult found = search::search(run.job, {.top = 1});
  if (!found.best.empty()) {
    p.planned = found.best.front().prediction.step_time;
    p.plan = found.best.front().prediction.layout;
  }
  return p;
}

double ratio(const Promise& p) { return *p.planned / p.measured; }

struct Kind {
  const char* name;
  bool moe;
};
constexpr Kind kinds[] = {{"dense", false}, {"moe", true}};

/// Planned over measured of one kind of model.
struct Ratios {
  std::size_t count = 0, unplanned = 0;
  double p10 = 0, median = 0, p90 = 0;
};
Ratios ratios_of(std::span<const Promise> promises, const Kind& kind) {
  std::vector<double> values;
  std::size_t unplanned = 0;
  for (const Promise& p : promises) {
    if (p.moe != kind.moe) continue;
    p.planned ? values.push_back(ratio(p)) : void(++unplanned);
  }
  return {values.size(), unplanned, nearest_quantile(values, 0.1), nearest_quantile(values, 0.5),
          nearest_quantile(values, 0.9)};
}

/// Those that promise most against what was measured, first.
std::vector<const Promise*> boldest(std::span<const Promise> promises) {
  std::vector<const Promise*> rows;
  for (const Promise& p : promises) {
    if (p.planned) rows.push_back(&p);
  }
  std::ranges::sort(rows, {}, [](const Promise* p) { return ratio(*p); });
  return rows;
}

std::string seconds(std::optional<Seconds> time) { return time ? fmt::format("{:.3g}", time->value()) : "-"; }

}  // namespace

std::vector<Promise> promises(std::span<const RunRecord> runs) {
  const Best best = best_of_each_job(runs);
  std::vector<Promise> all;
  Progress progress("planning jobs that vendors tuned", best.size());
  for (const auto& [key, run] : best) {
    all.push_back(promise_of(*run));
    progress.advance();
  }
  return all;
}

nlohmann::ordered_json promises_json(std::span<const Promise> promises) {
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array(), summary;
  for (const Promise& p : promises) {
    const auto number = [](std::optional<Seconds> t) {
      return t ? nlohmann::ordered_json(t->value()) : nlohmann::ordered_json(nullptr);
    };
    jobs.push_back({{"id", p.id},
                    {"moe", p.moe},
                    {"measured_s", p.measured.value()},
                    {"measured_layout", describe_layout(p.layout)},
                    {"predicted_of_it_s", number(p.own)},
                    {"planned_s", number(p.planned)},
                    {"plan", p.planned ? describe_layout(p.plan) : ""}});
  }
  for (const Kind& kind : kinds) {
    const Ratios r = ratios_of(promises, kind);
    summary[kind.name] = {{"count", r.count}, {"p10", r.p10}, {"median", r.median}, {"p90", r.p90}};
  }
  return {{"jobs", jobs}, {"summary", summary}};
}

std::string promises_text(std::span<const Promise> promises) {
  Table summary({{"step planned over best measured", Align::left}, {"jobs"}, {"p10"}, {"median"}, {"p90"}});
  for (const Kind& kind : kinds) {
    const Ratios r = ratios_of(promises, kind);
    summary.add({kind.name, fmt::format("{}", r.count), fmt::format("{:.2f}", r.p10), fmt::format("{:.2f}", r.median),
                 fmt::format("{:.2f}", r.p90)});
  }
  Table rows(
      {{"boldest promises", Align::left}, {"measured s"}, {"its layout s"}, {"planned s"}, {"plan", Align::left}});
  const auto bold_ones = boldest(promises);
  for (std::size_t i = 0; i < std::min<std::size_t>(10, bold_ones.size()); ++i) {
    const Promise& p = *bold_ones[i];
    rows.add({p.id, seconds(p.measured), seconds(p.own), seconds(p.planned), describe_layout(p.plan)});
  }
  const auto none = std::ranges::count_if(promises, [](const Promise& p) { return !p.planned; });
  return summary.render() + "\n" + rows.render() +
         (none > 0 ? fmt::format("\nNo layout fits: {} of {} jobs\n", none, promises.size()) : "");
}

std::string promises_markdown(std::span<const Promise> promises) {
  std::string page =
      "\n## What a plan promises\n\nGenerated by `meshwright validate --promise --markdown`. Each job that a vendor "
      "published a tuned layout for, planned with the release and recipe of its fastest record: predicted step of the "
      "plan over the fastest measured. Below 1, nobody has reached what the plan promises.\n\n| | jobs | no layout "
      "fits "
      "| p10 | median | p90 |\n|---|---|---|---|---|---|\n";
  for (const Kind& kind : kinds) {
    const Ratios r = ratios_of(promises, kind);
    page += fmt::format("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", kind.name, r.count, r.unplanned, r.p10,
                        r.median, r.p90);
  }
  page +=
      "\n| boldest promises | measured s | its layout predicted s | planned s | measured layout | plan |\n"
      "|---|---|---|---|---|---|\n";
  const auto bold_ones = boldest(promises);
  for (std::size_t i = 0; i < std::min<std::size_t>(10, bold_ones.size()); ++i) {
    const Promise& p = *bold_ones[i];
    page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", p.id, seconds(p.measured), seconds(p.own),
                        seconds(p.planned), describe_layout(p.layout), describe_layout(p.plan));
  }
  return page;
}

}  // namespace meshwright::cli
