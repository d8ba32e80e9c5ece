// NCCL and RCCL topology XML: <system><cpu><pci>...<gpu>/<nic><net>. Static files that clouds ship leave <gpu> and
// <net> out and know devices by PCI class only.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <set>
#include <unordered_map>

#include "meshwright/core/error.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/hardware/network.hpp"
#include "meshwright/topology/tiers.hpp"
#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

/// PCI classes (PCI Code and ID Assignment 1.11): display and processing accelerators; network controllers.
bool is_gpu_class(std::string_view c) { return c.starts_with("0x03") || c.starts_with("0x12"); }
bool is_nic_class(std::string_view c) { return c.starts_with("0x0200") || c.starts_with("0x0207"); }
bool is_bridge_class(std::string_view c) { return c.starts_with("0x0604"); }

/// A number of an attribute within [least, most]; `fallback` where it is absent or no such number.
double number(const pugi::xml_node& node, const char* name, double fallback, double least, double most) {
  const std::optional<double> value = leading_number(node.attribute(name).as_string());
  return value && *value >= least && *value <= most ? *value : fallback;
}
int whole(const pugi::xml_node& node, const char* name, int fallback, int most) {
  return static_cast<int>(number(node, name, fallback, 0, most));
}

/// "16.0 GT/s PCIe" -> 16; zero for "", "Unknown".
double giga_transfers(const pugi::xml_node& pci) { return number(pci, "link_speed", 0, 0, 1000); }
int lanes_of(const pugi::xml_node& pci) { return whole(pci, "link_width", 16, 32); }
/// Of the slot, in one direction.
double gigabytes(const Catalog& catalog, const pugi::xml_node& pci, double giga_transfers) {
  return pcie_bandwidth(*catalog.data(), giga_transfers, lanes_of(pci)).value() * 1e-9;
}

struct Found {
  pugi::xml_node pci, inside;  ///< inside: <gpu> or <nic>; null where only the class tells
  int cpu = 0;
  std::vector<std::string> bridges;  ///< bus ids from the CPU down
};

struct Walk {
  const Catalog* catalog = nullptr;
  std::string name;  ///< of the file
  std::vector<Found> gpus, nics;
  std::set<std::string> speeds, net_speeds;
  int gpu_class = 0, nic_class = 0, gpu_nodes = 0, net_nodes = 0, nvlink = 0, xgmi = 0;
  std::vector<Finding> findings;
};

void walk_pci(Walk& w, const pugi::xml_node& pci, int cpu, std::vector<std::string> bridges, double above, int depth);

void walk_children(Walk& w, const pugi::xml_node& node, int cpu, const std::vector<std::string>& bridges, double above,
                   int depth) {
  for (const pugi::xml_node& child : node.children("pci")) walk_pci(w, child, cpu, bridges, above, depth + 1);
  for (const pugi::xml_node& nic : node.children("nic"))
    if (std::string_view(node.name()) != "pci")
      w.nics.push_back({{}, nic, cpu, bridges});  // not on PCI: Ethernet of a VM
}

/// A bridge slower than a device below it, by its rate or by its lanes.
void check_bridge(Walk& w, const pugi::xml_node& pci, double speed) {
  const double own = gigabytes(*w.catalog, pci, speed);
  double below = 0, rate = 0;
  int lanes = 0;
  for (const pugi::xml_node& child : pci.children("pci")) {
    const double transfers = giga_transfers(child), reaches = gigabytes(*w.catalog, child, transfers);
    if (reaches > below) below = reaches, rate = transfers, lanes = lanes_of(child);
  }
  if (!(speed > 0) || below <= own * 1.001) return;
  const int width = lanes_of(pci);
  const bool narrow = rate <= speed;
  w.findings.push_back(
      {narrow ? "narrow-bridge" : "wrong-speed",
       Severity::warning,
       fmt::format(
           "bridge @ says {:g} GT/s{} above devices of {:g} GT/s{}: {}, or traffic of all below is held to "
           "{:g} GB/s",
           speed, narrow ? fmt::format(" x{}", width) : "", rate, narrow ? fmt::format(" x{}", lanes) : "",
           narrow ? "a port that came up with fewer lanes or a virtual one's figure" : "a virtual port's figure", own),
       {pci.attribute("busid").as_string()}});
}

