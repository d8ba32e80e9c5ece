#pragma once
// Schedules as message programs for the LogGP clock sweep, and the patterns of LogGOPSim's schedule generator.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/collectives/schedule.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/cost/loggp.hpp"

namespace meshwright::collectives {

/// When a rank may send: as soon as the data is there (after the receives that brought or changed one of its chunks),
/// or only once it has received all of the last round that brought it something (a rank that waits in every round).
enum class SendOrder { by_data, by_round };

/// The program of a schedule. Messages of a rank leave in the order of the rounds. A chunk is the whole part of
/// bytes * chunk_share. Combining costs no time. Not for schedules with switches.
MessageProgram message_program(const Schedule& schedule, std::uint64_t bytes, SendOrder order = SendOrder::by_data);

/// The patterns of LogGOPSim's schedgen (binomialtreebcast, allreduce_ring, linear_alltoall, ...), those that are
/// collectives from our rows: `bytes` is one message's worth as schedgen takes it; `segment_bytes` > 0 cuts pipelined
/// ones. Nothing for a name that isn't one. Throws Error(where, ...) where `ranks` doesn't fit the pattern.
std::optional<MessageProgram> schedgen_pattern(std::string_view name, int ranks, std::uint64_t bytes,
                                               std::uint64_t segment_bytes, const std::string& where);
/// The names that schedgen_pattern knows.
std::vector<std::string> schedgen_patterns();

/// A recorded LogGOPSim run against our clock sweep.
struct LoggopsimCheck {
  std::string pattern;
  bool equal = false;  ///< makespan and the finish time of every rank that the record lists, to the nanosecond
  std::uint64_t predicted_makespan = 0, recorded_makespan = 0;
  bool from_text = false;  ///< played from the record's GOAL text; else from our own pattern
};
/// Reads {"pattern", "P", "bytes", "extra", "L", "o", "g", "G", "O", "S", "makespan", "hosts", "goal"} and plays it.
LoggopsimCheck check_loggopsim_record(const Reader& record);

}  // namespace meshwright::collectives
