// meshwright collective: nccl-tests' table, predicted; what was measured laid beside it (measured.hpp).
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "command.hpp"
#include "measured.hpp"
#include "meshwright/calibrate/collective_bands.hpp"
#include "meshwright/collectives/evaluate.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/units.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string collective, cluster, begin = "1K", end = "8G", algorithm = "auto", protocol, policy;
  std::string cost_model = "calibrated";
  ObservationOptions seen;
  double factor = 2;
  int nodes = 0, ranks = 0, least_channels = 0, most_channels = 0, token_nodes = 0, token_ranks = 0;
  bool nvls_off = false, sharp = false, json = false;
};

struct Row {
  Bytes bytes{};
  Seconds time{};
  std::string algorithm, protocol, link;
};

std::vector<Bytes> sizes(const Options& o) {
  const Bytes begin = parse_message_size(o.begin, "-b"), end = parse_message_size(o.end, "-e");
  if (begin.value() < 1) throw Error("-b", fmt::format("found '{}', expected at least 1 byte", o.begin));
  if (end < begin) throw Error("-e", fmt::format("found '{}', expected at least -b, which is '{}'", o.end, o.begin));
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
  options.token_nodes = o.token_nodes, options.token_ranks = o.token_ranks;
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
  table.least_channels = o.least_channels, table.most_channels = o.most_channels;
  return table;
}

std::vector<Row> calibrated_rows(CollectiveTable table, const Options& o, const Cluster& cluster) {
  for (const Bytes b : sizes(o)) table.rows.push_back({b, {}, table.options});
  const bool known = o.policy == "nccl" && follow_tuner(table, cluster);
  if (!known && (o.least_channels > 0 || o.most_channels > 0)) {
    throw Error("--policy", fmt::format("NCCL's tuner has no model of {} with {} on {}, whose channels could be forced",
                                        o.collective, o.algorithm, cluster.name));
  }
  std::vector<Row> rows;
  for (const MeasuredRow& row : table.rows) {
    const CollectiveEstimate e = estimate(table.collective, row.bytes, table.place, table.platform, row.options);
    rows.push_back({row.bytes, e.time, std::string(e.algorithm), std::string(e.protocol), e.limiting_link});
  }
  return rows;
}

/// Flows on the graph of a larger fabric take longer than anyone waits for.
constexpr int most_flow_ranks = 1024;

[[noreturn]] void refuse(CostModel model, const std::string& algorithm) {
  if (model != CostModel::loggp)
    throw Error("--cost-model", fmt::format("{} has no schedule for this group", name(model)));
  throw Error("--cost-model",
              fmt::format("loggp plays messages one by one: found no row{} of at most {} messages without switches; "
                          "expected fewer --ranks, or alpha-beta or calibrated, which serve any number",
                          algorithm.empty() ? "" : " " + algorithm, most_swept_messages));
}

std::vector<Row> modelled_rows(CostModel model, const CollectiveTable& table, const Options& o,
                               const Cluster& cluster) {
  if (model == CostModel::flow && table.ranks > most_flow_ranks) {
    throw Error("--ranks",
                fmt::format("found {}, expected at most {} for --cost-model flow", table.ranks, most_flow_ranks));
  }
  std::vector<Row> rows;
  for (const Bytes b : sizes(o)) {
    const auto all = evaluate(model, table.collective, b, cluster, table.ranks, 1, table.options.algorithm);
    if (all.empty()) refuse(model, table.options.algorithm);
    rows.push_back({b, all.front().time, std::string(all.front().algorithm), "", all.front().limiting_link});
  }
  return rows;
}

double gigabytes_a_second(Bytes bytes, Seconds time) { return (bytes / time).value() * 1e-9; }
double algbw(const Row& row) { return gigabytes_a_second(row.bytes, row.time); }

/// Where published tables lie about times of this kind; a model other than the calibrated one has none.
const CollectiveBand* band_of(const Row& row, const CollectiveTable& table, CostModel model) {
  if (model != CostModel::calibrated) return nullptr;
  return &published_collective_bands()[collective_class(table.place.over_network(), row.bytes)];
}

