#include "hardware_sheet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/units.hpp"
#include "meshwright/hardware/network.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<SheetField>;

void add(Fields& fields, std::string label, std::string text, std::string key, Json value) {
  fields.push_back({std::move(label), std::move(text), std::move(key), std::move(value)});
}
void add(Fields& fields, std::string label, const std::string& text, std::string key) {
  if (!text.empty()) add(fields, std::move(label), text, std::move(key), text);
}
void add(Fields& fields, std::string label, int count, std::string key) {
  if (count > 0) add(fields, std::move(label), fmt::format("{}", count), std::move(key), count);
}
/// A quantity that is not zero; the key gets its unit.
template <class Q>
void add(Fields& fields, std::string label, Q value, const std::string& key, std::string_view unit,
         std::string_view suffix = "") {
  if (value.value() <= 0) return;
  add(fields, std::move(label), format(value) + std::string(suffix), fmt::format("{}_{}", key, unit), value.value());
}
void add_bandwidth(Fields& fields, std::string label, BytesPerSecond value, const std::string& key) {
  add(fields, std::move(label), value, key, "bytes_per_s", " per direction");
}
/// The same for networks, which people count in bits.
void add_network_bandwidth(Fields& fields, std::string label, BytesPerSecond value, const std::string& key) {
  add(fields, std::move(label), value, key, "bytes_per_s",
      fmt::format(" ({:.4g} Gb/s) per direction", value.value() * 8e-9));
}

/// A share of the data sheet's figure: measured where it was seen on this very device, estimated otherwise.
void add_rate(Sheet& sheet, std::string label, std::string key, double share, std::string_view of, Evidence evidence,
              const std::string& source) {
  if (share <= 0) return;
  const bool seen = evidence == Evidence::measured || evidence == Evidence::calibrated;
  add(seen ? sheet.measured : sheet.estimated, std::move(label),
      fmt::format("{} of {}; {}{}", format_percent(share), of, name(evidence), source.empty() ? "" : ": " + source),
      std::move(key), Json{{"fraction", share}, {"evidence", name(evidence)}, {"source", source}});
}

void add_efficiency(Sheet& sheet, const Accelerator& a) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    const GemmEfficiency& g = a.efficiency.of(t);
    if (a.peak(t).value() <= 0) continue;
    add_rate(sheet, fmt::format("{} matrix products", name(t)), fmt::format("gemm_{}", name(t)), g.ceiling,
             "peak in short bursts", g.evidence, g.source);
  }
  const AttentionEfficiency& attention = a.efficiency.attention;
  add_rate(sheet, "attention forward", "attention_forward", attention.forward, "peak", attention.evidence,
           attention.source);
  add_rate(sheet, "attention backward", "attention_backward", attention.backward, "peak", attention.evidence,
           attention.source);
  const MemoryEfficiency& memory = a.efficiency.memory;
  add_rate(sheet, "memory streams", "memory", memory.fraction, "the data sheet's bandwidth", memory.evidence,
           memory.source);
}

template <class Entry>
Sheet started(const Entry& entry) {
  Sheet sheet;
  sheet.name = entry.name;
  sheet.aliases = entry.aliases;
  sheet.notes = entry.notes;
  sheet.sources = entry.sources;
  return sheet;
}

std::string nodes_with(const Catalog& catalog, const Accelerator& a) {
  std::string names;
  for (const Node& node : catalog.nodes) {
    if (node.accelerator == a.name) names += (names.empty() ? "" : ", ") + node.name;
  }
  return names;
}

/// Links and switches of a network of NICs: a fabric has their name, or is built of them.
bool of_network(const Catalog& catalog, const std::string& family) {
  return std::ranges::any_of(catalog.fabrics, [&](const FabricKind& fabric) {
    return fabric.switched && (fabric.name == family || fabric.switches == family);
  });
}

}  // namespace

