#pragma once
// Small descriptions of real machines, spelled out so that these tests need nothing but the fabrics of the catalogue.
#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::topology::testing_clusters {

using namespace meshwright::literals;

/// The rows of the catalogue that a description rests on.
inline void over(Cluster& c, std::string_view fabric) {
  c.node.fabric = fabric;
  c.fabric = builtin_catalog().fabric(fabric);
}

inline void of_host(Cluster& c, const char* cpu) { c.node.cpu = cpu, c.host = host_kind(cpu, "test"); }

inline Cluster dgx_h100(int nodes) {
  Cluster c;
  c.name = "dgx-h100";
  c.nodes = nodes;
  c.accelerator.name = "H100-SXM5-80GB";
  c.accelerator.scale_up_link = "nvlink4";
  c.scale_up_switch = builtin_catalog().switch_named("nvswitch3");
  c.node.accelerators = 8;
  c.node.scale_up = ScaleUpKind::switched;
  c.node.scale_up_domain = 8;
  c.node.scale_up_bandwidth = 450_GBps;
  c.node.scale_up_reduces = true;
  c.node.nics = 8;
  c.node.nic_bandwidth = 50_GBps;
  over(c, "infiniband");
  c.node.pcie = "pcie-gen5";
  of_host(c, "intel");
  return c;
}

inline Cluster dgx_a100(int nodes) {
  Cluster c = dgx_h100(nodes);
  c.name = "dgx-a100";
  c.accelerator.name = "A100-SXM4-80GB";
  c.accelerator.scale_up_link = "nvlink3";
  c.scale_up_switch = builtin_catalog().switch_named("nvswitch2");
  c.node.scale_up_bandwidth = 300_GBps;
  c.node.scale_up_reduces = false;
  c.node.nic_bandwidth = 25_GBps;
  c.node.pcie = "pcie-gen4";
  of_host(c, "amd");
  return c;
}

inline Cluster nvl72(int trays) {
  Cluster c = dgx_h100(trays);
  c.name = "gb200-nvl72";
  c.accelerator.name = "GB200";
  c.accelerator.scale_up_link = "nvlink5";
  c.accelerator.scale_up_links = 18;
  c.scale_up_switch = builtin_catalog().switch_named("nvswitch4");
  c.node.accelerators = 4;
  c.node.scale_up_domain = 72;
  c.scale_up_domains = (4 * trays + 71) / 72;
  c.node.scale_up_bandwidth = 900_GBps;
  c.node.nics = 4;
  of_host(c, "arm");
  return c;
}

inline Cluster pcie_box(int nodes) {
  Cluster c = dgx_h100(nodes);
  c.name = "l40s-box";
  c.accelerator.name = "L40S";
  c.accelerator.scale_up_link = "";
  c.node.scale_up = ScaleUpKind::none;
  c.node.scale_up_domain = 1;
  c.node.scale_up_bandwidth = {};
  c.node.scale_up_reduces = false;
  c.node.nics = 2;
  c.node.nic_bandwidth = 25_GBps;
  over(c, "roce");
  c.node.pcie = "pcie-gen4";
  return c;
}

inline Cluster tpu_v4(int hosts) {
  Cluster c;
  c.name = "tpu-v4";
  c.nodes = hosts;
  c.accelerator.name = "TPU-v4";
  c.accelerator.scale_up_link = "ici-v4";
  c.node.accelerators = 4;
  c.node.scale_up = ScaleUpKind::torus_3d;
  c.node.scale_up_domain = 4096;
  c.node.scale_up_bandwidth = 300_GBps;
  c.node.nics = 0;
  c.network.topology = "torus-3d";
  over(c, "ici");
  return c;
}

}  // namespace meshwright::topology::testing_clusters
