#pragma once
// The hardware database: data/hardware compiled in, with overlays on top.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/cluster.hpp"
#include "meshwright/hardware/node.hpp"

namespace meshwright::hardware {

struct ReferenceCluster {
  std::string name, title;
  std::vector<std::string> aliases;
  std::string node;
  int nodes = 0;
  int scale_up_domain = 0;  ///< a TPU job's slice; 0 = as the node
  Network network;
  std::string notes;
  std::vector<Provenance> sources;
};

/// Every entry, and how to find one.
struct CatalogData {
  std::vector<Accelerator> accelerators;
  std::vector<Link> links;
  std::vector<Nic> nics;
  std::vector<Switch> switches;
  std::vector<FabricKind> fabrics;  ///< in the order in which fabric_in tries them
  std::vector<Node> nodes;
  std::vector<ReferenceCluster> clusters;
  std::vector<Medium> media;
  std::vector<std::filesystem::path> folders{};  ///< of the overlays in it, in their order
  std::vector<Reader> frameworks;  ///< entries of overlays ({"frameworks": [...]}), for parallel/framework

  /// The entry of that name or alias, whatever its case, dashes and vendor ("NVIDIA H100 80GB HBM3"). Throws
  /// UnknownName(where, ...) with the nearest spelling where there is none.
  const Accelerator& accelerator(std::string_view name, const std::string& where = "hardware") const;
  const Link& link(std::string_view name, const std::string& where = "hardware") const;
  const Nic& nic(std::string_view name, const std::string& where = "hardware") const;
  const Switch& switch_named(std::string_view name, const std::string& where = "hardware") const;
  const FabricKind& fabric(std::string_view name, const std::string& where = "hardware") const;
  /// The kind of sockets over the kernel, which libraries fall back to.
  const FabricKind& kernel_fabric() const;
  const Node& node(std::string_view name, const std::string& where = "hardware") const;
  const ReferenceCluster& cluster(std::string_view name, const std::string& where = "hardware") const;

  /// The node that one would buy this accelerator in: the first of the catalogue with it and, as far as there is one,
  /// with so many of it (0 = any), then with so large a domain (0 = any), then with `fabric`; null where none has it.
  const Node* usual_node(std::string_view accelerator, std::string_view fabric = "", int accelerators = 0,
                         int scale_up_domain = 0) const;
  /// The fabric that a free text names ("IB NDR", "RoCEv2 8x400G", "200G RDMA"): by name, else the first with one of
  /// its words in it; null where the text names none.
  const FabricKind* fabric_in(std::string_view text) const;
  /// The link to assume where nothing but the family ("pcie") is known. Error where none of it is marked `usual`.
  const Link& usual_link(std::string_view family, const std::string& where = "hardware") const;
  /// The switch that one would build a fabric of this kind and port speed of, split to it, or the fastest with several
  /// of its ports taken as one; nameless where none fits.
  Switch usual_switch(const FabricKind& fabric, BytesPerSecond port_bandwidth) const;
};

/// The database as everyone but its reader sees it: it never changes, and copies share it.
class Catalog {
 public:
  explicit Catalog(CatalogData data);
  explicit Catalog(std::shared_ptr<const CatalogData> data);
  Catalog(const Catalog&) = default;
  Catalog& operator=(const Catalog&) = delete;
  ~Catalog() = default;
  const std::shared_ptr<const CatalogData>& data() const { return data_; }

  const std::vector<Accelerator>& accelerators;
  const std::vector<Link>& links;
  const std::vector<Nic>& nics;
  const std::vector<Switch>& switches;
  const std::vector<FabricKind>& fabrics;
  const std::vector<Node>& nodes;
  const std::vector<ReferenceCluster>& clusters;
  const std::vector<Medium>& media;
  const std::vector<Reader>& frameworks;

  /// As those of CatalogData.
  const Accelerator& accelerator(std::string_view name, const std::string& where = "hardware") const {
    return data_->accelerator(name, where);
  }
  const Link& link(std::string_view name, const std::string& where = "hardware") const {
    return data_->link(name, where);
  }
  const Nic& nic(std::string_view name, const std::string& where = "hardware") const { return data_->nic(name, where); }
  const Switch& switch_named(std::string_view name, const std::string& where = "hardware") const {
    return data_->switch_named(name, where);
  }
  const FabricKind& fabric(std::string_view name, const std::string& where = "hardware") const {
    return data_->fabric(name, where);
  }
  const FabricKind& kernel_fabric() const { return data_->kernel_fabric(); }
  const Node& node(std::string_view name, const std::string& where = "hardware") const {
    return data_->node(name, where);
  }
  const ReferenceCluster& cluster(std::string_view name, const std::string& where = "hardware") const {
    return data_->cluster(name, where);
  }
  const Node* usual_node(std::string_view accelerator_name, std::string_view fabric_name = "", int count = 0,
                         int scale_up_domain = 0) const {
    return data_->usual_node(accelerator_name, fabric_name, count, scale_up_domain);
  }
  const FabricKind* fabric_in(std::string_view text) const { return data_->fabric_in(text); }
  Switch usual_switch(const FabricKind& kind, BytesPerSecond port_bandwidth) const {
    return data_->usual_switch(kind, port_bandwidth);
  }

 private:
  std::shared_ptr<const CatalogData> data_;
};

/// What benchmarks and data sheets say (data/hardware), read once: the starting point of fits to training runs.
const Catalog& benchmark_catalog();
/// benchmark_catalog() with what `meshwright calibrate runs` fitted to the published runs (data/fitted), read once.
const Catalog& builtin_catalog();
/// `base` with what the *.json files of `folder` (or one such file) say, in the order of their names: entries are added
/// or, where the name is the same, merged over field by field (lists replace, sources add). A file holds
/// {"accelerators", "links", "nics", "switches", "fabrics", "nodes", "clusters"} as data/hardware/*.json does, or any
/// of kernel efficiencies {"devices"}, media of communication {"media"} and fields of training stacks {"frameworks"}.
/// Throws Error with file and place for anything wrong, names that no entry has included.
Catalog overlay(const Catalog& base, const std::filesystem::path& folder);
/// `base` with an overlay that ships (data/overlays), by the name of its file: "b200-box". Throws UnknownName(where,
/// ...).
Catalog shipped_overlay(const Catalog& base, std::string_view name, const std::string& where);
/// `base` with the overlays of the folder that MESHWRIGHT_HARDWARE names, then of `folder` (either may be empty).
Catalog load_catalog(const std::filesystem::path& folder = {}, const Catalog& base = builtin_catalog());

}  // namespace meshwright::hardware
