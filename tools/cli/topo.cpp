// meshwright topo show|check|import: a cluster's network as graph, bill and weak points; findings of a dump.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "measured.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/hardware/cluster_file.hpp"
#include "meshwright/hardware/network.hpp"
#include "meshwright/topology/analysis.hpp"
#include "meshwright/topology/bill.hpp"
#include "meshwright/topology/import.hpp"
#include "meshwright/topology/picture.hpp"
#include "meshwright/topology/slices.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ClusterOptions {
  std::string cluster;
  int nodes = 0, gpus = 0;
  std::string topology;
  ObservationOptions seen;  ///< of `check`
  bool json = false;
};

struct ImportOptions {
  std::string file;
  bool json = false;
};

Json findings_json(const std::vector<Finding>& findings) {
  Json all = Json::array();
  for (const Finding& f : findings)
    all.push_back({{"kind", f.kind}, {"severity", name(f.severity)}, {"text", f.text}, {"devices", f.devices}});
  return all;
}

void print_findings(const std::vector<Finding>& findings) {
  if (findings.empty()) std::cout << "No findings.\n";
  for (const Finding& f : findings) {
    const std::string head = fmt::format("{:<8}{}", name(f.severity), f.kind);
    std::cout << (f.severity == Severity::note ? head : yellow(head)) << "\n" << wrap(f.text, 8);
  }
}

Json near_json(const std::map<std::string, NearNics>& near) {
  Json all = Json::object();
  for (const auto& [gpu, nics] : near) all[gpu] = Json::array({nics.link, nics.nics});
  return all;
}

/// Facts of a format: whole numbers as numbers, lists as lists.
void add_facts(Json& out, const std::map<std::string, std::string>& facts) {
  for (const auto& [key, value] : facts) {
    if (key == "net_speeds_mbps" || key == "link_speeds" || key == "numa") {
      out[key] = Json::array();
      for (std::size_t at = 0; at < value.size();) {
        const std::size_t end = std::min(value.find(',', at), value.size());
        out[key].push_back(value.substr(at, end - at));
        at = end + 1;
      }
    } else if (const auto number = parse_whole(value, 0, 1 << 30); number && key != "version") {
      out[key] = *number;
    } else {
      out[key] = value;
    }
  }
}

Json node_json(const NodeTopology& node) {
  Json out;
  out["format"] = node.format, out["vendor"] = node.vendor;
  out["gpus"] = node.gpus(), out["nics"] = node.nics();
  out["rows_present"] = node.rows_present, out["rows_usable"] = node.rows_usable;
  out["gpu_gpu_links"] = gpu_links(node);
  out["nvlink_groups"] = nvlink_groups(node);
  out["nearest_nics"] = near_json(nearest_nics(node));
  const auto all = nearest_nics(node, true);
  if (all.size() != out["nearest_nics"].size()) out["nearest_nics_with_repairs"] = near_json(all);
  out["rails"] = Json::array(), out["storage_nics"] = Json::array();
  for (const ImportedDevice& d : node.devices)
    if (!d.gpu) out[d.storage ? "storage_nics" : "rails"].push_back(d.label.empty() ? d.name : d.label);
  add_facts(out, node.facts);
  if (node.format == "NCCL topology XML") out["well_formed"] = true;
  out["findings"] = findings_json(node.findings);
  return out;
}

void print_node(const NodeTopology& node) {
  std::cout << fmt::format("{}: {} GPUs, {} NICs", node.format, node.gpus(), node.nics());
  if (node.rows_usable < node.gpus() + node.nics())
    std::cout << fmt::format(" ({} of {} rows usable)", node.rows_usable, node.gpus() + node.nics());
  std::cout << "\n\n";
  Table links({{"GPU to GPU", Align::left}, {"directions"}});
  for (const auto& [link, count] : gpu_links(node)) links.add({link, std::to_string(count)});
  if (!links.empty()) std::cout << links.render() << "\n";
  Table near({{"GPU", Align::left}, {"nearest NICs", Align::left}, {"link", Align::left}});
  for (const ImportedDevice& gpu : node.devices) {
    const auto all = nearest_nics(node, true);
    if (const auto found = all.find(gpu.name); found != all.end())
      near.add({gpu.name, fmt::format("{}", fmt::join(found->second.nics, " ")), found->second.link});
  }
  if (!near.empty()) std::cout << near.render() << "\n";
  print_findings(node.findings);
}

