// Lookups, and the catalogue from its files: compiled in, then overlays.
#include "meshwright/hardware/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/embedded.hpp"
#include "hardware/efficiency_reader.hpp"
#include "hardware/entries.hpp"
#include "meshwright/core/names.hpp"

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
void read_list(const Reader& file, std::string_view kind, std::vector<Entry>& entries, Origins& origins) {
  const auto list = file.find(kind);
  if (!list) return;
  std::set<std::string> seen;
  for (const Reader& item : list->items()) {
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
bool read_figures(const Reader& file, Catalog& catalog) {
  const bool devices = file.has("devices"), media = file.has("media"), frameworks = file.has("frameworks");
  if (devices) attach_efficiency(catalog.accelerators, file);
  if (media) catalog.media = read_media(file, catalog.media.empty() ? builtin_media() : catalog.media);
  if (frameworks) {
    if (!devices && !media) file.allow_only({"description", "sources", "frameworks", "fit"});
    std::ranges::move(file.at("frameworks").items(), std::back_inserter(catalog.frameworks));
  }
  return devices || media || frameworks;
}

void read_file_into(const Reader& file, Catalog& catalog, Origins& origins) {
  if (read_figures(file, catalog)) return;
  file.allow_only({"description", "accelerators", "links", "nics", "switches", "nodes", "clusters"});
  read_list(file, "accelerators", catalog.accelerators, origins);
  read_list(file, "links", catalog.links, origins);
  read_list(file, "nics", catalog.nics, origins);
  read_list(file, "switches", catalog.switches, origins);
  read_list(file, "nodes", catalog.nodes, origins);
  read_list(file, "clusters", catalog.clusters, origins);
}

// Efficiency files speak of accelerators that other files bring: last.
void read_files(std::vector<Reader> files, Catalog& catalog) {
  Origins origins;
  std::stable_partition(files.begin(), files.end(), [](const Reader& file) { return !file.has("devices"); });
  for (const Reader& file : files) read_file_into(file, catalog, origins);
  attach_efficiency(catalog.accelerators, Reader::text(R"({"devices": []})", "hardware"));  // what none speaks of
  link_up(catalog, origins);
}

Catalog read_benchmarks() {
  std::vector<Reader> files;
  for (const EmbeddedFile& file : embedded_hardware())
    files.push_back(Reader::text(file.content, "data/hardware/" + std::string(file.name)));
  Catalog catalog;
  read_files(std::move(files), catalog);
  catalog.media = benchmark_media();
  return catalog;
}

}  // namespace

const Accelerator& Catalog::accelerator(std::string_view name, const std::string& where) const {
  return lookup(accelerators, "accelerator", name, where);
}
const Link& Catalog::link(std::string_view name, const std::string& where) const {
  return lookup(links, "link", name, where);
}
const Nic& Catalog::nic(std::string_view name, const std::string& where) const {
  return lookup(nics, "NIC", name, where);
}
const Switch& Catalog::switch_named(std::string_view name, const std::string& where) const {
  return lookup(switches, "switch", name, where);
}
const Node& Catalog::node(std::string_view name, const std::string& where) const {
  return lookup(nodes, "node", name, where);
}
const ReferenceCluster& Catalog::cluster(std::string_view name, const std::string& where) const {
  return lookup(clusters, "reference cluster", name, where);
}

const Node* Catalog::usual_node(std::string_view accelerator, std::string_view fabric) const {
  const Node* first = nullptr;
  for (const Node& node : nodes) {
    if (node.accelerator != accelerator) continue;
    if (fabric.empty() || node.fabric == fabric) return &node;
    if (first == nullptr) first = &node;
  }
  return first;
}

Switch Catalog::usual_switch(std::string_view fabric, BytesPerSecond port_bandwidth) const {
  const bool own = fabric == "infiniband" || fabric == "slingshot" || fabric == "omni-path";
  const std::string_view family = own ? fabric : "ethernet";
  const Switch* best = nullptr;
  for (const Switch& sw : switches) {
    if (sw.fabric != family || sw.announced || sw.port_bandwidth < port_bandwidth * 0.999) continue;
    if (best == nullptr || sw.port_bandwidth < best->port_bandwidth) best = &sw;
  }
  return best == nullptr ? Switch{} : split_to(*best, port_bandwidth);
}

const Catalog& benchmark_catalog() {
  static const Catalog catalog = read_benchmarks();
  return catalog;
}

const Catalog& builtin_catalog() {
  static const Catalog catalog = [] {
    Catalog fitted = benchmark_catalog();
    std::vector<Reader> files;
    for (const EmbeddedFile& file : embedded_fitted())
      files.push_back(Reader::text(file.content, "data/fitted/" + std::string(file.name)));
    unlink(fitted);
    read_files(std::move(files), fitted);
    fitted.media.clear();  // builtin_media() has them
    return fitted;
  }();
  return catalog;
}

Catalog overlay(Catalog base, const std::filesystem::path& folder) {
  if (folder.empty()) return base;
  if (!std::filesystem::is_directory(folder))
    throw Error(folder.string(), "no such folder; expected one with *.json files of hardware");
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<Reader> files;
  files.reserve(paths.size());
  for (const auto& path : paths) files.push_back(Reader::file(path));
  unlink(base);
  read_files(std::move(files), base);
  return base;
}

Catalog load_catalog(const std::filesystem::path& folder, const Catalog& base) {
  const char* from_environment = std::getenv("MESHWRIGHT_HARDWARE");
  Catalog catalog = overlay(base, from_environment == nullptr ? "" : from_environment);
  return overlay(std::move(catalog), folder);
}

}  // namespace meshwright::hardware