Sheet sheet_of(const Catalog& catalog, const Accelerator& a) {
  Sheet s = started(a);
  s.announced = a.announced;
  s.prices = a.prices;
  add(s.facts, "vendor", a.vendor, "vendor");
  add(s.facts, "architecture", a.architecture, "architecture");
  add(s.facts, "released", a.released, "released");
  add(s.facts, "multiprocessors", a.sm_count, "sm_count");
  if (a.clock.value() > 0)
    add(s.facts, "clock", fmt::format("{:.2f} GHz", a.clock.value() / 1e9), "clock_hz", a.clock.value());
  add(s.facts, "in nodes", nodes_with(catalog, a), "nodes");
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    add(s.peak, fmt::format("{} dense", name(t)), a.peak(t), fmt::format("{}_dense", name(t)), "flops_per_s");
  }
  add(s.peak, "memory", a.memory_capacity, "memory_capacity", "bytes",
      fmt::format(" ({:.4g} GiB{}{})", a.memory_capacity.value() / 1073741824, a.memory_kind.empty() ? "" : ", ",
                  a.memory_kind));
  add(s.peak, "memory bandwidth", a.memory_bandwidth, "memory_bandwidth", "bytes_per_s");
  add(s.peak, "last-level cache", a.l2, "l2", "bytes");
  if (!a.scale_up_link.empty()) {
    add(s.facts, "scale-up link", a.scale_up_link, "scale_up_link");
    add(s.facts, "scale-up links", a.scale_up_links, "scale_up_links");
    add_bandwidth(s.peak, "scale-up, all links", a.scale_up_bandwidth, "scale_up_bandwidth");
    add_bandwidth(s.measured, "scale-up link, device's sum", catalog.link(a.scale_up_link).achieved,
                  "scale_up_link_achieved");
  }
  if (!a.pcie.empty()) {
    add(s.facts, "host link", fmt::format("{} x{}", a.pcie, a.pcie_lanes), "pcie");
    add_bandwidth(s.peak, "host link", catalog.link(a.pcie).lane_bandwidth * a.pcie_lanes, "pcie_bandwidth");
    if (!a.peer_to_peer) add(s.facts, "peer-to-peer over it", "no: staged through the host", "peer_to_peer");
  }
  add(s.peak, "power", a.tdp, "tdp", "watts");
  add_efficiency(s, a);
  return s;
}

Sheet sheet_of(const Catalog& catalog, const Link& l) {
  Sheet s = started(l);
  s.announced = l.announced;
  add(s.facts, "family", l.family, "family");
  add(s.facts, "lanes or links of a port", l.lanes, "lanes");
  const auto rate = of_network(catalog, l.family) ? add_network_bandwidth : add_bandwidth;
  rate(s.peak, "one lane or link", l.lane_bandwidth, "lane_bandwidth");
  rate(s.peak, "usual port", l.bandwidth, "bandwidth");
  rate(s.peak, "usual port, net of coding", l.data_bandwidth, "data_bandwidth");
  add(s.peak, "latency of a hop", l.latency, "latency", "s");
  rate(s.measured, "usual port", l.achieved, "achieved");
  return s;
}

Sheet sheet_of(const Catalog&, const Nic& n) {
  Sheet s = started(n);
  s.announced = n.announced;
  s.prices = n.prices;
  add(s.facts, "vendor", n.vendor, "vendor");
  add(s.facts, "ports", n.ports, "ports");
  if (!n.pcie.empty()) add(s.facts, "host link", fmt::format("{} x{}", n.pcie, n.pcie_lanes), "pcie");
  add_network_bandwidth(s.peak, "all ports", n.bandwidth, "bandwidth");
  if (n.message_rate.value() > 0)
    add(s.peak, "messages", fmt::format("{:.0f} M/s", n.message_rate.value() / 1e6), "message_rate_per_s",
        n.message_rate.value());
  add(s.peak, "latency, adapter to adapter", n.latency, "latency", "s");
  add(s.peak, "power", n.power, "power", "watts");
  return s;
}