void run_import(const ImportOptions& options, const Globals& globals) {
  const NodeTopology node = import_topology_file(options.file, load_catalog(globals.hardware));
  if (options.json)
    print_json(node_json(node));
  else
    print_node(node);
}

Cluster cluster_of(const ClusterOptions& options, const Globals& globals) {
  ClusterSpec spec =
      narrowed(cluster_spec_of(options.cluster, "CLUSTER"), options.nodes, options.gpus, options.cluster);
  if (!options.topology.empty()) spec.network.topology = topology_named(options.topology);
  Cluster cluster = complete(spec, load_catalog(globals.hardware));
  constexpr int most = 1 << 17;  // beyond, the graph takes minutes
  if (cluster.accelerators() > most) {
    throw Error(options.cluster, fmt::format("found {} accelerators, expected at most {} for a graph of every link",
                                             cluster.accelerators(), most));
  }
  return cluster;
}

Json tiers_json(const TierPlan& plan) {
  Json tiers = Json::array();
  for (const Tier& t : plan.tiers)
    tiers.push_back({{"name", t.name},
                     {"reach_accelerators", t.reach},
                     {"hops", t.hops},
                     {"oversubscription", t.oversubscription},
                     {"per_rank_bytes_per_s", t.per_rank.value()},
                     {"flow_bytes_per_s", t.flow.value()},
                     {"limit", t.limit.empty() ? Json() : Json(t.limit)}});
  return {{"radix", plan.radix},
          {"planes", plan.planes},
          {"rails", plan.rails},
          {"reason", plan.reason},
          {"levels", std::move(tiers)}};
}

Json bill_json(const Bill& bill) {
  Json items = Json::array();
  for (const BillItem& i : bill.items)
    items.push_back({{"what", i.what},
                     {"model", i.model},
                     {"count", i.count},
                     {"price_usd", i.each.value() > 0 ? Json(i.each.value()) : Json()},
                     {"power_w", i.power.value()},
                     {"note", i.note}});
  return {{"items", std::move(items)},
          {"total_usd", bill.total.value()},
          {"power_w", bill.power.value()},
          {"switches", bill.switches},
          {"unpriced_items", bill.unpriced}};
}

Json slowdown(double ratio) { return std::isinf(ratio) ? Json("cut") : Json(ratio); }

Json faults_json(const std::vector<FaultCost>& costs) {
  Json all = Json::array();
  for (const FaultCost& c : costs)
    all.push_back({{"fault", name(c.fault)},
                   {"what", c.what},
                   {"ring_slowdown", slowdown(c.ring)},
                   {"half_shift_slowdown", slowdown(c.half_shift)},
                   {"cut_off_accelerators", c.cut_off}});
  return all;
}

/// Chips of a torus slice, priced in link bandwidth: shapes a job of this size can choose.
std::vector<SliceShape> shapes_of(const Fabric& fabric, const Cluster& cluster) {
  if (!fabric.is_torus() || fabric.torus.edge.size() != 3 || fabric.accelerators > 4096) return {};
  return slice_shapes(fabric.accelerators, cluster.node.scale_up_bandwidth / 6);
}

struct Shown {
  Cluster cluster;
  Fabric fabric;
  Bisection cut;
  int diameter = 0;
  Bill bill;
  std::vector<FaultCost> faults;
  std::vector<SliceShape> shapes;
};

Shown look_at(const ClusterOptions& options, const Globals& globals) {
  Shown s;
  s.cluster = cluster_of(options, globals);
  s.fabric = build_fabric(s.cluster);
  s.cut = bisection(s.fabric);
  s.diameter = diameter(s.fabric);
  s.bill = bill_of_materials(s.fabric, s.cluster);
  s.faults = fault_costs(s.fabric);
  s.shapes = shapes_of(s.fabric, s.cluster);
  return s;
}

