#include "measured.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>

#include "command.hpp"
#include "meshwright/calibrate/diagnose.hpp"
#include "meshwright/calibrate/nccl_tests.hpp"
#include "meshwright/calibrate/perftest.hpp"
#include "meshwright/core/units.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

double gigabytes_a_second(BytesPerSecond rate) { return rate.value() * 1e-9; }

BytesPerSecond rate_of(const std::string& text, const std::string& where) {
  const auto rate = parse_quantity<BytesPerSecond::dimension>(text, where);
  if (!(rate.value() > 0)) throw Error(where, fmt::format("found '{}', expected a rate above zero", text));
  return rate;
}

/// What all NICs of a node move together at the rate of one pair.
BytesPerSecond of_all_nics(BytesPerSecond pair, const Cluster& cluster) {
  if (cluster.node.nics == 0)
    throw Error("--raw-rdma", fmt::format("{} has no NICs that a rate could be compared with", cluster.name));
  return pair * cluster.node.nics;
}

/// One pair's rate, written as a rate or in a log of perftest, for all NICs of a node.
BytesPerSecond raw_rdma(const std::string& text, const Cluster& cluster) {
  std::error_code absent;
  const bool file = std::filesystem::exists(text, absent);
  return of_all_nics(file ? read_perftest_log(read_file(text), text).best() : rate_of(text, "--raw-rdma"), cluster);
}

