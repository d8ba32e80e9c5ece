// meshwright collective: nccl-tests' table, predicted, and a measured log laid beside it.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "command.hpp"
#include "meshwright/calibrate/diagnose.hpp"
#include "meshwright/calibrate/nccl_tests.hpp"
#include "meshwright/collectives/evaluate.hpp"
#include "meshwright/core/units.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string collective, cluster, begin = "1K", end = "8G", algorithm = "auto", protocol, policy = "fastest";
  std::string cost_model, measured;
  double factor = 2;
  int nodes = 0, ranks = 0;
  bool nvls_off = false, sharp = false, json = false;
};

struct Row {
  Bytes bytes{};
  Seconds time{};
  std::string algorithm, protocol, link;
};

std::vector<Bytes> sizes(const Options& o) {
  const Bytes begin = parse_message_size(o.begin, "-b"), end = parse_message_size(o.end, "-e");
  if (begin.value() < 1 || end < begin) throw Error("-b", "expected sizes with 1 <= begin <= end");
  if (!(o.factor > 1)) throw Error("-f", fmt::format("found {}, expected a factor above 1", o.factor));
  std::vector<Bytes> all;
  for (double b = begin.value(); b <= end.value() * (1 + 1e-9); b *= o.factor)
    all.push_back(Bytes::base(std::floor(b)));
  return all;
}

CollectiveOptions forced(const Options& o) {
  CollectiveOptions options;
  if (o.algorithm != "auto") options.algorithm = o.algorithm;
  options.protocol = o.protocol;
  options.nvls = !o.nvls_off;
  options.collnet = o.sharp;
  return options;
}

/// The nodes that the ranks take.
Cluster taken(const Cluster& cluster, int ranks) {
  const int nodes = (ranks + cluster.node.accelerators - 1) / cluster.node.accelerators;
  if (ranks < 1 || nodes >= cluster.nodes) return cluster;
  return with(cluster, [&](ClusterSpec& spec) {
    spec.network.nodes = cluster.network.nodes;  // the fabric stays
    spec.nodes = nodes, spec.accelerators = 0;
  });
}

CollectiveTable question(const Options& o, const Cluster& cluster) {
  CollectiveTable table;
  table.id = o.collective;
  table.collective = parse_collective(o.collective, "collective");
  table.ranks = o.ranks > 0 ? o.ranks : cluster.accelerators();
  if (table.ranks < 2 || table.ranks > cluster.accelerators()) {
    throw Error("--ranks", fmt::format("found {}, expected 2 to the cluster's {} accelerators", table.ranks,
                                       cluster.accelerators()));
  }
  table.place = place_group(cluster, table.ranks, 1);
  table.platform = platform_of(cluster);
  table.options = forced(o);
  return table;
}

std::vector<Row> calibrated_rows(CollectiveTable table, const Options& o, const Cluster& cluster) {
  for (const Bytes b : sizes(o)) table.rows.push_back({b, {}, table.options});
  if (o.policy == "nccl") follow_tuner(table, cluster);
  std::vector<Row> rows;
  for (const MeasuredRow& row : table.rows) {
    const CollectiveEstimate e = estimate(table.collective, row.bytes, table.place, table.platform, row.options);
    rows.push_back({row.bytes, e.time, std::string(e.algorithm), std::string(e.protocol), e.limiting_link});
  }
  return rows;
}

/// A schedule played message by message takes longer than anyone waits for beyond these many ranks.
void check_played(CostModel model, int ranks) {
  const int most = model == CostModel::loggp ? 32 : model == CostModel::flow ? 1024 : ranks;
  if (ranks > most) {
    throw Error("--cost-model", fmt::format("found {} ranks, expected at most {} for this model; without it the "
                                            "calibrated time serves any number",
                                            ranks, most));
  }
}

std::vector<Row> modelled_rows(const CollectiveTable& table, const Options& o, const Cluster& cluster) {
  const CostModel model = parse_cost_model(o.cost_model, "--cost-model");
  check_played(model, table.ranks);
  std::vector<Row> rows;
  for (const Bytes b : sizes(o)) {
    const auto all = evaluate(model, table.collective, b, cluster, table.ranks, 1, table.options.algorithm);
    if (all.empty()) throw Error("--cost-model", fmt::format("{} has no schedule for this group", o.cost_model));
    rows.push_back({b, all.front().time, std::string(all.front().algorithm), "", all.front().limiting_link});
  }
  return rows;
}