Json row_json(const Row& row, double factor, const CollectiveBand* band) {
  Json out = {{"bytes", row.bytes.value()}, {"time_us", row.time.value() * 1e6},
              {"algbw_gbps", algbw(row)},   {"busbw_gbps", algbw(row) * factor},
              {"algo", row.algorithm},      {"proto", row.protocol},
              {"limiting_link", row.link}};
  if (band != nullptr) {
    out["time_p10_us"] = band->low * row.time.value() * 1e6;
    out["time_p90_us"] = band->high * row.time.value() * 1e6;
  }
  return out;
}

std::string band_text(const Row& row, const CollectiveBand* band) {
  if (band == nullptr) return "-";
  const auto text = [](double us) { return us < 1000 ? fmt::format("{:.4g}", us) : fmt::format("{:.0f}", us); };
  return text(band->low * row.time.value() * 1e6) + "-" + text(band->high * row.time.value() * 1e6);
}

void print_rows(const std::vector<Row>& rows, double factor, const CollectiveTable& asked, CostModel model) {
  Table table({{"size (B)"},
               {"time (us)"},
               {"P10-P90"},
               {"algbw GB/s"},
               {"busbw GB/s"},
               {"algorithm", Align::left},
               {"protocol", Align::left},
               {"limited by", Align::left}});
  for (const Row& row : rows) {
    table.add({fmt::format("{:.0f}", row.bytes.value()), fmt::format("{:.2f}", row.time.value() * 1e6),
               band_text(row, band_of(row, asked, model)), fmt::format("{:.2f}", algbw(row)),
               fmt::format("{:.2f}", algbw(row) * factor), row.algorithm, row.protocol, row.link});
  }
  std::cout << table.render();
}

void check_channels(const Options& o) {
  const bool forced = o.least_channels > 0 || o.most_channels > 0;
  if (forced && o.policy != "nccl" && !o.seen.any())
    throw Error(o.most_channels > 0 ? "--max-nchannels" : "--min-nchannels", "has a meaning with --policy nccl only");
  if (o.most_channels > 0 && o.least_channels > o.most_channels)
    throw Error("--min-nchannels",
                fmt::format("found {}, expected at most --max-nchannels {}", o.least_channels, o.most_channels));
}

/// The library's members by the flags that they came from.
std::vector<Row> timed_rows(CostModel model, const CollectiveTable& table, const Options& o, const Cluster& cluster) {
  try {
    return model == CostModel::calibrated ? calibrated_rows(table, o, cluster)
                                          : modelled_rows(model, table, o, cluster);
  } catch (const Error& e) {
    if (e.where() == "algorithm") throw Error("--algo", e.what_happened());
    if (e.where() == "protocol") throw Error("--proto", e.what_happened());
    throw;
  }
}

void check_tokens(const Options& o) {
  const std::string option = o.token_nodes > 0 ? "--token-nodes" : "--token-ranks";
  if (o.token_nodes + o.token_ranks == 0) return;
  const Algorithm* row = find_algorithm(parse_collective(o.collective, "collective"), o.algorithm);
  if (row == nullptr || !row->routed)
    throw Error(option, "has a meaning only with an --algo that routes tokens: node_limited_dispatch or _combine");
  if (o.token_nodes * o.token_ranks == 0) throw Error(option, "expected --token-nodes and --token-ranks together");
  if (o.cost_model != "calibrated") throw Error(option, "has a meaning with --cost-model calibrated only");
}

