// meshwright hardware list|show: the database as tables, and one entry with every figure and its source.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "command.hpp"
#include "hardware_sheet.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/hardware/cluster_file.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

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

/// One kind of the database's entries, the most telling first.
struct Kind {
  std::string one, all;
  std::string (*table)(const Catalog& catalog);
  std::vector<std::string> (*names)(const Catalog& catalog, bool with_aliases);
  std::optional<Sheet> (*sheet)(const Catalog& catalog, std::string_view name);
};

template <auto Entries, auto Lookup>
Kind kind(const char* one, const char* all, std::string (*table)(const Catalog&)) {
  return {one, all, table,
          [](const Catalog& catalog, bool with_aliases) {
            std::vector<std::string> names;
            for (const auto& entry : *catalog.data().*Entries) {
              names.push_back(entry.name);
              if (with_aliases) names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
            }
            return names;
          },
          [](const Catalog& catalog, std::string_view name) -> std::optional<Sheet> {
            try {
              return sheet_of(catalog, (catalog.data().get()->*Lookup)(name, "hardware"));
            } catch (const Error&) {  // not of this kind
              return {};
            }
          }};
}

const std::array kinds = {
    kind<&CatalogData::accelerators, &CatalogData::accelerator>("accelerator", "accelerators", accelerator_table),
    kind<&CatalogData::nodes, &CatalogData::node>("node", "nodes", node_table),
    kind<&CatalogData::clusters, &CatalogData::cluster>("cluster", "clusters", cluster_table),
    kind<&CatalogData::links, &CatalogData::link>("link", "links", link_table),
    kind<&CatalogData::nics, &CatalogData::nic>("nic", "nics", nic_table),
    kind<&CatalogData::switches, &CatalogData::switch_named>("switch", "switches", switch_table)};

std::vector<std::string> names_of_kinds(std::string Kind::*number) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.push_back(kind.*number);
  return names;
}

void list(const Options& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware);
  Json all = Json::object();
  for (const Kind& kind : kinds) {
    if (!options.kind.empty() && options.kind != kind.all) continue;
    if (options.json)
      all[kind.all] = kind.names(catalog, false);
    else
      std::cout << kind.table(catalog) << "\n";
  }
  if (options.json) return print_json(all);
  std::cout << dim("Peaks by data sheet, every bandwidth per direction; * = announced.") << "\n"
            << dim("meshwright hardware show NAME has sources, aliases and measured figures.") << "\n";
}

/// The sheets of every entry that `name` stands for.
std::vector<Sheet> sheets(const Catalog& catalog, std::string_view name, std::string_view wanted) {
  std::vector<Sheet> found;
  std::vector<std::string> names;
  std::string_view other;
  for (const Kind& kind : kinds) {
    if (!wanted.empty() && wanted != kind.one) {
      if (kind.sheet(catalog, name)) other = kind.one;
      continue;
    }
    std::ranges::move(kind.names(catalog, true), std::back_inserter(names));
    if (std::optional<Sheet> sheet = kind.sheet(catalog, name)) {
      sheet->kind = kind.one;
      found.push_back(std::move(*sheet));
    }
  }
  if (found.empty() && !other.empty())
    throw Error("hardware show", fmt::format("'{}' is no {}: --kind {}", name, wanted, other));
  if (found.empty())
    throw Error("hardware show", fmt::format("no {} is called '{}'{}", wanted.empty() ? "entry" : wanted, name,
                                             suggestion(name, names)));
  return found;
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
  const std::vector<std::string> all = names_of_kinds(&Kind::all);
  CLI::App* listing = command.add_subcommand("list", fmt::format("Tables of {}", fmt::join(all, ", ")));
  listing->add_option("kind", options->kind, fmt::format("One of {}", fmt::join(all, ", ")))->check(one_of(all));
  listing->add_flag("--json", options->json, "Names as one JSON document");
  listing->callback([options, &globals] { list(*options, globals); });
  CLI::App* showing = command.add_subcommand("show", "Every figure of one entry, with sources");
  showing->add_option("name", options->name, "Name or alias")->required();
  showing->add_option("--kind", options->kind, "Where several kinds share a name")
      ->check(one_of(names_of_kinds(&Kind::one)));
  showing->add_flag("--json", options->json, "One JSON document, numbers in base units");
  showing->callback([options, &globals] { show(*options, globals); });
}

}  // namespace meshwright::cli