double gigabytes_a_second(Bytes bytes, Seconds time) { return (bytes / time).value() * 1e-9; }
double algbw(const Row& row) { return gigabytes_a_second(row.bytes, row.time); }

Json row_json(const Row& row, double factor) {
  return {{"bytes", row.bytes.value()}, {"time_us", row.time.value() * 1e6},
          {"algbw_gbps", algbw(row)},   {"busbw_gbps", algbw(row) * factor},
          {"algo", row.algorithm},      {"proto", row.protocol},
          {"limiting_link", row.link}};
}

void print_rows(const std::vector<Row>& rows, double factor) {
  Table table({{"size (B)"},
               {"time (us)"},
               {"algbw (GB/s)"},
               {"busbw (GB/s)"},
               {"algorithm", Align::left},
               {"protocol", Align::left},
               {"limiting link", Align::left}});
  for (const Row& row : rows) {
    table.add({fmt::format("{:.0f}", row.bytes.value()), fmt::format("{:.2f}", row.time.value() * 1e6),
               fmt::format("{:.2f}", algbw(row)), fmt::format("{:.2f}", algbw(row) * factor), row.algorithm,
               row.protocol, row.link});
  }
  std::cout << table.render();
}

Json finding_json(const LikelyCause& f) {
  return {{"cause", f.cause}, {"reason", f.reason}, {"check", f.check}, {"misfit", f.misfit}};
}

void print_comparison_json(const CollectiveCheck& checked, const Diagnosis& d, double factor) {
  Json document = {{"rows", Json::array()},
                   {"diagnosis",
                    {{"healthy", d.healthy},
                     {"summary", d.summary},
                     {"plateau", d.plateau},
                     {"latency", d.latency},
                     {"shortfall_from_bytes", d.shortfall_from.value()},
                     {"findings", Json::array()}}}};
  for (const CheckedRow& r : checked.rows) {
    Json row = row_json({r.bytes, r.predicted, std::string(r.algorithm), std::string(r.protocol), ""}, factor);
    row["measured_time_us"] = r.measured.value() * 1e6;
    row["relative_error"] = r.error();
    document["rows"].push_back(row);
  }
  for (const LikelyCause& f : d.findings) document["diagnosis"]["findings"].push_back(finding_json(f));
  print_json(document);
}

void print_comparison(const CollectiveCheck& checked, const Diagnosis& d, double factor) {
  Table shown({{"size (B)"},
               {"measured (us)"},
               {"predicted (us)"},
               {"error"},
               {"busbw measured"},
               {"busbw predicted"},
               {"algorithm", Align::left},
               {"protocol", Align::left}});
  for (const CheckedRow& r : checked.rows) {
    shown.add({fmt::format("{:.0f}", r.bytes.value()), fmt::format("{:.2f}", r.measured.value() * 1e6),
               fmt::format("{:.2f}", r.predicted.value() * 1e6), fmt::format("{:+.0f} %", 100 * r.error()),
               fmt::format("{:.2f}", gigabytes_a_second(r.bytes, r.measured) * factor),
               fmt::format("{:.2f}", gigabytes_a_second(r.bytes, r.predicted) * factor), std::string(r.algorithm),
               std::string(r.protocol)});
  }
  std::cout << shown.render() << "\n" << bold("Diagnosis: ") << d.summary << "\n";
  for (const LikelyCause& f : d.findings) {
    std::cout << "  " << bold(f.cause) << "\n" << wrap(f.reason, 4) << "\n" << wrap("check: " + f.check, 4) << "\n";
  }
}

