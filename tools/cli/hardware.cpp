// meshwright hardware list|show: the database as tables, and one entry with every figure and its source.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <set>

#include "command.hpp"
#include "hardware_sheet.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/hardware/cluster_file.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kinds = {"accelerators", "nodes", "clusters", "links", "nics", "switches"};

struct Options {
  std::string kind, name;
  bool json = false;
};

template <class Q>
std::string figure(Q value) {
  return value.value() > 0 ? format(value) : "-";
}
std::string marked(const std::string& name, bool announced) { return announced ? name + " *" : name; }

/// Rows in groups: one heading wherever `group` changes, groups in the order of their first entry.
template <class Entry, class Group, class Row>
std::string grouped(const std::vector<Entry>& entries, std::vector<Column> columns, Group group, Row row) {
  Table table(std::move(columns));
  std::set<std::string> done;
  for (const Entry& first : entries) {
    if (!done.insert(group(first)).second) continue;
    table.add_heading(group(first));
    for (const Entry& entry : entries) {
      if (group(entry) == group(first)) table.add(row(entry));
    }
  }
  return table.render();
}

std::string accelerator_table(const Catalog& c) {
  return grouped(
      c.accelerators,
      {{"accelerator", Align::left}, {"memory"}, {"bandwidth"}, {"bf16 dense"}, {"fp8 dense"}, {"scale-up"}, {"W"}},
      [](const Accelerator& a) { return a.vendor; },
      [](const Accelerator& a) {
        const FlopsPerSecond half = a.peak(DType::bf16).value() > 0 ? a.peak(DType::bf16) : a.peak(DType::fp16);
        return std::vector<std::string>{marked(a.name, a.announced),
                                        format(a.memory_capacity),
                                        format(a.memory_bandwidth),
                                        figure(half),
                                        figure(a.peak(DType::fp8)),
                                        figure(a.scale_up_bandwidth),
                                        a.tdp.value() > 0 ? fmt::format("{:.0f}", a.tdp.value()) : "-"};
      });
}

std::string node_table(const Catalog& c) {
  return grouped(
      c.nodes, {{"node", Align::left}, {"accelerators", Align::left}, {"domain"}, {"scale-up"}, {"NICs"}, {"each"}},
      [](const Node& n) { return n.fabric; },
      [](const Node& n) {
        return std::vector<std::string>{marked(n.name, n.announced),
                                        fmt::format("{} x {}", n.accelerators, n.accelerator),
                                        fmt::format("{}", n.scale_up_domain),
                                        figure(n.scale_up_bandwidth),
                                        fmt::format("{}", n.nics),
                                        figure(n.nic_bandwidth)};
      });
}

std::string cluster_table(const Catalog& c) {
  Table table({{"cluster", Align::left}, {"accelerators"}, {"node", Align::left}, {"network", Align::left}});
  for (const ReferenceCluster& r : c.clusters) {
    table.add({r.name, fmt::format("{}", static_cast<long long>(r.nodes) * c.node(r.node).accelerators), r.node,
               r.network.topology});
  }
  return table.render();
}

std::string link_table(const Catalog& c) {
  return grouped(
      c.links, {{"link", Align::left}, {"lanes"}, {"one lane"}, {"usual port"}, {"achieved"}, {"hop"}},
      [](const Link& l) { return l.family; },
      [](const Link& l) {
        return std::vector<std::string>{marked(l.name, l.announced), fmt::format("{}", l.lanes),
                                        format(l.lane_bandwidth),    format(l.bandwidth),
                                        figure(l.achieved),          figure(l.latency)};
      });
}

std::string nic_table(const Catalog& c) {
  return grouped(
      c.nics, {{"NIC", Align::left}, {"bandwidth"}, {"ports"}, {"host link", Align::left}, {"W"}},
      [](const Nic& n) { return n.vendor; },
      [](const Nic& n) {
        return std::vector<std::string>{marked(n.name, n.announced), format(n.bandwidth), fmt::format("{}", n.ports),
                                        n.pcie.empty() ? "-" : fmt::format("{} x{}", n.pcie, n.pcie_lanes),
                                        n.power.value() > 0 ? fmt::format("{:.0f}", n.power.value()) : "-"};
      });
}

