#include "calibrate/diagnose_signs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "calibrate/diagnose_thresholds.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::calibrate {
namespace {

/// A row says: a line that has `first` and, where given, `second` speaks for `cause`.
struct Sign {
  std::string_view first, second, cause, reason, check;
};

constexpr std::array signs = {
    Sign{"net/socket", "", cause::sockets, "NCCL reports NET/Socket: TCP instead of RDMA",
         "NCCL_DEBUG=INFO: expect NET/IB or the vendor's plug-in; ibv_devinfo, NCCL_IB_HCA, NCCL_IB_DISABLE"},
    Sign{"nccl_ib_disable=1", "", cause::sockets, "NCCL_IB_DISABLE=1 turns RDMA off", "unset NCCL_IB_DISABLE"},
    Sign{"nccl_net=socket", "", cause::sockets, "NCCL_NET=Socket forces TCP", "unset NCCL_NET"},
    Sign{"tcp", "no gpudirect", cause::sockets, "traffic runs over TCP without GPUDirect",
         "NCCL_DEBUG=INFO: which NET is in use"},
    Sign{"gpu direct rdma disabled", "", cause::host_staging,
         "NCCL reports GPUDirect RDMA disabled: the NIC is too far away",
         "nvidia-smi topo -m (PIX or PXB to the NIC), NCCL_NET_GDR_LEVEL, lsmod | grep nvidia_peermem"},
    Sign{"gdr", "missing", cause::host_staging, "GPUDirect RDMA is missing",
         "lsmod | grep nvidia_peermem; NCCL_DEBUG=INFO: GDRDMA"},
    Sign{"gdr 0", "", cause::host_staging, "NCCL reports GDR 0",
         "lsmod | grep nvidia_peermem; NCCL_DEBUG=INFO: GDRDMA"},
    Sign{"phb", "pix", cause::host_staging,
         "NCCL sees the NIC at PHB where it shares a PCIe switch: GPUDirect RDMA isn't working",
         "lsmod | grep nvidia_peermem; NCCL_DEBUG=INFO: via NET/IB/x/GDRDMA"},
    Sign{"phb", "share pcie switch", cause::host_staging, "NCCL sees PHB where GPU and NIC share a PCIe switch",
         "lsmod | grep nvidia_peermem; NCCL_DEBUG=INFO: via NET/IB/x/GDRDMA"},
    Sign{"srcvalid+", "", "acs_on", "PCIe access control (ACS SrcValid+) sends peer traffic through the root complex",
         "lspci -vvv | grep ACSCtl: disable ACS on the PCIe switches (setpci or the BIOS)"},
    Sign{"acs enabled", "", "acs_on", "PCIe access control services are on", "lspci -vvv | grep ACSCtl"},
    Sign{"iommu", "on", "iommu_on", "the IOMMU translates peer traffic", "dmesg | grep -i iommu; boot with iommu=pt"},
    Sign{"nccl_p2p_level=loc", "", cause::peer_access, "NCCL_P2P_LEVEL=LOC forbids NVLink: shared memory instead",
         "unset NCCL_P2P_LEVEL"},
    Sign{"p2p_level", "loc", cause::peer_access, "NCCL_P2P_LEVEL=LOC forbids NVLink: shared memory instead",
         "unset NCCL_P2P_LEVEL"},
    Sign{"nccl_p2p_disable=1", "", cause::peer_access, "NCCL_P2P_DISABLE=1 forbids peer access",
         "unset NCCL_P2P_DISABLE"},
    Sign{"nccl_nvls_enable=0", "", "nvls_off", "NCCL_NVLS_ENABLE=0 leaves the switch's reduction unused",
         "unset NCCL_NVLS_ENABLE"},
    Sign{"bond", "", "bonded_ports", "a queue pair uses one port of a bond: half of its bandwidth",
         "NCCL_IB_QPS_PER_CONNECTION=2 or more, or unbond the ports"},
    Sign{"nccl_ib_ece_enable=1", "", cause::extensions, "enhanced connection establishment negotiates a slow path",
         "NCCL_IB_ECE_ENABLE=0"},
    Sign{"one pcie link", "", "shared_pcie_link", "two NICs share one PCIe link and count as one",
         "nvidia-smi topo -m; lspci -tv"},
    Sign{"under one bridge", "", "shared_pcie_link", "two NICs share one PCIe bridge and count as one",
         "nvidia-smi topo -m; lspci -tv"},
    Sign{"throttl", "", "slow_device", "a device is throttled, and all ranks wait for it",
         "nvidia-smi -q -d PERFORMANCE,CLOCK on every node"},
};

bool says(const Observation& o, std::string_view first, std::string_view second = "") {
  return std::ranges::any_of(o.lines, [&](const std::string& line) {
    const std::string text = lower(line);
    return text.find(first) != std::string::npos && text.find(second) != std::string::npos;
  });
}

bool says_vm(const Observation& o) {
  return says(o, "vm") || says(o, "hypervisor") || says(o, "kvm") || says(o, "sr-iov");
}

void add(std::vector<LikelyCause>& found, LikelyCause finding) {
  const bool known = std::ranges::any_of(found, [&](const LikelyCause& f) { return f.cause == finding.cause; });
  if (!known) found.push_back(std::move(finding));
}

/// The wire is sound (ib_write_bw) and the library isn't: what lies between is the path from device to NIC.
void judge_raw_rdma(const Observation& o, double reached, std::vector<LikelyCause>& found) {
  const double nominal = o.cluster.node.nics * o.cluster.node.nic_bandwidth.value();
  if (o.raw_rdma.value() <= 0 || nominal <= 0) return;
  const double share = o.raw_rdma.value() / nominal;
  if (share < thresholds.raw_link) {
    add(found, {std::string(cause::slow_network),
                fmt::format("ib_write_bw reaches {:.0f} % of the NICs' rate: the fabric itself is slow", 100 * share),
                "ib_write_bw per rail and pair of nodes; ibdiagnet; link width and speed (ibstat, mlxlink); the "
                "NIC's slot (lspci -vv | grep LnkSta)"});
    return;
  }
  if (reached <= 0 || reached > thresholds.sound) return;
  if (says_vm(o)) {
    add(found,
        {"gdr_path_in_vm",
         fmt::format("raw RDMA reaches {:.0f} % of line rate, the collective {:.0f} % of its prediction: inside a "
                     "virtual machine the path from GPU to NIC crosses the root complex (ACS, ATS)",
                     100 * share, 100 * reached),
         "ib_write_bw --use_cuda; ATS on the NIC's functions; the NCCL topology file that the VM injects"});
    return;
  }
  add(found,
      {"per_step_latency",
       fmt::format("raw RDMA reaches {:.0f} % of line rate, the collective {:.0f} % of its prediction: each step "
                   "costs too much (IOMMU, ACS, proxy thread), not bandwidth",
                   100 * share, 100 * reached),
       "NCCL_BUFFSIZE and NCCL_P2P_NET_CHUNKSIZE larger: does busbw follow? Then IOMMU (iommu=pt), ACS, CPU "
       "pinning and frequency"});
}

void judge_fabric(const Observation& o, double reached, std::vector<LikelyCause>& found) {
  const bool sockets = std::ranges::any_of(found, [](const LikelyCause& f) { return f.cause == cause::sockets; });
  if (o.cluster.fabric.by_plugin && (sockets || says(o, "no gpudirect") || says(o, "no ofi plugin"))) {
    found.insert(
        found.begin(),
        {"missing_net_plugin",
         fmt::format("{} is reached through a plug-in (aws-ofi-nccl, libfabric); without it NCCL falls back to "
                     "TCP sockets",
                     o.cluster.node.fabric),
         "NCCL_DEBUG=INFO: 'NET/Plugin'; LD_LIBRARY_PATH has libnccl-net.so"});
  }
  const bool several_nics = o.cluster.node.nics > 1;
  if (o.cluster.fabric.negotiates && o.unstable && several_nics && reached < thresholds.unstable_reach) {
    add(found, {std::string(cause::extensions),
                "low and unstable: enhanced connection establishment may pick a slow congestion control",
                "NCCL_IB_ECE_ENABLE=0, and compare"});
  }
  if (o.scaling > 0 && o.scaling < thresholds.scaling) {
    add(found, {std::string(cause::slow_network),
                fmt::format("throughput per device falls to {:.0f} % on several nodes: the network between them bounds "
                            "the step",
                            100 * o.scaling),
                "all_reduce_perf -b 1M -e 8G -f 2 over two nodes; NCCL_DEBUG=INFO: which NET is in use"});
  }
}

}  // namespace

std::vector<LikelyCause> direct_signs(const Observation& o, double reached) {
  std::vector<LikelyCause> found;
  for (const Sign& sign : signs) {
    if (says(o, sign.first, sign.second)) {
      add(found, {std::string(sign.cause), std::string(sign.reason), std::string(sign.check)});
    }
  }
  judge_raw_rdma(o, reached, found);
  judge_fabric(o, reached, found);
  return found;
}

}  // namespace meshwright::calibrate
