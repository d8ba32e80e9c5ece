#pragma once
// What a collective library reaches on one kind of link: a scale-up link generation, PCIe, or a scale-out fabric.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright {
class Reader;
}

namespace meshwright::hardware {

/// NCCL's wire protocols. LL sends 4 of 8 bytes and no fence, LL128 120 of 128, Simple everything after a fence.
enum class Protocol { ll, ll128, simple };
inline constexpr std::size_t protocol_count = 3;
inline constexpr std::array<std::string_view, protocol_count> protocol_names = {"LL", "LL128", "Simple"};
constexpr std::string_view name(Protocol p) { return protocol_names[static_cast<std::size_t>(p)]; }

/// One way of moving data over a medium. Time of a pipeline of `steps` hops with wire time w = bytes / (efficiency *
/// bandwidth):  steps * step + w + 2 sqrt(ramp * w). The square root is the fill of a pipeline whose chunk size is
/// chosen well, (sqrt(a) + sqrt(w))^2 with a the cost of one more chunk (Chan et al. 2007, pipelined chain).
struct Rate {
  Seconds step{};         ///< per dependent hop
  double efficiency = 0;  ///< achieved over the level's bandwidth for large messages; 0 = not available
  Seconds ramp{};         ///< cost of one more chunk in the pipeline
};

/// All-to-all: every rank sends to every other.
struct Exchange {
  Seconds base{};         ///< launch, instead of Medium::base
  Rate ll;                ///< short messages; step is per peer
  Seconds fence{};        ///< what Simple adds to the base
  Rate simple;            ///< long messages; step is per peer
  double congestion = 0;  ///< steps and wire time are multiplied by 1 + congestion * log2(domains / 2): incast, shared
                          ///< global links, connections beyond what a NIC holds
};

/// Rounds in which chunks move `bytes` through a reducing switch, `lanes` (channels x ranks) of them at once. NCCL
/// (2.17 on, enqueue.cc) takes chunks of 128 KiB from 64 rounds on, of 64 from 8, of 32 from 2, else of 16, which
/// halves the rounds at a step; here they stay level around it, half-way, so that more bytes never take fewer. Each
/// round costs Rate::ramp for each of the ranks: what a byte costs falls until messages are 64 x 128 KiB x lanes long
/// (1.6 GB on eight B200).
double in_switch_rounds(double bytes, double lanes) noexcept;

/// Parameters belong to the medium, never to a run; `meshwright calibrate nccl-tests` reproduces them from logs.
struct Medium {
  std::string name;                       ///< "nvlink4", "pcie-gen4", "infiniband", "efa-v2", ...
  Seconds base{};                         ///< launch and set-up of a collective; a network's adds to the scale-up's
  std::array<Rate, protocol_count> ring;  ///< by Protocol
  double tree_efficiency = 1;             ///< a double binary tree's bandwidth over the ring's
  Rate in_switch;                 ///< NVLS, SHARP: step is that of one pass through the switch, efficiency that of B in
                                  ///< algbw = B / (1 + 1/p)
  int in_switch_least_ranks = 4;  ///< below, the library doesn't use it
  int in_switch_channels = 0;     ///< of the library: its chunks are capped, see in_switch_rounds(); 0 = not capped
  /// Rate at which a kernel writes its own block from input to output, out of place: n/p in all-gather, reduce-scatter,
  /// all-reduce and all-to-all. Zero = not counted.
  BytesPerSecond local_copy{};
  double crowding = 0;  ///< efficiency is divided by 1 + crowding * log2(ranks / 2): devices that share a root complex
  Exchange all_to_all;
  Rate point_to_point;  ///< send/recv between neighbours
  double in_step = 1;   ///< bandwidth inside a training step over that of a quiet benchmark: kernels beside it, ranks
                        ///< that arrive at different times
  Evidence evidence = Evidence::data_sheet;
  std::string source;

  const Rate& rate(Protocol p) const { return ring[static_cast<std::size_t>(p)]; }
};

/// Whose collectives run: NCCL's on NVIDIA's devices, a torus's own where accelerators form one, else RCCL's or a
/// kin's.
enum class Library { nccl, rccl, torus };

/// Calibrated communication parameters of a cluster.
struct Platform {
  std::string name;  ///< "nvlink4 + infiniband"
  Library library = Library::nccl;
  Medium scale_up;   ///< joins accelerators: NVLink, Infinity Fabric, ICI, or PCIe where there is nothing else
  Medium host;       ///< PCIe and sockets, for accelerators of one node that no link joins
  Medium scale_out;  ///< the network
};

/// The media of a document {"description", "sources", "media": [...]}, whose fields stand over those of the medium of
/// that name in `base`, if there is one.
std::vector<Medium> read_media(const Reader& document, const std::vector<Medium>& base = {});
/// JSON document of media, as read_media reads it.
std::string to_json(const std::vector<Medium>& media, std::string_view description);

}  // namespace meshwright::hardware
