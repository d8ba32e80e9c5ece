// Accelerators, links, NICs and switches.
#include <charconv>

#include "hardware/entries.hpp"
#include "hardware/fields.hpp"

namespace meshwright::hardware {
namespace {

/// By format: {"bf16": "989 TFLOP/s"}.
void read_peaks(const Reader& peaks, Accelerator& a) {
  for (const std::string& key : peaks.keys()) {
    const DType t = parse_dtype(key, peaks.where());
    a.peak_dense[static_cast<std::size_t>(t)] = peaks.at(key).quantity<FlopsPerSecond::dimension>();
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
void follow_pcie_rate(Link& l) {
  if (l.giga_transfers <= 0) return;
  l.lane_bandwidth = BytesPerSecond::base(l.giga_transfers * 1e9 / 8 * l.coding);
  l.bandwidth = l.lane_bandwidth * l.lanes;
}

void read_pcie_rate(const Reader& r, Link& l) {
  l.giga_transfers = r.number();
  if (!(l.giga_transfers > 0 && l.giga_transfers <= 1000)) r.fail("expected more than 0, at most 1000");
  follow_pcie_rate(l);
}

}  // namespace

const Members<Accelerator>& accelerator_members() {
  static const Members<Accelerator> rows = {
      name_member<&Accelerator::name>(),
      texts_member<&Accelerator::aliases>("aliases", "other names"),
      text_member<&Accelerator::vendor>("vendor", ""),
      text_member<&Accelerator::architecture>("architecture", ""),
      text_member<&Accelerator::released>("released", "2022-09"),
      switch_member<&Accelerator::announced>("announced", "not sold yet"),
      whole_member<&Accelerator::compute_capability>("compute_capability", 0, 999, "of CUDA: 90"),
      whole_member<&Accelerator::sm_count>("sm_count", 0, 100000, "multiprocessors"),
      quantity_member<&Accelerator::clock>("clock", ""),
      {"peak_dense", "by format, without sparsity: {\"bf16\": \"989 TFLOP/s\"}",
       shape::map(shape::quantity(FlopsPerSecond::dimension)), read_peaks},
      stated<&Accelerator::memory_capacity>(quantity_member<&Accelerator::memory_capacity>("memory_capacity", "")),
      text_member<&Accelerator::memory_kind>("memory_kind", "HBM3"),
      stated<&Accelerator::memory_bandwidth>(quantity_member<&Accelerator::memory_bandwidth>("memory_bandwidth", "")),
      quantity_member<&Accelerator::l2>("l2", "second-level cache"),
      quantity_member<&Accelerator::tdp>("tdp", "power of the device"),
      text_member<&Accelerator::rank_device>("rank_device", "the part of it that a rank sees"),
      text_member<&Accelerator::chip_of>("chip_of", "another device that has the same chip"),
      text_member<&Accelerator::scale_up_link>("scale_up_link", "a link of the catalogue: nvlink4"),
      whole_member<&Accelerator::scale_up_links>("scale_up_links", 0, 1000, ""),
      quantity_member<&Accelerator::scale_up_bandwidth>("scale_up_bandwidth", "each way"),
      text_member<&Accelerator::pcie>("pcie", "pcie-gen5"),
      whole_member<&Accelerator::pcie_lanes>("pcie_lanes", 1, 32, ""),
      switch_member<&Accelerator::peer_to_peer>("peer_to_peer", "over PCIe"),
      texts_member<&Accelerator::pci_ids>("pci_ids", ""),
      text_member<&Accelerator::notes>("notes", ""),
      prices_member<&Accelerator::prices>(),
      sources_member<&Accelerator::sources>()};
  return rows;
}

Accelerator read_entry(const Reader& r, Accelerator a) {
  read_members(r, accelerator_members(), a);
  if (a.peak(DType::bf16).value() <= 0 && a.peak(DType::fp16).value() <= 0)
    r.fail("expected a dense peak for bf16 or fp16 in 'peak_dense'");
  if (!a.scale_up_link.empty() && a.scale_up_bandwidth.value() <= 0) r.at("scale_up_bandwidth");
  return a;
}

const Members<Link>& link_members() {
  static const Members<Link> rows = {
      name_member<&Link::name>(),
      texts_member<&Link::aliases>("aliases", "other names"),
      stated<&Link::family>(text_member<&Link::family>("family", "nvlink, pcie, ...")),
      switch_member<&Link::announced>("announced", "not sold yet"),
      stated<&Link::lane_bandwidth>(quantity_member<&Link::lane_bandwidth>("lane_bandwidth", "each way")),
      whole_member<&Link::lanes>("lanes", 1, 1000, ""),
      stated<&Link::bandwidth>(quantity_member<&Link::bandwidth>("bandwidth", "of all lanes, each way")),
      quantity_member<&Link::data_bandwidth>("data_bandwidth", "after framing"),
      {"giga_transfers", "of a lane a second, of PCIe", shape::number(0, 1000), read_pcie_rate},
      {"coding", "data over what is signalled: \"128/130\"", shape::text(),
       [](const Reader& r, Link& l) { l.coding = read_coding(r), follow_pcie_rate(l); }},
      quantity_member<&Link::achieved>("achieved", "the most that was measured"),
      quantity_member<&Link::latency>("latency", ""),
      text_member<&Link::medium>("medium", "measurements that it takes"),
      switch_member<&Link::usual>("usual", "where only the family is known"),
      text_member<&Link::notes>("notes", ""),
      sources_member<&Link::sources>()};
  return rows;
}

Link read_entry(const Reader& r, Link l) {
  read_members(r, link_members(), l);
  return l;
}

const Members<Nic>& nic_members() {
  static const Members<Nic> rows = {
      name_member<&Nic::name>(),
      texts_member<&Nic::aliases>("aliases", "other names"),
      text_member<&Nic::vendor>("vendor", ""),
      switch_member<&Nic::announced>("announced", "not sold yet"),
      stated<&Nic::bandwidth>(quantity_member<&Nic::bandwidth>("bandwidth", "of all ports, each way")),
      whole_member<&Nic::ports>("ports", 1, 16, ""),
      text_member<&Nic::pcie>("pcie", "generation of its interface"),
      whole_member<&Nic::pcie_lanes>("pcie_lanes", 1, 64, ""),
      quantity_member<&Nic::message_rate>("message_rate", ""),
      quantity_member<&Nic::latency>("latency", ""),
      quantity_member<&Nic::power>("power", ""),
      text_member<&Nic::notes>("notes", ""),
      prices_member<&Nic::prices>(),
      sources_member<&Nic::sources>()};
  return rows;
}

Nic read_entry(const Reader& r, Nic n) {
  read_members(r, nic_members(), n);
  return n;
}

const Members<Switch>& switch_members() {
  static const Members<Switch> rows = {
      name_member<&Switch::name>(),
      texts_member<&Switch::aliases>("aliases", "other names"),
      stated<&Switch::fabric>(text_member<&Switch::fabric>("fabric", "infiniband, ethernet, nvlink, ...")),
      switch_member<&Switch::announced>("announced", "not sold yet"),
      stated<&Switch::radix>(whole_member<&Switch::radix>("radix", 2, 100000, "ports")),
      stated<&Switch::port_bandwidth>(quantity_member<&Switch::port_bandwidth>("port_bandwidth", "each way")),
      whole_member<&Switch::split_radix>("split_radix", 0, 100000, "ports when they are split"),
      quantity_member<&Switch::hop_latency>("hop_latency", ""),
      {"reduction", "SHARP, NVLS, ...: what reduces in the switch", shape::text(),
       [](const Reader& r, Switch& s) { s.reduction = r.string(), s.reduces = !s.reduction.empty(); }},
      whole_member<&Switch::planes>("planes", 1, 64, "independent ones in a box"),
      switch_member<&Switch::co_packaged>("co_packaged", "optics in the package"),
      quantity_member<&Switch::power>("power", ""),
      text_member<&Switch::notes>("notes", ""),
      prices_member<&Switch::prices>(),
      sources_member<&Switch::sources>()};
  return rows;
}

Switch read_entry(const Reader& r, Switch s) {
  read_members(r, switch_members(), s);
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
