// meshwright topo show|check|import: a cluster's network as graph, bill and weak points; findings of a dump.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "command.hpp"
#include "meshwright/topology/import.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

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
    std::cout << (f.severity == Severity::note ? head : yellow(head)) << "\n" << wrap(f.text, 8) << "\n";
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
    } else if (key != "version" && !value.empty() && value.find_first_not_of("0123456789") == std::string::npos) {
      out[key] = std::stoi(value);
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

void run_import(const ImportOptions& options) {
  const NodeTopology node = import_topology_file(options.file);
  if (options.json)
    print_json(node_json(node));
  else
    print_node(node);
}

}  // namespace

void add_topo(CLI::App& command, const Globals&) {
  CLI::App* import =
      command.add_subcommand("import", "Read nvidia-smi topo -m, rocm-smi --showtopo or NCCL topology XML");
  auto options = std::make_shared<ImportOptions>();
  import->add_option("FILE", options->file, "The dump")->required();
  import->add_flag("--json", options->json, "One JSON document on stdout");
  import->callback([options] { run_import(*options);
});
command.require_subcommand(1);
}  // namespace meshwright::cli

}  // namespace meshwright::cli