std::vector<std::string> lines_of(const std::string& file) {
  std::istringstream text(read_file(file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Observation observation(const ObservationOptions& o, const CollectiveTable& table, const Cluster& cluster) {
  Observation seen{.cluster = cluster,
                   .collective = table.collective,
                   .ranks = table.ranks,
                   .rows = table.rows,
                   .options = table.options,
                   .lines = {},
                   .scaling = o.scaling,
                   .unstable = o.unstable};
  if (!o.lines.empty()) seen.lines = lines_of(o.lines);
  if (!o.busbw.empty()) seen.busbw = rate_of(o.busbw, "--busbw");
  if (!o.one_node_busbw.empty()) seen.one_node_busbw = rate_of(o.one_node_busbw, "--one-node-busbw");
  if (!o.raw_rdma.empty()) seen.raw_rdma = raw_rdma(o.raw_rdma, cluster);
  return seen;
}

Json diagnosis_json(const Diagnosis& d) {
  Json out = {{"healthy", d.healthy},
              {"summary", d.summary},
              {"plateau", d.plateau},
              {"latency", d.latency},
              {"shortfall_from_bytes", d.shortfall_from.value()},
              {"findings", Json::array()}};
  for (const LikelyCause& f : d.findings)
    out["findings"].push_back({{"cause", f.cause}, {"reason", f.reason}, {"check", f.check}, {"misfit", f.misfit}});
  return out;
}

void print_findings(const Diagnosis& d) {
  std::cout << bold("Diagnosis: ") << d.summary << "\n";
  for (const LikelyCause& f : d.findings)
    std::cout << "  " << bold(f.cause) << "\n" << wrap(f.reason, 4) << "\n" << wrap("check: " + f.check, 4) << "\n";
}

/// Rows of nccl-tests and of this program, side by side.
struct Compared {
  Table table{{{"size (B)"},
               {"measured (us)"},
               {"predicted (us)"},
               {"error"},
               {"busbw measured"},
               {"busbw predicted"},
               {"algorithm", Align::left},
               {"protocol", Align::left}}};
  Json json = Json::array();

  void add(const CheckedRow& r, double factor) {
    const double predicted = gigabytes_a_second(r.bytes / r.predicted);
    const double measured = gigabytes_a_second(r.bytes / r.measured) * factor;
    table.add({fmt::format("{:.0f}", r.bytes.value()), fmt::format("{:.2f}", r.measured.value() * 1e6),
               fmt::format("{:.2f}", r.predicted.value() * 1e6), fmt::format("{:+.0f} %", 100 * r.error()),
               fmt::format("{:.2f}", measured), fmt::format("{:.2f}", predicted * factor), std::string(r.algorithm),
               std::string(r.protocol)});
    json.push_back({{"bytes", r.bytes.value()},
                    {"time_us", r.predicted.value() * 1e6},
                    {"algbw_gbps", predicted},
                    {"busbw_gbps", predicted * factor},
                    {"algo", r.algorithm},
                    {"proto", r.protocol},
                    {"measured_time_us", r.measured.value() * 1e6},
                    {"relative_error", r.error()}});
  }
};

/// By how much predictions miss, over all rows.
double misfit(const CollectiveCheck& checked) {
  double sum = 0;
  for (const CheckedRow& r : checked.rows) sum += std::abs(std::log(r.predicted / r.measured));
  return checked.skipped.empty() ? sum : std::numeric_limits<double>::infinity();
}

/// Lets NCCL's tuner choose the rows' algorithms, or the fastest serve, as --policy says. Where it says nothing the
/// policy counts that lies nearer to what was measured: nobody knows what the environment of a log forced.
CollectiveTable by_policy(const CollectiveTable& table, const Cluster& cluster, const std::string& policy) {
  CollectiveTable tuned = table, fastest = table;
  follow_tuner(tuned, cluster);
  for (MeasuredRow& row : fastest.rows) row.options = fastest.options;
  if (!policy.empty()) return policy == "fastest" ? fastest : tuned;
  if (table.least_channels > 0 || table.most_channels > 0) return tuned;  // nothing else knows channels
  return misfit(check(fastest)) < misfit(check(tuned)) ? fastest : tuned;
}

/// `text` is that of --measured.
void diagnose_collective(const ObservationOptions& o, const std::string& text, const CollectiveTable& asked,
                         const Cluster& cluster, bool json) {
  CollectiveTable table = asked;
  std::vector<std::string> remarks;
  if (!o.measured.empty()) {
    const NcclTestsLog log = read_nccl_tests_log(text, o.measured);
    table = table_of_log(log, cluster, asked.collective, asked.ranks);
    table.options = asked.options;
    table.least_channels = asked.least_channels, table.most_channels = asked.most_channels;
    remarks = log.remarks;
  }
  table = by_policy(table, cluster, o.policy);
  const CollectiveCheck checked = check(table);
  if (!checked.skipped.empty()) throw Error(o.measured.empty() ? "collective" : o.measured, checked.skipped);
  Observation seen = observation(o, table, cluster);
  seen.lines.insert(seen.lines.end(), remarks.begin(), remarks.end());
  const Diagnosis d = diagnose(seen);
  Compared rows;
  for (const CheckedRow& r : checked.rows) rows.add(r, busbw_factor(table.collective, table.ranks).value());
  if (json) return print_json({{"rows", rows.json}, {"diagnosis", diagnosis_json(d)}});
  if (!checked.rows.empty()) std::cout << rows.table.render() << "\n";
  print_findings(d);
}

/// One pair of NICs: what no collective of the machine exceeds.
void diagnose_link(const ObservationOptions& o, const PerftestLog& log, const CollectiveTable& asked,
                   const Cluster& cluster, bool json) {
  CollectiveTable table = asked;
  table.rows.clear();
  Observation seen = observation(o, table, cluster);
  seen.raw_rdma = of_all_nics(log.best(), cluster);
  const Diagnosis d = diagnose(seen);
  const BytesPerSecond nic = cluster.node.nic_bandwidth;
  if (json) {
    Json rows = Json::array();
    for (const PerftestRow& r : log.rows)
      rows.push_back({{"bytes", r.bytes.value()},
                      {"average_bytes_per_s", r.average.value()},
                      {"peak_bytes_per_s", r.peak.value()},
                      {"of_nic_rate", r.average / nic}});
    return print_json({{"test", log.test},
                       {"device", log.device},
                       {"nic_bytes_per_s", nic.value()},
                       {"rows", rows},
                       {"diagnosis", diagnosis_json(d)}});
  }
  Table shown({{"size (B)"}, {"average (GB/s)"}, {"peak (GB/s)"}, {"of the NIC's rate"}});
  for (const PerftestRow& r : log.rows)
    shown.add({fmt::format("{:.0f}", r.bytes.value()), fmt::format("{:.2f}", gigabytes_a_second(r.average)),
               r.peak.value() > 0 ? fmt::format("{:.2f}", gigabytes_a_second(r.peak)) : "-",
               fmt::format("{:.0f} %", 100 * (r.average / nic))});
  std::cout << fmt::format("{} on {}; a NIC of {} moves {}\n\n", log.test.empty() ? "perftest" : log.test,
                           log.device.empty() ? "one pair" : log.device, cluster.name, format(nic))
            << shown.render() << "\n";
  print_findings(d);
}

}  // namespace

bool ObservationOptions::any() const {
  return !measured.empty() || !busbw.empty() || !one_node_busbw.empty() || !raw_rdma.empty() || !lines.empty() ||
         scaling > 0 || unstable;
}

void add_observation_options(CLI::App& command, ObservationOptions& o) {
  command.add_option("--measured", o.measured, "A log of nccl-tests, or of ib_write_bw, to diagnose")
      ->check(some_text());
  command.add_option("--busbw", o.busbw, "Bus bandwidth reached at large sizes, where there is no log: '150 GB/s'")
      ->check(some_text());
  command.add_option("--one-node-busbw", o.one_node_busbw, "The same collective's, inside one node")
      ->check(some_text());
  command.add_option("--raw-rdma", o.raw_rdma, "What one pair of NICs reaches: '392 Gb/s', or ib_write_bw's log")
      ->check(some_text());
  command.add_option("--scaling", o.scaling, "Throughput a device on several nodes over that on one")
      ->check(decimal_number(0.001, 2));
  command.add_flag("--unstable", o.unstable, "The figures vary from run to run");
  command.add_option("--lines", o.lines, "A text with lines of NCCL_DEBUG=INFO, env, lspci -vvv")->check(some_text());
}

void print_diagnosis(const ObservationOptions& o, const CollectiveTable& asked, const Cluster& cluster, bool json) {
  const std::string text = o.measured.empty() ? "" : read_file(o.measured);
  if (!is_perftest_log(text)) return diagnose_collective(o, text, asked, cluster, json);
  if (!o.raw_rdma.empty())
    throw Error("--raw-rdma", "found with a log of perftest as --measured, expected one of both");
  diagnose_link(o, read_perftest_log(text, o.measured), asked, cluster, json);
}

}  // namespace meshwright::cli
