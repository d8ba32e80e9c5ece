// NCCL and RCCL topology XML: <system><cpu><pci>...<gpu>/<nic><net>. Static files that clouds ship leave <gpu> and
// <net> out and know devices by PCI class only.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>
#include <set>

#include "meshwright/core/error.hpp"
#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

/// PCI classes (PCI Code and ID Assignment 1.11): display and processing accelerators; network controllers.
bool is_gpu_class(std::string_view c) { return c.starts_with("0x03") || c.starts_with("0x12"); }
bool is_nic_class(std::string_view c) { return c.starts_with("0x0200") || c.starts_with("0x0207"); }
bool is_bridge_class(std::string_view c) { return c.starts_with("0x0604"); }

/// "16.0 GT/s PCIe" -> 16; zero for "", "Unknown".
double giga_transfers(const pugi::xml_node& pci) {
  const std::string text = pci.attribute("link_speed").as_string();
  return text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) == 0) ? 0 : std::atof(text.c_str());
}

struct Found {
  pugi::xml_node pci, inside;  ///< inside: <gpu> or <nic>; null where only the class tells
  int cpu = 0;
  std::vector<std::string> bridges;  ///< bus ids from the CPU down
};

struct Walk {
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

void check_bridge(Walk& w, const pugi::xml_node& pci, double speed) {
  double below = 0;
  for (const pugi::xml_node& child : pci.children("pci")) below = std::max(below, giga_transfers(child));
  if (speed > 0 && below > speed)
    w.findings.push_back(
        {"wrong-speed",
         Severity::warning,
         fmt::format("bridge @ says {:g} GT/s above devices of {:g} GT/s: a virtual port's figure, or traffic "
                     "of all below is held to {:g} GB/s",
                     speed, below, speed * pci.attribute("link_width").as_double(16) / 8),
         {pci.attribute("busid").as_string()}});
}

void walk_pci(Walk& w, const pugi::xml_node& pci, int cpu, std::vector<std::string> bridges, double above, int depth) {
  const std::string_view type = pci.attribute("class").as_string();
  const double speed = giga_transfers(pci);
  if (const std::string text = pci.attribute("link_speed").as_string(); !text.empty()) w.speeds.insert(text);
  const pugi::xml_node gpu = pci.child("gpu"), nic = pci.child("nic");
  if (is_gpu_class(type)) ++w.gpu_class;
  if (is_nic_class(type)) ++w.nic_class;
  if (gpu || is_gpu_class(type))
    w.gpus.push_back({pci, gpu, cpu, bridges});
  else if (nic || is_nic_class(type))
    w.nics.push_back({pci, nic, cpu, bridges});
  if (gpu && nic) w.nics.push_back({pci, nic, cpu, bridges});  // converged card
  if (is_bridge_class(type)) check_bridge(w, pci, speed);
  bridges.emplace_back(pci.attribute("busid").as_string());
  if (depth < 64) walk_children(w, pci, cpu, bridges, speed > 0 ? speed : above, depth);
}

/// Highest PCIe rate of a host CPU, by vendor, family and model as NCCL writes them; 0 = not known. Intel: Skylake and
/// Cascade Lake 85 are Gen3, Ice Lake 106/108 Gen4, Sapphire Rapids 143 and Emerald Rapids 207 Gen5.
double cpu_limit(const pugi::xml_node& cpu) {
  const std::string_view vendor = cpu.attribute("vendor").as_string();
  const int family = cpu.attribute("familyid").as_int(), model = cpu.attribute("modelid").as_int();
  if (vendor != "GenuineIntel" || family != 6) return 0;
  if (model == 85 || model == 79 || model == 63) return 8;
  if (model == 106 || model == 108) return 16;
  return model == 143 || model == 207 ? 32 : 0;
}

/// Highest PCIe rate of a GPU by PCI device id: V100 0x1db*, A100 0x20b*/0x20f*, H100/H200 0x23*, MI200 0x740*, MI300
/// 0x74a-b*.
double gpu_limit(std::string_view device) {
  if (device.starts_with("0x1db") || device.starts_with("0x15f")) return 8;
  if (device.starts_with("0x20b") || device.starts_with("0x20f") || device.starts_with("0x22")) return 16;
  return device.starts_with("0x23") ? 32 : 0;
}

void check_gpu_speed(Walk& w, const Found& gpu, const pugi::xml_node& cpu) {
  const double said = giga_transfers(gpu.pci), host = cpu_limit(cpu),
               device = gpu_limit(gpu.pci.attribute("device").as_string());
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
                    cpu.attribute("modelid").as_string(), host));
  else if (device > 0 && said < device)
    add(Severity::note,
        fmt::format("GPU @ runs its PCIe link at {:g} GT/s, half or less of the {:g} GT/s the card can do", said,
                    device));
}

/// One finding for all devices of which the same is said; '@' stands for their list.
std::vector<Finding> merged(const std::vector<Finding>& findings) {
  std::vector<Finding> out;
  for (const Finding& finding : findings) {
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const Finding& f) { return f.kind == finding.kind && f.text == finding.text; });
    if (same == out.end())
      out.push_back(finding);
    else
      same->devices.insert(same->devices.end(), finding.devices.begin(), finding.devices.end());
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
  std::string name;
};