void walk_pci(Walk& w, const pugi::xml_node& pci, int cpu, std::vector<std::string> bridges, double above, int depth) {
  const std::string_view type = pci.attribute("class").as_string();
  const double speed = giga_transfers(pci);
  if (const std::string text = printable(pci.attribute("link_speed").as_string()); !text.empty()) w.speeds.insert(text);
  const pugi::xml_node gpu = pci.child("gpu"), nic = pci.child("nic");
  if (is_gpu_class(type)) ++w.gpu_class;
  if (is_nic_class(type)) ++w.nic_class;
  if (gpu || is_gpu_class(type))
    w.gpus.push_back({pci, gpu, cpu, bridges});
  else if (nic || is_nic_class(type))
    w.nics.push_back({pci, nic, cpu, bridges});
  if (gpu && nic) w.nics.push_back({pci, nic, cpu, bridges});  // converged card
  refuse_too_many(w.gpus.size() + w.nics.size(), w.name);
  if (is_bridge_class(type)) check_bridge(w, pci, speed);
  bridges.emplace_back(pci.attribute("busid").as_string());
  if (depth < 64) walk_children(w, pci, cpu, bridges, speed > 0 ? speed : above, depth);
}

/// Highest PCIe rate of a host CPU, by vendor, family and model as NCCL writes them; 0 = not known. Intel: Skylake and
/// Cascade Lake 85 are Gen3, Ice Lake 106/108 Gen4, Sapphire Rapids 143 and Emerald Rapids 207 Gen5.
double cpu_limit(const pugi::xml_node& cpu) {
  const std::string_view vendor = cpu.attribute("vendor").as_string();
  const int family = whole(cpu, "familyid", 0, 1 << 16), model = whole(cpu, "modelid", 0, 1 << 16);
  if (vendor != "GenuineIntel" || family != 6) return 0;
  if (model == 85 || model == 79 || model == 63) return 8;
  if (model == 106 || model == 108) return 16;
  return model == 143 || model == 207 ? 32 : 0;
}

/// The catalogue's accelerator by PCI ids ("0x10de", "0x2335"); null where it is not known.
const Accelerator* accelerator_of(const Found& gpu, const Catalog& catalog) {
  const auto hexadecimal = [&](const char* name) {
    const std::string_view id = gpu.pci.attribute(name).as_string();
    return id.starts_with("0x") ? std::string(id.substr(2)) : std::string(id);
  };
  const std::string id = hexadecimal("vendor") + ":" + hexadecimal("device");
  for (const Accelerator& a : catalog.accelerators)
    if (std::find(a.pci_ids.begin(), a.pci_ids.end(), id) != a.pci_ids.end()) return &a;
  return nullptr;
}

/// Highest rate of a GPU's PCIe link; 0 = not known.
double gpu_limit(const Accelerator* accelerator, const Catalog& catalog) {
  if (accelerator == nullptr || accelerator->pcie.empty()) return 0;
  return catalog.link(accelerator->pcie).giga_transfers;
}

void check_gpu_speed(Walk& w, const Found& gpu, const pugi::xml_node& cpu, const Catalog& catalog) {
  const double said = giga_transfers(gpu.pci), host = cpu_limit(cpu),
               device = gpu_limit(accelerator_of(gpu, catalog), catalog);
  const std::string bus = gpu.pci.attribute("busid").as_string();
  const auto add = [&](Severity severity, std::string text) {
    w.findings.push_back({"wrong-speed", severity, std::move(text), {bus}});
  };
  if (said <= 0) return;
  if (device > 0 && said > device)
    add(Severity::warning,
        fmt::format("GPU @ says {:g} GT/s but the card does {:g} GT/s at most; the lower counts", said, device));
  else if (host > 0 && said > host && gpu.bridges.empty())
    add(Severity::warning,
        fmt::format("GPU @ says {:g} GT/s but its CPU (model {}) has PCIe of {:g} GT/s at most; the lower counts", said,
                    printable(cpu.attribute("modelid").as_string()), host));
  else if (device > 0 && said < device)
    add(Severity::note,
        fmt::format("GPU @ runs its PCIe link at {:g} GT/s, half or less of the {:g} GT/s the card can do", said,
                    device));
}