/// Measurement beside prediction under the tuner's choice, and what a shortfall is consistent with.
void compare(const Options& o, const CollectiveTable& asked, const Cluster& cluster) {
  const NcclTestsLog log = read_nccl_tests_log(read_file(o.measured), o.measured);
  CollectiveTable table = table_of_log(log, cluster, asked.collective, o.ranks);
  table.options = asked.options;
  follow_tuner(table, cluster);
  const CollectiveCheck checked = check(table);
  if (!checked.skipped.empty()) throw Error(o.measured, checked.skipped);
  const Diagnosis d = diagnose({.cluster = cluster,
                                .collective = table.collective,
                                .ranks = table.ranks,
                                .rows = table.rows,
                                .options = table.options,
                                .lines = log.remarks});
  const double factor = busbw_factor(table.collective, table.ranks).value();
  if (o.json) return print_comparison_json(checked, d, factor);
  print_comparison(checked, d, factor);
}

void run(const Options& o, const Globals& globals) {
  if (o.policy != "fastest" && o.policy != "nccl") {
    const std::vector<std::string> valid = {"fastest", "nccl"};
    throw Error("--policy", fmt::format("'{}' is not a policy{}", o.policy, suggestion(o.policy, valid)));
  }
  const Catalog catalog = load_catalog(globals.hardware);
  Cluster cluster = make_cluster(catalog, o.cluster, o.nodes, 0);
  if (o.nodes == 0 && o.ranks > cluster.accelerators()) cluster = make_cluster(catalog, o.cluster, 0, o.ranks);
  const CollectiveTable table = question(o, cluster = taken(cluster, o.ranks));
  if (!o.measured.empty()) return compare(o, table, cluster);
  const std::vector<Row> rows =
      o.cost_model.empty() ? calibrated_rows(table, o, cluster) : modelled_rows(table, o, cluster);
  const double factor = busbw_factor(table.collective, table.ranks).value();
  if (o.json) {
    Json document = {
        {"collective", name(table.collective)}, {"cluster", cluster.name}, {"ranks", table.ranks},
        {"platform", table.platform.name},      {"rows", Json::array()},   {"assumptions", cluster.assumptions}};
    for (const Row& row : rows) document["rows"].push_back(row_json(row, factor));
    return print_json(document);
  }
  std::cout << fmt::format("{} of {} ranks on {} ({})\n\n", name(table.collective), table.ranks, cluster.name,
                           table.platform.name);
  print_rows(rows, factor);
}

}  // namespace

void add_collective(CLI::App& command, const Globals& globals) {
  const auto o = std::make_shared<Options>();
  command.add_option("collective", o->collective, "all_reduce, all_gather, reduce_scatter, all_to_all, ...")
      ->required();
  command.add_option("--cluster", o->cluster, "Reference cluster, node name or cluster file")->required();
  command.add_option("--nodes", o->nodes, "Nodes, where --cluster names a node")->check(whole_number(1, 1 << 24));
  command.add_option("--ranks", o->ranks, "Ranks; the whole cluster otherwise")->check(whole_number(2, 1 << 24));
  command.add_option("-b,--begin", o->begin, "Smallest size (1K = 1024)");
  command.add_option("-e,--end", o->end, "Largest size");
  command.add_option("-f,--factor", o->factor, "Step between sizes")->check(decimal_number(1.01, 1e6));
  command.add_option("--algo", o->algorithm, "auto, ring, tree, nvls, nvls_tree, collnet, pairwise, direct")
      ->check(some_text());
  command.add_option("--proto", o->protocol, "LL, LL128 or Simple")->check(some_text());
  command.add_option("--policy", o->policy, "fastest, or nccl: what NCCL's tuner would choose")->check(some_text());
  command.add_option("--cost-model", o->cost_model, "alpha-beta, loggp or flow, instead of the calibrated time")
      ->check(some_text());
  command.add_option("--measured", o->measured, "nccl-tests log to lay beside the prediction, with a diagnosis")
      ->check(some_text());
  command.add_flag("--no-nvls", o->nvls_off, "As with NCCL_NVLS_ENABLE=0");
  command.add_flag("--sharp", o->sharp, "As with NCCL_COLLNET_ENABLE=1: reduction in the network's switches");
  command.add_flag("--json", o->json, "One JSON document");
  command.callback([o, &globals] { run(*o, globals); });
}

}  // namespace meshwright::cli
