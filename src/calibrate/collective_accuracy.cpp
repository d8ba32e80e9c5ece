#include "meshwright/calibrate/collective_accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/embedded.hpp"
#include "meshwright/calibrate/collective_bands.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::calibrate {
namespace {

/// "Why these": data/measurements/collective-notes.json.
std::string reasons() {
  const Reader notes = Reader::text(embedded_notes().front().content, "data/measurements/collective-notes.json");
  std::string text = "\n## Why these\n\n";
  for (const Reader& note : notes.at("notes").items())
    text += fmt::format("- {}: {}\n", note.at("tables").string(), note.at("reason").string());
  return text;
}

/// Bands by class, and how they hold where groups are left out.
std::string bands_text(const Reader& left_out) {
  std::string text =
      "\n## Bands\n\nMultiples of the predicted time below which 10 % and 90 % of those rows lie (`collective` prints "
      "them); tables count alike.\n\n| class | rows | P10 | P90 |\n|---|---:|---:|---:|\n";
  const CollectiveBands bands = read_collective_bands(left_out.at("bands"));
  for (std::size_t at = 0; at < bands.size(); ++at)
    text += fmt::format("| {} | {} | {:.2f} | {:.2f} |\n", collective_classes[at], bands[at].rows, bands[at].low,
                        bands[at].high);
  text += "\nRows within bands of the others:\n\n| left out | rows | inside % |\n|---|---:|---:|\n";
  const Reader coverage = left_out.at("coverage");
  for (const std::string& way : coverage.keys())
    text += fmt::format("| each {} | {} | {:.1f} |\n", way, coverage.at(way).at("rows").integer(),
                        100 * coverage.at(way).at("inside").number());
  return text;
}

/// What the fit that ships reports of sources that it had not seen.
std::string left_out_figures() {
  for (const EmbeddedFile& file : embedded_platforms()) {
    const auto fit = Reader::text(file.content, "data/hardware/platforms/" + std::string(file.name)).find("fit");
    if (!fit) continue;
    const Reader out = fit->at("sources_left_out");
    return fmt::format(
               "\n## Cross-validation\n\nSources dealt into {} parts, each predicted by the fit of the others, from "
               "the same "
               "start (`meshwright calibrate nccl-tests --cross-validate`):\n{:.1f} % median and {:.1f} % p90 from 1 "
               "MiB, "
               "{:.1f} % median and {:.1f} % p90 up to 64 KiB.\n",
               out.at("parts").integer(), 100 * out.at("large_median_ape").number(),
               100 * out.at("large_p90_ape").number(), 100 * out.at("small_median_ape").number(),
               100 * out.at("small_p90_ape").number()) +
           bands_text(out);
  }
  return "";
}

std::string percent(const ErrorSummary& s, double ErrorSummary::*value) {
  return s.rows == 0 ? "–" : fmt::format("{:.1f}", 100 * s.*value);
}

std::string line(const std::string& title, const std::vector<CollectiveCheck>& checks) {
  const ErrorSummary large = summarise(checks, large_from, no_limit), small = summarise(checks, {}, small_to);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", title, checks.size(), large.rows,
                     percent(large, &ErrorSummary::median), percent(large, &ErrorSummary::p90), small.rows,
                     percent(small, &ErrorSummary::median), percent(small, &ErrorSummary::p90));
}

using Groups = std::map<std::string, std::vector<CollectiveCheck>>;

std::string table(const std::string& head, const Groups& groups) {
  std::string text = fmt::format(
      "| {} | tables | rows ≥ 1 MiB | median % | p90 % | rows ≤ 64 KiB | median % | p90 % |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|\n",
      head);
  for (const auto& [title, checks] : groups) text += line(title, checks);
  return text;
}

/// Tables by their median error over all rows, largest first.
std::string worst(std::vector<CollectiveCheck> checks, std::size_t count) {
  const auto error = [](const CollectiveCheck& c) { return summarise({c}, {}, no_limit).median; };
  std::ranges::stable_sort(checks, [&](const auto& a, const auto& b) { return error(a) > error(b); });
  std::string text = "| table | platform | ranks | median error % |\n|---|---|---:|---:|\n";
  for (std::size_t i = 0; i < std::min(count, checks.size()); ++i) {
    const CollectiveCheck& c = checks[i];
    text += fmt::format("| {} | {} | {} | {:.0f} |\n", c.id, c.platform, c.ranks, 100 * error(c));
  }
  return text;
}

}  // namespace

std::string collective_accuracy(const std::vector<CollectiveCheck>& checks) {
  Groups platforms, kinds, all;
  std::map<std::string, int> left_out;
  std::vector<CollectiveCheck> used;
  for (const CollectiveCheck& c : checks) {
    if (!c.skipped.empty()) {
      ++left_out[c.skipped];
      continue;
    }
    platforms[c.platform].push_back(c);
    kinds[std::string(name(c.collective))].push_back(c);
    all["all"].push_back(c);
    used.push_back(c);
  }
  std::string text =
      "# Collectives: predicted against published nccl-tests tables\n\n"
      "Generated from data/measurements/collectives.jsonl.gz; no parameter belongs to a table. Errors are |predicted / "
      "measured - 1|, of rows,\nunder the algorithm and protocol that NCCL's tuner chooses (the fastest where it has "
      "no "
      "model).\n\n";
  text += table("", all) + "\n## By platform\n\n" + table("scale-up + network", platforms) + "\n## By collective\n\n" +
          table("collective", kinds) + "\n## Worst tables\n\n" + worst(used, 15) + reasons() + left_out_figures() +
          "\n## Left out, by rule\n\n";
  for (const auto& [rule, count] : left_out) text += fmt::format("- {}: {}\n", count, rule);
  return text;
}

}  // namespace meshwright::calibrate