/// One finding for all devices of which the same is said; '@' stands for their list.
std::vector<Finding> merged(const std::vector<Finding>& findings) {
  std::vector<Finding> out;
  std::unordered_map<std::string, std::size_t> places;
  for (const Finding& finding : findings) {
    const auto [place, fresh] = places.try_emplace(finding.kind + '\n' + finding.text, out.size());
    if (fresh) out.push_back({finding.kind, finding.severity, finding.text, {}});
    for (const std::string& device : finding.devices) out[place->second].devices.push_back(printable(device));
  }
  for (Finding& finding : out)
    if (const auto at = finding.text.find('@'); at != std::string::npos)
      finding.text.replace(at, 1, fmt::format("{}", fmt::join(finding.devices, ", ")));
  return out;
}

/// How two devices meet in the PCI tree.
std::string meeting(const Found& a, const Found& b) {
  if (a.cpu != b.cpu) return "SYS";
  std::size_t common = 0;
  while (common < std::min(a.bridges.size(), b.bridges.size()) && a.bridges[common] == b.bridges[common]) ++common;
  if (common == 0) return "PHB";
  const std::size_t beyond = a.bridges.size() + b.bridges.size() - 2 * common;
  return beyond == 0 ? "PIX" : "PXB";
}

struct Reading {
  NodeTopology node;
  Walk walk;
  std::vector<pugi::xml_node> cpus;
};

void add_gpus(Reading& r, const Catalog& catalog) {
  for (std::size_t i = 0; i < r.walk.gpus.size(); ++i) {
    const Found& gpu = r.walk.gpus[i];
    const pugi::xml_node cpu = r.cpus[static_cast<std::size_t>(gpu.cpu)];
    r.node.devices.push_back({.name = fmt::format("GPU{}", i),
                              .label = gpu.pci.attribute("busid").as_string(),
                              .gpu = true,
                              .row = RowState::read,
                              .numa = whole(cpu, "numaid", -1, 1 << 20),
                              .affinity = "",
                              .pcie_gt = giga_transfers(gpu.pci)});
    check_gpu_speed(r.walk, gpu, cpu, catalog);
  }
}

void add_nics(Reading& r) {
  static const std::set<int> port_speeds = {1000,  2500,  5000,   10000,  20000,  25000,  40000,
                                            50000, 56000, 100000, 200000, 400000, 800000, 1600000};
  for (const Found& nic : r.walk.nics) {
    ImportedDevice d{.name = fmt::format("NIC{}", static_cast<int>(r.node.devices.size()) - r.node.gpus()),
                     .label = "",
                     .row = RowState::read,
                     .affinity = "",
                     .pcie_gt = giga_transfers(nic.pci)};
    int nets = 0;
    bool gdr = true;
    for (const pugi::xml_node& net : nic.inside.children("net")) {
      const int speed = whole(net, "speed", 0, 10'000'000);
      d.gigabits += speed / 1000.0;
      r.walk.net_speeds.insert(printable(net.attribute("speed").as_string()));
      gdr = gdr && whole(net, "gdr", 1, 1) != 0;
      if (++nets == 1)
        d.label = net.attribute("name").as_string();
      else
        d.label += std::string("+") + net.attribute("name").as_string();
      if (port_speeds.count(speed) == 0)
        r.walk.findings.push_back(
            {"wrong-speed",
             Severity::warning,
             fmt::format("port @ says {:g} Gb/s, which is no port speed: a figure set by hand or by the cloud",
                         speed / 1000.0),
             {net.attribute("name").as_string()}});
    }
    r.walk.net_nodes += nets;
    d.ports = std::max(1, nets);
    if (nets > 1)
      r.walk.findings.push_back(
          {"dual-port",
           Severity::note,
           fmt::format("@: {} ports of one card ({:g} Gb/s together), counted once", nets, d.gigabits),
           {d.label}});
    if (!gdr)
      r.walk.findings.push_back({"no-gpudirect",
                                 Severity::warning,
                                 fmt::format("{} has gdr=0: traffic is staged through host memory", printable(d.label)),
                                 {d.name}});
    const double slot = 8 * gigabytes(*r.walk.catalog, nic.pci, d.pcie_gt);
    if (d.gigabits > slot * 1.02 && slot > 0)
      r.walk.findings.push_back(
          {"wrong-speed",
           Severity::warning,
           fmt::format("{}: {:g} Gb/s of ports on a PCIe link of {:.0f} Gb/s", printable(d.label), d.gigabits, slot),
           {d.name}});
    if (d.label.empty()) d.label = nic.pci.attribute("busid").as_string();
    r.node.devices.push_back(std::move(d));
  }
}

