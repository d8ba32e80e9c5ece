// Lookups, and the catalogue from its files: compiled in, then overlays.
#include "meshwright/hardware/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "core/embedded.hpp"
#include "hardware/efficiency_reader.hpp"
#include "hardware/entries.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/hardware/schema.hpp"

namespace meshwright::hardware {
namespace {

template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names(entries.size());
  std::ranges::transform(entries, names.begin(), &Entry::name);
  for (const Entry& entry : entries) names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  return names;
}

// "NVIDIA A100-SXM4-40GB", "AMD Instinct MI300X": what drivers print before the name.
std::string without_vendor(std::string key) {
  for (const std::string_view vendor : {"nvidia", "amd", "instinct", "intel", "google"}) {
    if (key.starts_with(vendor)) key.erase(0, vendor.size());
  }
  return key;
}

template <class Entry>
const Entry& lookup(const std::vector<Entry>& entries, std::string_view kind, std::string_view name,
                    const std::string& where) {
  if (const Entry* entry = find_named(entries, name)) return *entry;
  if (const Entry* entry = find_named(entries, without_vendor(folded_name(name)))) return *entry;
  throw UnknownName(where, fmt::format("unknown {} '{}'{}", kind, name, suggestion(name, names_of(entries))));
}

template <class Entry>
void read_list(const Reader& list, std::string_view kind, std::vector<Entry>& entries, Origins& origins) {
  std::set<std::string> seen;
  for (const Reader& item : list.items()) {
    const std::string name = item.at("name").string();
    if (!seen.insert(folded_name(name)).second)
      item.fail(fmt::format("'{}' stands twice in this file; expected one entry a name", name));
    const std::string key = folded_name(name);
    const auto same = std::ranges::find_if(entries, [&](const Entry& e) { return folded_name(e.name) == key; });
    if (same == entries.end()) {
      entries.push_back(read_entry(item, Entry{}));
    } else {
      const std::string canonical = same->name;
      *same = read_entry(item, *same);
      same->name = canonical;
    }
    origins.places.emplace_back(fmt::format("{}/{}", kind, key), item.where());
  }
}

/// Kernel efficiencies, media and stacks: what fits write. False where the file holds none of them.
bool read_figures(const Reader& file, CatalogData& catalog) {
  const bool devices = file.has("devices"), media = file.has("media"), frameworks = file.has("frameworks");
  if (devices) attach_efficiency(catalog.accelerators, file);
  if (media) catalog.media = read_media(file, catalog.media);
  if (frameworks) {
    if (!devices && !media) file.allow_only({"description", "sources", "frameworks", "fit"});
    std::ranges::move(file.at("frameworks").items(), std::back_inserter(catalog.frameworks));
  }
  return devices || media || frameworks;
}

/// What a file's entries are read into.
struct Reading {
  CatalogData& catalog;
  Origins& origins;
};

template <auto Entries>
Member<Reading> entries(std::string_view key, const JsonSchema& entry) {
  return {key, "added, or over the entry of that name", shape::list(entry),
          [key](const Reader& list, Reading& into) { read_list(list, key, into.catalog.*Entries, into.origins); }};
}

const Members<Reading>& file_members() {
  static const Members<Reading> rows = {
      {"description", "", shape::text()},
      entries<&CatalogData::accelerators>("accelerators", shape_of(accelerator_members())),
      entries<&CatalogData::links>("links", shape_of(link_members())),
      entries<&CatalogData::nics>("nics", shape_of(nic_members())),
      entries<&CatalogData::switches>("switches", shape_of(switch_members())),
      entries<&CatalogData::fabrics>("fabrics", shape_of(fabric_members())),
      entries<&CatalogData::nodes>("nodes", node_shape()),
      entries<&CatalogData::clusters>("clusters", shape_of(reference_members()))};
  return rows;
}

void read_file_into(const Reader& file, CatalogData& catalog, Origins& origins) {
  if (read_figures(file, catalog)) return;
  Reading reading{catalog, origins};
  read_members(file, file_members(), reading);
}

// Efficiency files speak of accelerators that other files bring: last.
void read_files(std::vector<Reader> files, CatalogData& catalog) {
  Origins origins;
  std::stable_partition(files.begin(), files.end(), [](const Reader& file) { return !file.has("devices"); });
  for (const Reader& file : files) read_file_into(file, catalog, origins);
  attach_efficiency(catalog.accelerators, Reader::text(R"({"devices": []})", "hardware"));  // what none speaks of
  link_up(catalog, origins);
}

CatalogData read_benchmarks() {
  std::vector<Reader> files;
  for (const EmbeddedFile& file : embedded_hardware())
    files.push_back(Reader::text(file.content, "data/hardware/" + std::string(file.name)));
  for (const EmbeddedFile& file : embedded_platforms())
    files.push_back(Reader::text(file.content, "data/hardware/platforms/" + std::string(file.name)));
  CatalogData catalog;
  read_files(std::move(files), catalog);
  return catalog;
}

CatalogData read_fitted() {
  CatalogData fitted = *benchmark_catalog().data();
  std::vector<Reader> files;
  for (const EmbeddedFile& file : embedded_fitted())
    files.push_back(Reader::text(file.content, "data/fitted/" + std::string(file.name)));
  unlink(fitted);
  read_files(std::move(files), fitted);
  return fitted;
}

/// How well a node answers a question: the number of accelerators before the domain before the fabric.
int likeness(const Node& node, std::string_view fabric, int accelerators, int scale_up_domain) {
  int score = 0;
  if (accelerators > 0 && node.accelerators == accelerators) score += 4;
  if (scale_up_domain > 0 && node.scale_up_domain == scale_up_domain) score += 2;
  if (!fabric.empty() && node.fabric == fabric) score += 1;
  return score;
}

/// Words of a text in lower case: "RoCEv2 8x400G" -> "rocev2", "8x400g".
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const std::string folded = folded_name(std::string_view(&c, 1));
    if (!folded.empty()) words.back() += folded;
    if (folded.empty() && !words.back().empty()) words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// True where a word of the text begins with one of `marks`, or holds one of at least three letters ("400gbe").
bool names_one(const std::vector<std::string>& text, const std::vector<std::string>& marks) {
  return std::ranges::any_of(text, [&](const std::string& word) {
    return std::ranges::any_of(marks, [&](const std::string& mark) {
      return word.starts_with(mark) || (mark.size() >= 3 && word.find(mark) != std::string::npos);
    });
  });
}

}  // namespace

