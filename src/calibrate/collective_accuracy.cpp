#include "meshwright/calibrate/collective_accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace meshwright::calibrate {
namespace {

using namespace literals;

constexpr Bytes large_from = Bytes::base(1048576), small_to = Bytes::base(65536), no_limit = Bytes::base(1e18);

/// What the worst have in common; refers to the page's own tables.
constexpr std::string_view reasons =
    "\n## Why these\n\n"
    "- Slingshot with software matching (env 5) and from 128 nodes on: an all-gather's ring pays 8 us for each of its "
    "p - "
    "1 messages, a cost that two to\n  eight nodes don't show. The tables also jump by a factor of two between "
    "neighbouring "
    "sizes, run to run.\n"
    "- superbench and amd-mi300x-2n: the same hardware elsewhere has half the latency. Launch in a virtual machine, "
    "and "
    "a first ROCm release over RoCE.\n"
    "- coreweave-readme-3: 20 racks of NVL72 reach 406 GB/s where racks alone reach 900: congestion that one table "
    "can't "
    "tell from rail placement.\n"
    "- pt-ncclt178-a100pcie-3g: three GPUs of two bridges; groups that don't divide a socket are placed as if all of "
    "it "
    "communicated.\n"
    "- pt-flagperf-a100-2n-ar: the number of NICs isn't stated; the usual eight are assumed, the figure is that of "
    "two.\n"
    "- tcpx, efa-v2 and roce rest on two to eighteen tables whose systems differ by a factor of two among "
    "themselves.\n\n"
    "Held back by random thirds of tables (fitted to the other two): 7.0 % median and 30.5 % p90 from 1 MiB, 6.8 % "
    "median "
    "up to 64 KiB.\n";

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
          table("collective", kinds) + "\n## Worst tables\n\n" + worst(used, 15) + std::string(reasons) +
          "\n## Left out, by rule\n\n";
  for (const auto& [rule, count] : left_out) text += fmt::format("- {}: {}\n", count, rule);
  return text;
}

}  // namespace meshwright::calibrate