Sheet sheet_of(const Catalog& catalog, const Switch& w) {
  Sheet s = started(w);
  s.announced = w.announced;
  s.prices = w.prices;
  add(s.facts, "fabric", w.fabric, "fabric");
  add(s.facts, "ports", w.radix, "radix");
  add(s.facts, "ports when split", w.split_radix, "split_radix");
  add(s.facts, "in-network reduction", w.reduces ? w.reduction : "none", "reduction");
  if (w.co_packaged) add(s.facts, "optics", "co-packaged: no transceivers in its ports", "optics");
  add(s.facts, "of them on a baseboard", w.planes, "planes");
  const auto rate = of_network(catalog, w.fabric) ? add_network_bandwidth : add_bandwidth;
  rate(s.peak, "one port", w.port_bandwidth, "port_bandwidth");
  rate(s.peak, "all ports", w.port_bandwidth * w.radix, "bandwidth");
  add(s.peak, "latency of a hop", w.hop_latency, "hop_latency", "s");
  add(s.peak, "power", w.power, "power", "watts");
  return s;
}

namespace {

void add_node(Sheet& s, const Node& n) {
  add(s.facts, "accelerator", fmt::format("{} x {}", n.accelerators, n.accelerator), "accelerator", n.accelerator);
  add(s.facts, "", n.accelerators, "accelerators");
  add(s.facts, "scale-up", std::string(name(n.scale_up)), "scale_up");
  add(s.facts, "scale-up domain", n.scale_up_domain, "scale_up_domain");
  add(s.facts, "scale-up switch", n.scale_up_switch, "scale_up_switch");
  add(s.facts, "NICs of the training fabric", n.nics, "nics");
  add(s.facts, "NIC", n.nic, "nic");
  add(s.facts, "fabric", n.fabric, "fabric");
  add(s.facts, "host links", n.pcie, "pcie");
  add(s.facts, "sockets", n.sockets, "sockets");
  add(s.facts, "CPU", n.cpu, "cpu");
  add_bandwidth(s.peak, "scale-up, one accelerator", n.scale_up_bandwidth, "scale_up_bandwidth");
  add_network_bandwidth(s.peak, "one NIC", n.nic_bandwidth, "nic_bandwidth");
  add_network_bandwidth(s.peak, "all NICs of a node", n.nic_bandwidth * n.nics, "node_bandwidth");
  add_network_bandwidth(s.peak, "data-centre network, a node", n.dcn_bandwidth, "dcn_bandwidth");
  add(s.peak, "host memory", n.host_memory, "host_memory", "bytes");
  add(s.peak, "power", n.power, "power", "watts");
}

/// What the slots leave of the NICs.
void add_slots(Sheet& s, const Cluster& c) {
  if (const Limited nic = nic_rate(c); c.node.nics > 0 && !nic.limit.empty())
    add_network_bandwidth(s.peak, fmt::format("one NIC, behind {}", nic.limit), nic.rate, "nic_usable_bandwidth");
}

}  // namespace

Sheet sheet_of(const Catalog& catalog, const Node& n) {
  Sheet s = started(n);
  s.title = n.title;
  s.announced = n.announced;
  s.prices = n.prices;
  add_node(s, n);
  add_slots(s, make_cluster(catalog, n.name));
  return s;
}

Sheet sheet_of(const Catalog& catalog, const ReferenceCluster& reference) {
  Sheet s = started(reference);
  s.title = reference.title;
  const Cluster c = make_cluster(catalog, reference.name);
  add(s.facts, "node", fmt::format("{} x {}", c.nodes, reference.node), "node", reference.node);
  add(s.facts, "", c.nodes, "nodes");
  add(s.facts, "accelerators in all", c.accelerators(), "cluster_accelerators");
  add(s.facts, "network", c.network.topology, "topology");
  add(s.facts, "tiers", c.network.tiers, "tiers");
  if (c.node.nics > 0) add(s.facts, "planes", planes_of(c), "planes");
  add(s.facts, "routing", c.network.routing, "routing");
  add(s.facts, "oversubscription, leaf first", fmt::format("{}", fmt::join(c.network.oversubscription, " : ")),
      "oversubscription", c.network.oversubscription);
  if (!c.network.reach.empty())
    add(s.facts, "accelerators a leaf, a pod", fmt::format("{}", fmt::join(c.network.reach, ", ")), "reach",
        c.network.reach);
  add(s.facts, "switch", c.fabric_switch.name, "switch");
  add_node(s, c.node);
  add_slots(s, c);
  return s;
}

