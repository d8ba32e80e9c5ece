#include "parallel/host_link.hpp"

#include <algorithm>

#include "core/embedded.hpp"

namespace meshwright::parallel {
namespace {

struct HostMemory {
  double reached;
  Seconds update;
};

const HostMemory& host_memory() {
  static const HostMemory figures = [] {
    const auto file = std::ranges::find(embedded_recipes(), "hosts.json", &EmbeddedFile::name);
    const Reader memory = Reader::text(file->content, "data/recipes/hosts.json").at("memory");
    memory.allow_only({"reached", "update"});
    return HostMemory{memory.at("reached").number(), memory.at("update").quantity<Seconds::dimension>()};
  }();
  return figures;
}

}  // namespace

BytesPerSecond host_link(const Cluster& cluster) {
  const HostRow& host = host_row(cluster.node.cpu);
  const bool on_board = host.link > BytesPerSecond{} && cluster.accelerator.vendor == host.vendor;
  return host_memory().reached * (on_board ? host.link : cluster.pcie_link.bandwidth);
}

Seconds host_update() { return host_memory().update; }

}  // namespace meshwright::parallel
