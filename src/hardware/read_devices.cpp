// Accelerators, links, NICs and switches.
#include <charconv>

#include "hardware/entries.hpp"
#include "hardware/fields.hpp"

namespace meshwright::hardware {
namespace {

void take_peaks(const Reader& r, Accelerator& a) {
  const auto peaks = r.find("peak_dense");
  if (!peaks) return;
  for (const std::string& key : peaks->keys()) {
    const DType t = parse_dtype(key, peaks->where());
    a.peak_dense[static_cast<std::size_t>(t)] = peaks->at(key).quantity<FlopsPerSecond::dimension>();
  }
}

/// "128/130": bytes of data among bytes signalled.
double read_coding(const Reader& r) {
  const std::string text = r.string();
  const std::size_t slash = text.find('/');
  const auto whole = [&](std::string_view part) {
    int value = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), value);
    if (read.ec != std::errc() || read.ptr != part.data() + part.size() || value < 1)
      r.fail("expected data over what is signalled, \"128/130\", found " + r.dump());
    return value;
  };
  if (slash == std::string::npos) r.fail("expected data over what is signalled, \"128/130\", found " + r.dump());
  return static_cast<double>(whole(std::string_view(text).substr(0, slash))) /
         whole(std::string_view(text).substr(slash + 1));
}

/// PCIe is described by its lane's rate and coding; both bandwidths follow.
void take_pcie_rate(const Reader& r, Link& l) {
  const bool stated = r.has("giga_transfers") || r.has("coding");
  l.giga_transfers = r.number_or("giga_transfers", l.giga_transfers);
  if (const auto coding = r.find("coding")) l.coding = read_coding(*coding);
  if (!stated) return;
  if (!(l.giga_transfers > 0 && l.giga_transfers <= 1000))
    r.at("giga_transfers").fail("expected more than 0, at most 1000");
  l.lane_bandwidth = BytesPerSecond::base(l.giga_transfers * 1e9 / 8 * l.coding);
  l.bandwidth = l.lane_bandwidth * l.lanes;
}

}  // namespace

Accelerator read_entry(const Reader& r, Accelerator a) {
  r.allow_only({"name",
                "aliases",
                "vendor",
                "architecture",
                "released",
                "announced",
                "sm_count",
                "clock",
                "peak_dense",
                "compute_capability",
                "memory_kind",
                "l2",
                "tdp",
                "scale_up_link",
                "memory_capacity",
                "scale_up_links",
                "pcie",
                "pcie_lanes",
                "notes",
                "memory_bandwidth",
                "prices",
                "sources",
                "scale_up_bandwidth",
                "rank_device",
                "peer_to_peer",
                "pci_ids"});
  need(r, "name", a.name);
  take_texts(r, "aliases", a.aliases);
  take(r, "vendor", a.vendor);
  take(r, "architecture", a.architecture);
  take(r, "released", a.released);
  take(r, "announced", a.announced);
  take(r, "compute_capability", a.compute_capability, 0, 999);
  take(r, "sm_count", a.sm_count, 0, 100000);
  take(r, "clock", a.clock);
  take_peaks(r, a);
  if (a.peak(DType::bf16).value() <= 0 && a.peak(DType::fp16).value() <= 0)
    r.fail("expected a dense peak for bf16 or fp16 in 'peak_dense'");
  need(r, "memory_capacity", a.memory_capacity);
  take(r, "memory_kind", a.memory_kind);
  need(r, "memory_bandwidth", a.memory_bandwidth);
  take(r, "l2", a.l2);
  take(r, "tdp", a.tdp);
  take(r, "rank_device", a.rank_device);
  take(r, "scale_up_link", a.scale_up_link);
  take(r, "scale_up_links", a.scale_up_links, 0, 1000);
  take(r, "scale_up_bandwidth", a.scale_up_bandwidth);
  if (!a.scale_up_link.empty() && a.scale_up_bandwidth.value() <= 0) r.at("scale_up_bandwidth");
  take(r, "pcie", a.pcie);
  take(r, "pcie_lanes", a.pcie_lanes, 1, 32);
  take(r, "peer_to_peer", a.peer_to_peer);
  take_texts(r, "pci_ids", a.pci_ids);
  take(r, "notes", a.notes);
  take_prices(r, a.prices);
  take_sources(r, a.sources);
  return a;
}