void add_gpus(Reading& r) {
  for (std::size_t i = 0; i < r.walk.gpus.size(); ++i) {
    const Found& gpu = r.walk.gpus[i];
    const pugi::xml_node cpu = r.cpus[static_cast<std::size_t>(gpu.cpu)];
    r.node.devices.push_back({.name = fmt::format("GPU{}", i),
                              .label = gpu.pci.attribute("busid").as_string(),
                              .gpu = true,
                              .row = RowState::read,
                              .numa = cpu.attribute("numaid").as_int(-1),
                              .affinity = "",
                              .pcie_gt = giga_transfers(gpu.pci)});
    check_gpu_speed(r.walk, gpu, cpu);
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
      const int speed = net.attribute("speed").as_int();
      d.gigabits += speed / 1000.0;
      r.walk.net_speeds.insert(net.attribute("speed").as_string());
      gdr = gdr && net.attribute("gdr").as_int(1) != 0;
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
                                 fmt::format("{} has gdr=0: traffic is staged through host memory", d.label),
                                 {d.name}});
    const double slot =
        d.pcie_gt * nic.pci.attribute("link_width").as_double(16) * (d.pcie_gt >= 8 ? 128.0 / 130 : 0.8);
    if (d.gigabits > slot * 1.02 && slot > 0)
      r.walk.findings.push_back(
          {"wrong-speed",
           Severity::warning,
           fmt::format("{}: {:g} Gb/s of ports on a PCIe link of {:.0f} Gb/s", d.label, d.gigabits, slot),
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
  const auto cell = [&](std::size_t a, std::size_t b) -> std::string& { return r.node.cells[a * n + b]; };
  for (std::size_t g = 0; g < r.walk.gpus.size(); ++g) {
    const std::string own = r.walk.gpus[g].pci.attribute("busid").as_string();
    for (const char* kind : {"nvlink", "xgmi"})
      for (const pugi::xml_node& link : r.walk.gpus[g].inside.children(kind)) {
        const std::string target = link.attribute("target").as_string();
        const int count = link.attribute("count").as_int(1);
        (kind[0] == 'n' ? r.walk.nvlink : r.walk.xgmi) += count;
        const auto peer = std::find_if(r.walk.gpus.begin(), r.walk.gpus.end(),
                                       [&](const Found& f) { return target == f.pci.attribute("busid").as_string(); });
        if (target == own)
          selfish.push_back(r.node.devices[g].name);
        else if (peer != r.walk.gpus.end())
          cell(g, static_cast<std::size_t>(peer - r.walk.gpus.begin())) =
              kind[0] == 'n' ? fmt::format("NV{}", count) : "XGMI";
        else if (std::string_view(link.attribute("tclass").as_string()).starts_with("0x0680"))
          to_switch[g] += count;
        else
          r.walk.findings.push_back({"dangling-link",
                                     Severity::warning,
                                     fmt::format("{} of {} leads to {}, which is no device of the file", kind,
                                                 r.node.devices[g].name, target),
                                     {r.node.devices[g].name}});
      }
  }
  for (std::size_t a = 0; a < to_switch.size(); ++a)
    for (std::size_t b = 0; b < to_switch.size(); ++b)
      if (a != b && to_switch[a] > 0 && to_switch[b] > 0) cell(a, b) = fmt::format("NV{}", to_switch[a]);
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
  const auto found = [&](std::size_t i) -> const Found& { return i < gpus ? r.walk.gpus[i] : r.walk.nics[i - gpus]; };
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) r.node.cells[a * n + b] = a == b ? "X" : meeting(found(a), found(b));
  add_fast_links(r);
}

void add_facts(Reading& r, const pugi::xml_node& system) {
  std::vector<std::string> numa;
  for (const pugi::xml_node& cpu : r.cpus) numa.emplace_back(cpu.attribute("numaid").as_string());
  std::sort(numa.begin(), numa.end());
  double gigabits = 0;
  for (const ImportedDevice& d : r.node.devices) gigabits += d.gigabits;
  const Walk& w = r.walk;
  r.node.facts = {{"root", "system"},
                  {"version", system.attribute("version").as_string()},
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

}  // namespace

NodeTopology import_xml(std::string_view text, const std::string& name) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  const pugi::xml_node system = document.child("system");
  if (!parsed && !system)
    throw Error(name, fmt::format("not well-formed XML: {} at byte {}", parsed.description(), parsed.offset));
  if (!system)
    throw Error(
        name, fmt::format("XML whose root is <{}>; expected a NCCL topology, <system>{}", document.first_child().name(),
                          std::string_view(document.first_child().name()) == "graphs"
                              ? " (this is a NCCL graph dump, NCCL_GRAPH_DUMP_FILE; give NCCL_TOPO_DUMP_FILE)"
                              : ""));
  Reading r;
  r.name = name;
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
  add_gpus(r);
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