/// NVLink and xGMI between GPUs: directly, or both to NVSwitches.
void add_fast_links(Reading& r) {
  const std::size_t n = r.node.devices.size();
  std::vector<int> to_switch(r.walk.gpus.size(), 0);
  std::vector<std::string> selfish;
  std::unordered_map<std::string_view, std::size_t> by_bus;
  for (std::size_t g = 0; g < r.walk.gpus.size(); ++g)
    by_bus.emplace(r.walk.gpus[g].pci.attribute("busid").as_string(), g);
  const auto join = [&](std::size_t a, std::size_t b, bool nvlink, int count) {
    int& links = r.node.links[a * n + b];
    links += count;
    r.node.cells[a * n + b] = nvlink ? fmt::format("NV{}", links) : "XGMI";
  };
  for (std::size_t g = 0; g < r.walk.gpus.size(); ++g) {
    const std::string own = r.walk.gpus[g].pci.attribute("busid").as_string();
    for (const char* kind : {"nvlink", "xgmi"})
      for (const pugi::xml_node& link : r.walk.gpus[g].inside.children(kind)) {
        const std::string target = link.attribute("target").as_string();
        const int count = whole(link, "count", 1, 999);
        (kind[0] == 'n' ? r.walk.nvlink : r.walk.xgmi) += count;
        const auto peer = by_bus.find(target);
        if (target == own)
          selfish.push_back(r.node.devices[g].name);
        else if (peer != by_bus.end())
          join(g, peer->second, kind[0] == 'n', count);
        else if (std::string_view(link.attribute("tclass").as_string()).starts_with("0x0680"))
          to_switch[g] += count;
        else
          r.walk.findings.push_back({"dangling-link",
                                     Severity::warning,
                                     fmt::format("{} of {} leads to {}, which is no device of the file", kind,
                                                 r.node.devices[g].name, printable(target)),
                                     {r.node.devices[g].name}});
      }
  }
  for (std::size_t a = 0; a < to_switch.size(); ++a)
    for (std::size_t b = 0; b < to_switch.size(); ++b)
      if (a != b && to_switch[a] > 0 && to_switch[b] > 0 && r.node.links[a * n + b] == 0)
        join(a, b, true, to_switch[a]);
  if (!selfish.empty())
    r.walk.findings.push_back(
        {"nvlink-to-self", Severity::warning,
         fmt::format("NVLinks of {} point at the GPU itself: bridged pairs whose partner the file does not name",
                     fmt::join(selfish, ", ")),
         selfish});
}

void add_cells(Reading& r) {
  const std::size_t n = r.node.devices.size(), gpus = r.walk.gpus.size();
  r.node.cells.assign(n * n, "");
  r.node.links.assign(n * n, 0);
  const auto found = [&](std::size_t i) -> const Found& { return i < gpus ? r.walk.gpus[i] : r.walk.nics[i - gpus]; };
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) r.node.cells[a * n + b] = a == b ? "X" : meeting(found(a), found(b));
  add_fast_links(r);
}

void add_facts(Reading& r, const pugi::xml_node& system) {
  std::vector<std::string> numa;
  for (const pugi::xml_node& cpu : r.cpus) numa.push_back(printable(cpu.attribute("numaid").as_string()));
  std::sort(numa.begin(), numa.end());
  double gigabits = 0;
  for (const ImportedDevice& d : r.node.devices) gigabits += d.gigabits;
  const Walk& w = r.walk;
  r.node.facts = {{"root", "system"},
                  {"version", printable(system.attribute("version").as_string())},
                  {"cpus", std::to_string(r.cpus.size())},
                  {"gpu_nodes", std::to_string(w.gpu_nodes)},
                  {"pci_gpu_class", std::to_string(w.gpu_class)},
                  {"pci_nic_class", std::to_string(w.nic_class)},
                  {"net_nodes", std::to_string(w.net_nodes)},
                  {"net_speeds_mbps", fmt::format("{}", fmt::join(w.net_speeds, ","))},
                  {"nvlink", std::to_string(w.nvlink)},
                  {"xgmi", std::to_string(w.xgmi)},
                  {"link_speeds", fmt::format("{}", fmt::join(w.speeds, ","))},
                  {"numa", fmt::format("{}", fmt::join(numa, ","))},
                  {"network_gigabits", fmt::format("{:g}", gigabits)}};
}

