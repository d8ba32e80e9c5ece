#pragma once
// What a checkpoint costs: its size by the job's states, and the path on which it is written.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/capacity/goodput.hpp"
#include "meshwright/capacity/inputs.hpp"
#include "meshwright/capacity/site.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::capacity {

enum class CheckpointMode {
  synchronous,   ///< training waits until the store has it
  asynchronous,  ///< training waits for the copy to host memory
  peer,          ///< besides, frequent copies in the memory of another host
  local          ///< besides, frequent copies on each host's own disk, which a restart in place finds again
};
inline constexpr std::array<std::string_view, 4> checkpoint_mode_names = {"synchronous", "asynchronous", "peer",
                                                                          "local"};
constexpr std::string_view name(CheckpointMode mode) { return checkpoint_mode_names[static_cast<std::size_t>(mode)]; }

/// What it can be told.
inline constexpr double least_bytes_per_parameter = 0.1, most_bytes_per_parameter = 64, most_rollback = 1000;

/// What the user says of checkpoints. Zero = to be found.
struct CheckpointChoice {
  CheckpointMode mode = CheckpointMode::asynchronous;
  Seconds interval{}, peer_interval{};  ///< between copies in the store; on a peer or a disk
  double bytes_per_parameter = 0;
  double rollback = 0;  ///< checkpoints that are given up besides, in the mean (a bad one found late)
};
/// {"mode", "interval", "peer_interval", "bytes_per_parameter", "rollback"} and the inputs "checkpoint.*", over
/// `base`.
CheckpointChoice read_checkpoint_choice(const Reader& reader, Inputs& inputs, CheckpointChoice base = {});

/// Bytes that are saved: weights and optimizer states (12 to 14 bytes a parameter in mixed precision) wherever they
/// lie, every parameter once. Published: BLOOM 13.1, Megatron 1T 13.8, a 70B model 11.2 bytes a parameter.
Bytes checkpoint_bytes(const parallel::Job& job, const CheckpointChoice& choice = {});

/// Blocking, lag and loading; intervals are left open.
struct CheckpointPath {
  std::vector<CheckpointLevel> levels;  ///< as CheckpointMode says: one, or peer and store
  Seconds load_store{}, load_memory{};
};
CheckpointPath checkpoint_path(const CheckpointChoice& choice, Bytes state, const Site& site, const Inputs& inputs);

}  // namespace meshwright::capacity