const Accelerator& CatalogData::accelerator(std::string_view name, const std::string& where) const {
  return lookup(accelerators, "accelerator", name, where);
}
const Link& CatalogData::link(std::string_view name, const std::string& where) const {
  return lookup(links, "link", name, where);
}
const Nic& CatalogData::nic(std::string_view name, const std::string& where) const {
  return lookup(nics, "NIC", name, where);
}
const Switch& CatalogData::switch_named(std::string_view name, const std::string& where) const {
  return lookup(switches, "switch", name, where);
}
const FabricKind& CatalogData::fabric(std::string_view name, const std::string& where) const {
  return lookup(fabrics, "fabric", name, where);
}
const Node& CatalogData::node(std::string_view name, const std::string& where) const {
  return lookup(nodes, "node", name, where);
}
const ReferenceCluster& CatalogData::cluster(std::string_view name, const std::string& where) const {
  return lookup(clusters, "reference cluster", name, where);
}

const Node* CatalogData::usual_node(std::string_view accelerator, std::string_view fabric, int accelerator_count,
                                    int scale_up_domain) const {
  const Node* best = nullptr;
  int most = -1;
  for (const Node& node : nodes) {
    if (node.accelerator != accelerator) continue;
    const int score = likeness(node, fabric, accelerator_count, scale_up_domain);
    if (score > most) most = score, best = &node;
  }
  return best;
}

const FabricKind* CatalogData::fabric_in(std::string_view text) const {
  if (const FabricKind* kind = find_named(fabrics, text)) return kind;
  const std::vector<std::string> words = words_of(text);
  for (const auto marks : {&FabricKind::words, &FabricKind::hints}) {
    for (const FabricKind& kind : fabrics) {
      if (!names_one(words, kind.*marks)) continue;
      // "100GbE RDMA": the same cables, past the kernel.
      if (!kind.over_rdma.empty() && names_one(words, {"rdma"})) return find_named(fabrics, kind.over_rdma);
      return &kind;
    }
  }
  return nullptr;
}

const FabricKind& CatalogData::kernel_fabric() const {
  const auto found = std::ranges::find_if(fabrics, [](const FabricKind& f) { return !f.over_rdma.empty(); });
  if (found == fabrics.end()) throw Error("hardware", "the catalogue has no fabric of kernel sockets ('over_rdma')");
  return *found;
}

const Link& CatalogData::usual_link(std::string_view family, const std::string& where) const {
  const auto link = std::ranges::find_if(links, [&](const Link& l) { return l.usual && l.family == family; });
  if (link != links.end()) return *link;
  throw Error(where, fmt::format("no link of family '{}' is marked 'usual'; expected one to assume", family));
}

