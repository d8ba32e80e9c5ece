#pragma once
// What a node looks like, from what people paste: `nvidia-smi topo -m`, `rocm-smi --showtopo`, NCCL or RCCL topology
// XML. Real ones are dirty: ANSI codes, blank cells, glued columns, Markdown, cut-off rows, wrong speeds. What can be
// read is read, what was repaired or filled in is said, what is no topology is refused.
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright::topology {

enum class Severity { note, warning, error };
std::string_view name(Severity severity);

/// Something a person should know about a node or a cluster, with the devices concerned.
struct Finding {
  std::string
      kind;  ///< "missing-nvlink", "no-near-nic", "shared-nic", "storage-nic", "wrong-speed", "rows-missing", ...
  Severity severity = Severity::note;
  std::string text;
  std::vector<std::string> devices;
};

enum class RowState { missing, read, repaired };

struct ImportedDevice {
  std::string name;   ///< as in the matrix: "GPU0", "NIC3", "mlx5_0"; in XML "GPU0" and the card's first port
  std::string label;  ///< device name from the NIC legend, or PCI address
  bool gpu = false;
  RowState row = RowState::missing;
  int numa = -1;
  std::string affinity;
  double gigabits = 0;  ///< NIC: all ports together; 0 = not said
  int ports = 1;
  double pcie_gt = 0;    ///< GT/s of its PCIe link; 0 = not said
  bool storage = false;  ///< a NIC that is no rail: storage, management, bond
};

/// The nearest NICs of a GPU and how near they are (PIX, PXB, PHB, NODE, SYS).
struct NearNics {
  std::string link;
  std::vector<std::string> nics;
};

struct NodeTopology {
  std::string format;                        ///< "nvidia-smi topo -m", "rocm-smi topology", "NCCL topology XML"
  std::string vendor;                        ///< "nvidia", "amd": of the devices, folded (core/names.hpp)
  std::vector<ImportedDevice> devices;       ///< GPUs first
  std::vector<std::string> cells;            ///< [row * devices + column]: "NV18", "PIX", ...; "" = not known
  std::vector<int> links;                    ///< [row * devices + column]: NVLinks or xGMI links of the pair, 0 = none
  int rows_present = 0, rows_usable = 0;     ///< usable without repair
  std::map<std::string, std::string> facts;  ///< of the format: XML counts, rocm link type, hops and weight
  std::vector<Finding> findings;

  int gpus() const;
  int nics() const;
  const std::string& cell(int row, int column) const { return cells[place(row, column)]; }
  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(row) * devices.size() + static_cast<std::size_t>(column);
  }
};

/// Links between GPUs, by kind, over rows read without repair, each direction counted ("NV12": 56).
std::map<std::string, int> gpu_links(const NodeTopology& node);
/// Sets of GPUs that NVLink or xGMI joins, two or more each.
std::vector<std::vector<std::string>> nvlink_groups(const NodeTopology& node);
/// Nearest NICs of each GPU whose row was read (with `all`, also repaired and mirrored rows).
std::map<std::string, NearNics> nearest_nics(const NodeTopology& node, bool all = false);

/// Most GPUs and NICs of one node that a dump may name; more is no node, and is refused in one line.
inline constexpr int most_devices = 1024;

/// Reads a dump of any of the formats. `catalog` tells what a PCI device id is and how many links a GPU has. Throws
/// Error(name, ...) in one line where it is none of them or names more than `most_devices`. Names in it are fit for a
/// terminal: control characters of the dump are escaped.
NodeTopology import_topology(std::string_view text, const std::string& name, const Catalog& catalog);
NodeTopology import_topology_file(const std::filesystem::path& path, const Catalog& catalog);

/// Findings of a node, from its matrix alone; import_topology() has them already.
std::vector<Finding> node_findings(const NodeTopology& node, const Catalog& catalog);

/// Findings of a cluster as described: NICs per GPU, PCIe against NIC speed, tiers, oversubscription, radix, rails.
std::vector<Finding> check_cluster(const Cluster& cluster);

}  // namespace meshwright::topology