void run(const Options& o, const Globals& globals) {
  if (!o.policy.empty() && o.policy != "fastest" && o.policy != "nccl") {
    const std::vector<std::string> valid = {"fastest", "nccl"};
    throw Error("--policy", fmt::format("'{}' is not a policy{}", o.policy, suggestion(o.policy, valid)));
  }
  check_channels(o);
  check_tokens(o);
  const Catalog catalog = load_catalog(globals.hardware);
  Cluster cluster = make_cluster(catalog, o.cluster, o.nodes, 0);
  if (o.nodes == 0 && o.ranks > cluster.accelerators()) cluster = make_cluster(catalog, o.cluster, 0, o.ranks);
  const CollectiveTable table = question(o, cluster = taken(cluster, o.ranks));
  if (o.seen.any()) {
    CollectiveTable asked = table;
    ObservationOptions seen = o.seen;
    seen.policy = o.policy;
    if (!seen.measured.empty()) asked.ranks = o.ranks;
    return print_diagnosis(seen, asked, cluster, o.json);
  }
  const CostModel model = parse_cost_model(o.cost_model, "--cost-model");
  const std::vector<Row> rows = timed_rows(model, table, o, cluster);
  const double factor = busbw_factor(table.collective, table.ranks).value();
  if (o.json) {
    Json document = {
        {"collective", name(table.collective)}, {"cluster", cluster.name}, {"ranks", table.ranks},
        {"platform", table.platform.name},      {"rows", Json::array()},   {"assumptions", cluster.assumptions}};
    for (const Row& row : rows) document["rows"].push_back(row_json(row, factor, band_of(row, table, model)));
    return print_json(document);
  }
  std::cout << fmt::format("{} of {} ranks on {} ({})\n\n", name(table.collective), table.ranks, cluster.name,
                           table.platform.name);
  print_rows(rows, factor, table, model);
}

}  // namespace

void add_collective(CLI::App& command, const Globals& globals) {
  const auto o = std::make_shared<Options>();
  command.add_option("collective", o->collective, "all_reduce, all_gather, reduce_scatter, all_to_all, ...")
      ->required();
  command.add_option("--cluster", o->cluster, "Reference cluster, node name or cluster file")->required();
  command.add_option("--nodes", o->nodes, "Nodes, where --cluster names a node")->check(whole_number(1, largest_count));
  command.add_option("--ranks", o->ranks, "Ranks; the whole cluster otherwise")->check(whole_number(2, largest_count));
  command.add_option("-b,--begin", o->begin, "Smallest size (1K = 1024)");
  command.add_option("-e,--end", o->end, "Largest size");
  command.add_option("-f,--factor", o->factor, "Step between sizes")->check(decimal_number(1.01, 1e6));
  command.add_option("--algo", o->algorithm, "auto, or a row of `meshwright algorithms`: ring, tree, nvls, bruck, ...")
      ->check(some_text());
  command.add_option("--proto", o->protocol, "LL, LL128 or Simple")->check(some_text());
  command
      .add_option("--policy", o->policy,
                  "fastest (usual), or nccl: what NCCL's tuner would choose; with --measured the nearer one by default")
      ->check(some_text());
  command.add_option("--min-nchannels", o->least_channels, "NCCL_MIN_NCHANNELS, with --policy nccl")
      ->check(whole_number(1, 64));
  command.add_option("--max-nchannels", o->most_channels, "NCCL_MAX_NCHANNELS, with --policy nccl")
      ->check(whole_number(1, 64));
  command.add_option("--token-nodes", o->token_nodes, "Nodes that a token goes to, with --algo node_limited_...")
      ->check(whole_number(1, largest_count));
  command.add_option("--token-ranks", o->token_ranks, "Ranks that it goes to in each of them")
      ->check(whole_number(1, largest_count));
  command.add_option("--cost-model", o->cost_model, "calibrated, alpha-beta, loggp or flow")->check(some_text());
  add_observation_options(command, o->seen);
  command.add_flag("--no-nvls", o->nvls_off, "As with NCCL_NVLS_ENABLE=0");
  command.add_flag("--sharp", o->sharp, "As with NCCL_COLLNET_ENABLE=1: reduction in the network's switches");
  command.add_flag("--json", o->json, "One JSON document");
  command.callback([o, &globals] { run(*o, globals); });
}

}  // namespace meshwright::cli