Json shown_json(const Shown& s) {
  Json out;
  out["cluster"] = s.cluster.name, out["topology"] = s.cluster.network.topology;
  out["accelerators"] = s.fabric.accelerators, out["nodes"] = s.cluster.nodes;
  out["graph"] = {{"nodes", s.fabric.kinds.size()}, {"links", s.fabric.links.size()}};
  out["tiers"] = tiers_json(s.fabric.plan);
  out["bisection"] = {
      {"bytes_per_s", s.cut.bandwidth.value()}, {"of_injection", s.cut.of_injection}, {"method", s.cut.method}};
  out["diameter_links"] = s.diameter;
  out["bill_of_materials"] = bill_json(s.bill);
  out["faults"] = faults_json(s.faults);
  out["slices"] = Json::array();
  for (const SliceShape& shape : s.shapes)
    out["slices"].push_back({{"shape", shape.text()},
                             {"bisection_bytes_per_s", shape.bisection.value()},
                             {"all_to_all_bytes_per_s", shape.all_to_all.value()},
                             {"all_reduce_bytes_per_s", shape.all_reduce.value()}});
  out["assumptions"] = s.cluster.assumptions;
  out["picture"] = picture(s.fabric);
  return out;
}

void print_bill(const Bill& bill) {
  Table table({{"bill of materials", Align::left},
               {"model", Align::left},
               {"count"},
               {"each"},
               {"total"},
               {"price", Align::left}});
  for (const BillItem& i : bill.items)
    table.add({i.what, i.model, fmt::format("{}", i.count), i.each.value() > 0 ? format(i.each) : "-",
               i.each.value() > 0 ? format(i.total()) : "-", i.note.substr(0, i.note.find(','))});
  std::cout << table.render();
  std::cout << fmt::format(
      "Known prices sum to {}; {} of network power known{}.\n\n", format(bill.total), format(bill.power),
      bill.unpriced > 0 ? fmt::format("; {} item{} without a price", bill.unpriced, bill.unpriced == 1 ? "" : "s")
                        : "");
}

void print_faults(const std::vector<FaultCost>& costs) {
  if (costs.empty()) return;
  Table table({{"one failure", Align::left}, {"component", Align::left}, {"ring"}, {"half shift"}, {"cut off"}});
  const auto times = [](double ratio) {
    return std::isinf(ratio) ? std::string("cut") : fmt::format("x{:.3g}", ratio);
  };
  for (const FaultCost& c : costs)
    table.add({std::string(name(c.fault)), c.what, times(c.ring), times(c.half_shift),
               c.cut_off > 0 ? fmt::format("{}", c.cut_off) : "-"});
  std::cout
      << table.render()
      << dim("Time of a node-to-node ring and of every rank sending half the machine away, over the healthy one.\n")
      << "\n";
}

void print_shapes(const std::vector<SliceShape>& shapes) {
  if (shapes.empty()) return;
  Table table({{"slice shape", Align::left}, {"bisection"}, {"all-to-all a chip"}, {"all-reduce"}});
  for (std::size_t i = 0; i < std::min<std::size_t>(shapes.size(), 8); ++i)
    table.add(
        {shapes[i].text(), format(shapes[i].bisection), format(shapes[i].all_to_all), format(shapes[i].all_reduce)});
  std::cout << table.render() << "\n";
}