std::string switch_table(const Catalog& c) {
  return grouped(
      c.switches, {{"switch", Align::left}, {"ports"}, {"one port"}, {"split"}, {"hop"}, {"reduces", Align::left}},
      [](const Switch& s) { return s.fabric; },
      [](const Switch& s) {
        return std::vector<std::string>{
            marked(s.name, s.announced), fmt::format("{}", s.radix),
            format(s.port_bandwidth),    s.split_radix > 0 ? fmt::format("{}", s.split_radix) : "-",
            figure(s.hop_latency),       s.reduction.empty() ? "-" : s.reduction};
      });
}

template <class Entry>
Json names(const std::vector<Entry>& entries) {
  Json list = Json::array();
  for (const Entry& entry : entries) list.push_back(entry.name);
  return list;
}

void list(const Options& options, const Globals& globals) {
  const Catalog c = load_catalog(globals.hardware);
  if (options.json) {
    const Json all = {{"accelerators", names(c.accelerators)},
                      {"nodes", names(c.nodes)},
                      {"clusters", names(c.clusters)},
                      {"links", names(c.links)},
                      {"nics", names(c.nics)},
                      {"switches", names(c.switches)}};
    return print_json(options.kind.empty() ? all : Json{{options.kind, all.at(options.kind)}});
  }
  using Render = std::string (*)(const Catalog&);
  constexpr Render tables[] = {accelerator_table, node_table, cluster_table, link_table, nic_table, switch_table};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!options.kind.empty() && options.kind != kinds[i]) continue;
    std::cout << tables[i](c) << "\n";
  }
  std::cout << dim("Peaks by data sheet, every bandwidth per direction; * = announced.") << "\n"
            << dim("meshwright hardware show NAME has sources, aliases and measured figures.") << "\n";
}

void show(const Options& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware);
  const std::vector<Sheet> found = sheets(catalog, options.name, options.kind);
  if (options.json) {
    Json document = to_json(found.front());
    // What --cluster takes: the sheet can be given back as it is.
    if (found.front().kind == "node")
      document["spec"] = Json::parse(to_json(spelled_out(catalog.node(found.front().name))));
    if (found.front().kind == "cluster")
      document["spec"] = Json::parse(to_json(spelled_out(catalog.cluster(found.front().name), *catalog.data())));
    return print_json(document);
  }
  std::cout << to_text(found.front());
  for (std::size_t i = 1; i < found.size(); ++i)
    std::cout << dim(fmt::format("\nThere is also a {} {}: --kind {}", found[i].kind, found[i].name, found[i].kind))
              << "\n";
}

}  // namespace

void add_hardware(CLI::App& command, const Globals& globals) {
  command.require_subcommand(1);
  const auto options = std::make_shared<Options>();
  CLI::App* listing = command.add_subcommand("list", "Tables of accelerators, nodes, clusters, links, NICs, switches");
  listing->add_option("kind", options->kind, "One of accelerators, nodes, clusters, links, nics, switches")
      ->check(CLI::IsMember(kinds));
  listing->add_flag("--json", options->json, "Names as one JSON document");
  listing->callback([options, &globals] { list(*options, globals); });
  CLI::App* showing = command.add_subcommand("show", "Every figure of one entry, with sources");
  showing->add_option("name", options->name, "Name or alias")->required();
  showing->add_option("--kind", options->kind, "Where several kinds share a name")
      ->check(CLI::IsMember({"accelerator", "node", "cluster", "link", "nic", "switch"}));
  showing->add_flag("--json", options->json, "One JSON document, numbers in base units");
  showing->callback([options, &globals] { show(*options, globals); });
}

}  // namespace meshwright::cli
