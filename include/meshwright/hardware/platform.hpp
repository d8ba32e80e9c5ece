#pragma once
// Calibrated communication parameters of a platform: what a collective library reaches on a kind of scale-up domain and
// a kind of fabric. They belong to a link generation and a fabric, never to a run; `meshwright calibrate nccl-tests`
// reproduces the fits from logs.
#include <array>
#include <string>
#include <vector>

#include "meshwright/hardware/node.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright {

enum class Protocol { ll, ll128, simple };
inline constexpr std::size_t protocol_count = 3;

/// One protocol on one medium: time = base + steps * step + bytes on the wire / (efficiency * link bandwidth).
struct ProtocolRate {
  Seconds step{};         ///< per dependent step
  double efficiency = 0;  ///< achieved over the level's bandwidth; 0 = protocol not available
};

/// One medium: a scale-up link generation or a scale-out fabric.
struct MediumRate {
  std::string name;  ///< "nvlink4", "infiniband", "roce", "efa", "pcie-gen4", ...
  Seconds base{};    ///< launch and set-up of one collective
  std::array<ProtocolRate, protocol_count> protocol{};
  Seconds switch_reduce_base{};         ///< NVLS / SHARP: time without data
  double switch_reduce_efficiency = 0;  ///< B of algbw = B/(1 + 1/p) over the link's bandwidth; 0 = none
  int switch_reduce_least_ranks = 4;
  Seconds all_to_all_base{}, all_to_all_per_peer{};
  double all_to_all_efficiency = 0;
  Seconds point_to_point{};  ///< send/recv latency between neighbours
  double point_to_point_efficiency = 0;
  Evidence evidence = Evidence::data_sheet;
  std::string source;
};

struct Platform {
  std::string name;  ///< "nvlink4 + infiniband"
  MediumRate scale_up, scale_out;
};

/// The platform of a cluster: its scale-up link and its fabric, from data/hardware/platforms; with the nearest kin
/// (evidence `extrapolated`) where that very medium was not measured.
Platform platform_of(const Cluster& cluster);

}  // namespace meshwright