/// The accelerator that all GPUs are, and the node of the catalogue that the machine is most like.
void name_machine(Reading& r, const Catalog& catalog) {
  const Accelerator* accelerator = accelerator_of(r.walk.gpus.front(), catalog);
  const bool alike = std::all_of(r.walk.gpus.begin(), r.walk.gpus.end(),
                                 [&](const Found& gpu) { return accelerator_of(gpu, catalog) == accelerator; });
  if (accelerator == nullptr || !alike) return;
  r.node.facts["accelerator"] = accelerator->name;
  const int gpus = r.node.gpus(), nics = r.node.nics();
  const auto unlike = [&](const Node& node) {
    return std::abs(node.nics - nics) +
           (node.accelerator == accelerator->name && node.accelerators == gpus ? 0 : 10000);
  };
  const auto most_alike = std::min_element(catalog.nodes.begin(), catalog.nodes.end(),
                                           [&](const Node& a, const Node& b) { return unlike(a) < unlike(b); });
  std::string text = fmt::format("{} x {}", gpus, accelerator->name);
  if (most_alike != catalog.nodes.end() && unlike(*most_alike) < 10000) {
    r.node.facts["machine"] = most_alike->name;
    text += fmt::format(": of the nodes in the catalogue most like {} ({} NICs; here {})", most_alike->name,
                        most_alike->nics, nics);
  }
  r.walk.findings.push_back({"machine", Severity::note, std::move(text), {}});
}

}  // namespace

NodeTopology import_xml(std::string_view text, const std::string& name, const Catalog& catalog) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  const pugi::xml_node system = document.child("system");
  if (!parsed && !system)
    throw Error(name, fmt::format("not well-formed XML: {} at byte {}", parsed.description(), parsed.offset));
  if (!system)
    throw Error(name, fmt::format("XML whose root is <{}>; expected a NCCL topology, <system>{}",
                                  printable(document.first_child().name()),
                                  std::string_view(document.first_child().name()) == "graphs"
                                      ? " (this is a NCCL graph dump, NCCL_GRAPH_DUMP_FILE; give NCCL_TOPO_DUMP_FILE)"
                                      : ""));
  Reading r;
  r.walk.catalog = &catalog, r.walk.name = name;
  r.node.format = "NCCL topology XML";
  if (!parsed)
    r.walk.findings.push_back({"truncated",
                               Severity::warning,
                               fmt::format("the XML breaks off ({} at byte {}); what stands before is used",
                                           parsed.description(), parsed.offset),
                               {}});
  for (const pugi::xml_node& cpu : system.children("cpu")) {
    r.cpus.push_back(cpu);
    walk_children(r.walk, cpu, static_cast<int>(r.cpus.size()) - 1, {}, 0, 0);
  }
  if (r.walk.gpus.empty())
    throw Error(name, "a NCCL topology without GPUs: no <gpu>, and no PCI device of a GPU's class (0x03, 0x12)");
  r.walk.gpu_nodes = static_cast<int>(
      std::count_if(r.walk.gpus.begin(), r.walk.gpus.end(), [](const Found& f) { return !f.inside.empty(); }));
  add_gpus(r, catalog);
  add_nics(r);
  add_cells(r);
  r.node.vendor =
      r.walk.xgmi > 0 || std::any_of(r.walk.gpus.begin(), r.walk.gpus.end(),
                                     [](const Found& f) {
                                       return std::string_view(f.pci.attribute("vendor").as_string()) == "0x1002" ||
                                              !f.inside.attribute("gcn").empty();
                                     })
          ? "amd"
          : "nvidia";
  r.node.rows_present = r.node.rows_usable = static_cast<int>(r.node.devices.size());
  add_facts(r, system);
  name_machine(r, catalog);
  if (r.walk.gpu_nodes == 0)
    r.walk.findings.push_back({"class-only",
                               Severity::note,
                               "no <gpu> or <net>: a static file that knows devices by PCI class only; NVLink, ranks "
                               "and port speeds are not in it",
                               {}});
  r.node.findings = merged(r.walk.findings);
  return std::move(r.node);
}

}  // namespace meshwright::topology