void run_show(const ClusterOptions& options, const Globals& globals) {
  const Shown s = look_at(options, globals);
  if (options.json) return print_json(shown_json(s));
  std::cout << bold(fmt::format("{}: {} accelerators on {} nodes, {}", s.cluster.name, s.fabric.accelerators,
                                s.cluster.nodes, s.cluster.network.topology))
            << "\n\n"
            << picture(s.fabric) << "\n";
  if (!s.fabric.plan.tiers.empty()) {
    Table tiers(
        {{"tier", Align::left}, {"accelerators below one unit"}, {"hops"}, {"oversubscription"}, {"per accelerator"}});
    for (const Tier& t : s.fabric.plan.tiers)
      tiers.add({t.name, fmt::format("{}", t.reach), fmt::format("{}", t.hops),
                 fmt::format("{:.3g}:1", t.oversubscription), format(t.per_rank)});
    std::cout << tiers.render() << wrap(s.fabric.plan.reason);
    for (const Tier& t : s.fabric.plan.tiers)
      if (!t.limit.empty()) std::cout << wrap(fmt::format("At the {} {} is the limit.", t.name, t.limit));
    std::cout << "\n";
  }
  std::cout << fmt::format("Bisection {} one way ({:.0f} % of what half can send; {}). Diameter {} links.\n\n",
                           format(s.cut.bandwidth), 100 * s.cut.of_injection, s.cut.method, s.diameter);
  print_shapes(s.shapes);
  if (!s.bill.items.empty()) print_bill(s.bill);
  print_faults(s.faults);
  for (const std::string& assumption : s.fabric.assumptions) std::cout << dim(wrap("note: " + assumption));
  for (const std::string& assumption : s.cluster.assumptions) std::cout << dim(wrap("assumed: " + assumption));
}

/// An all-reduce of the whole cluster.
CollectiveTable asked_of(const Cluster& cluster) {
  CollectiveTable table;
  table.id = table.source = "topo check";
  table.ranks = cluster.accelerators();
  table.place = place_group(cluster, table.ranks, 1);
  table.platform = platform_of(cluster);
  return table;
}

void run_check(const ClusterOptions& options, const Globals& globals) {
  const Cluster cluster = cluster_of(options, globals);
  build_fabric(cluster);  // refuses topologies it does not know
  if (options.seen.any()) return print_diagnosis(options.seen, asked_of(cluster), cluster, options.json);
  const std::vector<Finding> findings = check_cluster(cluster);
  if (options.json) {
    print_json({{"cluster", cluster.name},
                {"accelerators", cluster.accelerators()},
                {"findings", findings_json(findings)},
                {"assumptions", cluster.assumptions}});
    return;
  }
  std::cout << bold(fmt::format("{}: {} accelerators", cluster.name, cluster.accelerators())) << "\n";
  print_findings(findings);
}

std::shared_ptr<ClusterOptions> add_cluster_options(CLI::App& app) {
  auto options = std::make_shared<ClusterOptions>();
  app.add_option("CLUSTER", options->cluster, "Reference cluster, node, accelerator or cluster file")->required();
  app.add_option("--nodes", options->nodes, "Nodes, where CLUSTER is a node")->check(whole_number(1, largest_count));
  app.add_option("--gpus", options->gpus, "Accelerators to take of it")->check(whole_number(1, largest_count));
  app.add_option("--topology", options->topology, "Another network: fat-tree, rail-only, dual-plane, torus-3d, ...");
  app.add_flag("--json", options->json, "One JSON document on stdout");
  return options;
}

}  // namespace

void add_topo(CLI::App& command, const Globals& globals) {
  CLI::App* show = command.add_subcommand("show", "Picture, tiers, bisection, bill of materials, cost of failures");
  auto shown = add_cluster_options(*show);
  show->callback([shown, &globals] { run_show(*shown, globals); });
  CLI::App* check = command.add_subcommand("check", "Findings for a cluster as described, or as measured");
  auto checked = add_cluster_options(*check);
  add_observation_options(*check, checked->seen);
  check->callback([checked, &globals] { run_check(*checked, globals); });
  CLI::App* import =
      command.add_subcommand("import", "Read nvidia-smi topo -m, rocm-smi --showtopo or NCCL topology XML");
  auto options = std::make_shared<ImportOptions>();
  import->add_option("FILE", options->file, "The dump")->required();
  import->add_flag("--json", options->json, "One JSON document on stdout");
  import->callback([options, &globals] { run_import(*options, globals);
});
command.require_subcommand(1);
}  // namespace meshwright::cli

}  // namespace meshwright::cli