namespace {

/// "  label                        text", with the text's further lines below its first.
std::string labelled(std::string_view label, const std::string& text) {
  constexpr std::size_t column = 32;
  std::string block = wrap(text, column);
  block.replace(0, column, fmt::format("{:<{}}", fmt::format("  {} ", label), column).substr(0, column));
  return block;
}

std::string section(std::string_view head, const Fields& fields) {
  if (fields.empty()) return "";
  std::string text = "\n" + bold(head) + "\n";
  for (const SheetField& field : fields) {
    if (!field.label.empty()) text += labelled(field.label, field.text);
  }
  return text;
}

std::string price_text(const Price& p) {
  const bool rent = p.rate.value() > 0;
  const std::string what = rent ? fmt::format("${:.2f}/h", p.rate.value() * 3600) : format(p.amount);
  return fmt::format("{} {}{}{}, {}; confidence {}", what, p.kind, p.provider.empty() ? "" : ", ", p.provider, p.date,
                     p.confidence);
}

Json to_json(const Price& p) {
  Json j = {{"kind", p.kind}, {"date", p.date}, {"confidence", p.confidence}};
  if (p.rate.value() > 0)
    j["rate_dollars_per_s"] = p.rate.value();
  else
    j["amount_dollars"] = p.amount.value();
  if (!p.provider.empty()) j["provider"] = p.provider;
  if (!p.url.empty()) j["url"] = p.url;
  return j;
}

Json to_json(const Fields& fields) {
  Json j = Json::object();
  for (const SheetField& field : fields) j[field.key] = field.value;
  return j;
}

}  // namespace

std::string to_text(const Sheet& s) {
  std::string text = bold(s.name) + (s.title.empty() ? "" : "  " + s.title) + dim("  (" + s.kind + ")") + "\n";
  if (s.announced) text += yellow("Announced, not shipping: figures may change.") + "\n";
  if (!s.aliases.empty()) text += wrap(fmt::format("also called {}", fmt::join(s.aliases, ", ")), 2);
  text += section("What it is", s.facts);
  text += section("Peak, by data sheet", s.peak);
  text += section("Measured", s.measured);
  text += section("Estimated, not measured on it", s.estimated);
  if (!s.notes.empty()) text += "\n" + wrap(s.notes, 2);
  if (!s.prices.empty()) text += "\n" + bold("Prices (dated; meant to be overridden)") + "\n";
  for (const Price& p : s.prices) text += wrap(price_text(p), 2);
  text += "\n" + bold("Sources") + "\n";
  for (const Provenance& p : s.sources) {
    text += wrap(fmt::format("{}{}{}; {}, confidence {}", p.title, p.date.empty() ? "" : ", ", p.date,
                             p.read ? "read" : "recalled", p.confidence),
                 2);
    if (!p.url.empty()) text += "    " + p.url + "\n";
  }
  return text;
}

nlohmann::ordered_json to_json(const Sheet& s) {
  Json j = {{"kind", s.kind}, {"name", s.name}};
  if (!s.title.empty()) j["title"] = s.title;
  j["aliases"] = s.aliases;
  j["announced"] = s.announced;
  for (const SheetField& field : s.facts) j[field.key] = field.value;
  j["peak"] = to_json(s.peak);
  j["measured"] = to_json(s.measured);
  j["estimated"] = to_json(s.estimated);
  if (!s.notes.empty()) j["notes"] = s.notes;
  j["prices"] = Json::array();
  for (const Price& p : s.prices) j["prices"].push_back(to_json(p));
  j["sources"] = Json::array();
  for (const Provenance& p : s.sources)
    j["sources"].push_back({{"title", p.title},
                            {"url", p.url},
                            {"date", p.date},
                            {"verification", p.read ? "read" : "recalled"},
                            {"confidence", p.confidence}});
  return j;
}

}  // namespace meshwright::cli