Switch CatalogData::usual_switch(const FabricKind& fabric_kind, BytesPerSecond port_bandwidth) const {
  constexpr int most_ports_a_nic = 4;
  const Switch *best = nullptr, *fastest = nullptr;
  for (const Switch& sw : switches) {
    if (sw.fabric != fabric_kind.switches || sw.announced) continue;
    if (fastest == nullptr || sw.port_bandwidth > fastest->port_bandwidth) fastest = &sw;
    if (sw.port_bandwidth < port_bandwidth * 0.999) continue;
    if (best == nullptr || sw.port_bandwidth < best->port_bandwidth) best = &sw;
  }
  if (best != nullptr) return split_to(*best, port_bandwidth);
  if (fastest == nullptr) return {};
  // A NIC that is faster than any port takes several of the fastest switch's.
  const int ports = static_cast<int>(std::ceil(port_bandwidth / fastest->port_bandwidth - 1e-9));
  if (ports > most_ports_a_nic || fastest->radix / ports < 2) return {};
  Switch bundled = *fastest;
  bundled.radix /= ports, bundled.split_radix = 0, bundled.port_bandwidth = bundled.port_bandwidth * ports;
  return bundled;
}

Catalog::Catalog(CatalogData data) : Catalog(std::make_shared<const CatalogData>(std::move(data))) {}
Catalog::Catalog(std::shared_ptr<const CatalogData> data)
    : accelerators(data->accelerators),
      links(data->links),
      nics(data->nics),
      switches(data->switches),
      fabrics(data->fabrics),
      nodes(data->nodes),
      clusters(data->clusters),
      media(data->media),
      frameworks(data->frameworks),
      data_(std::move(data)) {}

const Catalog& benchmark_catalog() {
  static const Catalog catalog(read_benchmarks());
  return catalog;
}

const Catalog& builtin_catalog() {
  static const Catalog catalog(read_fitted());
  return catalog;
}

Catalog shipped_overlay(const Catalog& base, std::string_view name, const std::string& where) {
  std::vector<std::string> valid;
  for (const EmbeddedFile& file : embedded_overlays()) {
    const std::string own(file.name.substr(0, file.name.rfind('.')));
    valid.push_back(own);
    if (folded_name(own) != folded_name(name)) continue;
    CatalogData data = *base.data();
    unlink(data);
    read_files({Reader::text(file.content, "data/overlays/" + std::string(file.name))}, data);
    return Catalog(std::move(data));
  }
  throw UnknownName(where, fmt::format("unknown overlay '{}'{}", name, suggestion(name, valid)));
}

namespace {

/// A file of hardware, or those of a folder in the order of their names.
std::vector<std::filesystem::path> overlay_files(const std::filesystem::path& place) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(place, failed) && is_document_file(place)) return {place};
  if (!std::filesystem::is_directory(place, failed))
    throw Error(place.string(), "no such file or folder; expected *.json or *.yaml of hardware, or a folder with some");
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(place, failed)) {
    if (is_document_file(entry.path())) paths.push_back(entry.path());
  }
  if (failed) throw Error(place.string(), "cannot be read: " + failed.message());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

Catalog overlay(const Catalog& base, const std::filesystem::path& folder) {
  if (folder.empty()) return base;
  const bool ships = std::ranges::any_of(
      embedded_overlays(), [&](const EmbeddedFile& file) { return file.name == folder.string() + ".json"; });
  std::error_code failed;
  if (ships && !std::filesystem::exists(folder, failed)) {
    CatalogData named = *shipped_overlay(base, folder.string(), "--hardware").data();
    named.folders.push_back(folder);
    return Catalog(std::move(named));
  }
  std::vector<Reader> files;
  for (const auto& path : overlay_files(folder)) files.push_back(Reader::file(path));
  CatalogData data = *base.data();
  unlink(data);
  read_files(std::move(files), data);
  data.folders.push_back(std::filesystem::absolute(folder));
  return Catalog(std::move(data));
}

Catalog load_catalog(const std::filesystem::path& folder, const Catalog& base) {
  const char* from_environment = std::getenv("MESHWRIGHT_HARDWARE");
  return overlay(overlay(base, from_environment == nullptr ? "" : from_environment), folder);
}

JsonSchema overlay_shape(const JsonSchema& frameworks) {
  Members<Reading> rows = file_members();
  const JsonSchema list = shape::list(shape::map(shape::anything()));
  rows.push_back({"sources", "where the figures come from", list});
  rows.push_back(
      {"devices", "kernel efficiencies, as `calibrate gemm` writes them", shape::list(device_efficiency_shape())});
  rows.push_back({"media", "media of communication, as `calibrate nccl-tests` writes them", list});
  rows.push_back({"frameworks", "training stacks, or members over those of the catalogue", shape::list(frameworks)});
  rows.push_back({"fit", "how well it was fitted", shape::map(shape::anything())});
  rows.push_back({"residuals", "what is left between fit and measurement", shape::anything()});
  return shape_of(rows);
}

}  // namespace meshwright::hardware