Link read_entry(const Reader& r, Link l) {
  r.allow_only({"name", "aliases", "family", "announced", "lane_bandwidth", "lanes", "bandwidth", "data_bandwidth",
                "giga_transfers", "coding", "achieved", "latency", "medium", "usual", "notes", "sources"});
  need(r, "name", l.name);
  take_texts(r, "aliases", l.aliases);
  need(r, "family", l.family);
  take(r, "announced", l.announced);
  take(r, "lanes", l.lanes, 1, 1000);
  take_pcie_rate(r, l);
  need(r, "lane_bandwidth", l.lane_bandwidth);
  need(r, "bandwidth", l.bandwidth);
  take(r, "data_bandwidth", l.data_bandwidth);
  take(r, "achieved", l.achieved);
  take(r, "latency", l.latency);
  take(r, "medium", l.medium);
  take(r, "usual", l.usual);
  take(r, "notes", l.notes);
  take_sources(r, l.sources);
  return l;
}

Nic read_entry(const Reader& r, Nic n) {
  r.allow_only({"name", "aliases", "vendor", "announced", "bandwidth", "ports", "pcie", "pcie_lanes", "message_rate",
                "latency", "power", "notes", "prices", "sources"});
  need(r, "name", n.name);
  take_texts(r, "aliases", n.aliases);
  take(r, "vendor", n.vendor);
  take(r, "announced", n.announced);
  need(r, "bandwidth", n.bandwidth);
  take(r, "ports", n.ports, 1, 16);
  take(r, "pcie", n.pcie);
  take(r, "pcie_lanes", n.pcie_lanes, 1, 64);
  take(r, "message_rate", n.message_rate);
  take(r, "latency", n.latency);
  take(r, "power", n.power);
  take(r, "notes", n.notes);
  take_prices(r, n.prices);
  take_sources(r, n.sources);
  return n;
}

Switch read_entry(const Reader& r, Switch s) {
  r.allow_only({"name", "aliases", "fabric", "announced", "radix", "port_bandwidth", "split_radix", "hop_latency",
                "reduction", "planes", "co_packaged", "power", "notes", "prices", "sources"});
  need(r, "name", s.name);
  take_texts(r, "aliases", s.aliases);
  need(r, "fabric", s.fabric);
  take(r, "announced", s.announced);
  s.radix = s.radix == 0 ? r.at("radix").integer(2, 100000) : r.integer_or("radix", s.radix, 2, 100000);
  need(r, "port_bandwidth", s.port_bandwidth);
  take(r, "split_radix", s.split_radix, 0, 100000);
  take(r, "hop_latency", s.hop_latency);
  take(r, "reduction", s.reduction);
  s.reduces = !s.reduction.empty();
  take(r, "planes", s.planes, 1, 64);
  take(r, "co_packaged", s.co_packaged);
  take(r, "power", s.power);
  take(r, "notes", s.notes);
  take_prices(r, s.prices);
  take_sources(r, s.sources);
  return s;
}

Switch split_to(Switch sw, BytesPerSecond port_bandwidth) {
  if (sw.split_radix <= sw.radix || port_bandwidth.value() <= 0 || port_bandwidth >= sw.port_bandwidth) return sw;
  const double ways = static_cast<int>(sw.port_bandwidth / port_bandwidth);
  sw.radix = std::min(static_cast<int>(sw.radix * ways), sw.split_radix);
  sw.port_bandwidth = port_bandwidth;
  return sw;
}

}  // namespace meshwright::hardware
