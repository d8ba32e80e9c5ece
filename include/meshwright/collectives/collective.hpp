#pragma once
// The collectives, spelled as nccl-tests and our command line spell them.
#include <array>
#include <string>
#include <string_view>

#include "meshwright/core/ratio.hpp"

namespace meshwright::collectives {

enum class Collective { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv };
inline constexpr std::size_t collective_count = 7;
inline constexpr std::array<std::string_view, collective_count> collective_names = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"};
constexpr std::string_view name(Collective c) { return collective_names[static_cast<std::size_t>(c)]; }
/// Also takes "alltoall", "allreduce", "sendrecv", ... Throws Error(where, ...) with the nearest spelling.
Collective parse_collective(std::string_view text, const std::string& where);

/// busbw / algbw of `ranks` ranks (nccl-tests PERFORMANCE.md): 2(p-1)/p, (p-1)/p or 1.
Ratio busbw_factor(Collective collective, int ranks);

}  // namespace meshwright::collectives
