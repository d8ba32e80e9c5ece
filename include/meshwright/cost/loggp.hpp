#pragma once
// LogGP (Alexandrov, Ionescu, Schauser, Scheiman 1995) with O and S of LogGPS, and an exact clock sweep of message
// schedules with the semantics of LogGOPSim (Hoefler, Schneider, Lumsdaine 2010). All times are whole nanoseconds.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::cost {

/// Defaults are those of LogGOPSim.
struct LogGP {
  std::uint64_t L = 2500;   ///< wire latency [ns]
  std::uint64_t o = 1500;   ///< CPU overhead of a message, at both ends [ns]
  std::uint64_t g = 1000;   ///< gap between messages at one NIC [ns]
  std::uint64_t G = 6;      ///< gap per byte at a NIC [ns/B]
  std::uint64_t O = 0;      ///< CPU overhead per byte [ns/B]
  std::uint64_t S = 65535;  ///< larger messages complete at the sender only once the receiver has matched them [B]
};

enum class OperationKind { send, receive, calculate };

struct Operation {
  OperationKind kind = OperationKind::send;
  std::uint64_t size = 0;  ///< bytes; for `calculate`, nanoseconds
  int peer = 0, tag = 0;
  int cpu = 0, nic = 0;
  std::vector<int> after_done{};   ///< operations of the same rank that must have finished ("requires")
  std::vector<int> after_start{};  ///< that must have started ("irequires")
};

/// What each rank does; operations that wait for nothing start at once, in the order given.
struct MessageProgram {
  std::vector<std::vector<Operation>> ranks;
};

/// Reads GOAL text ("num_ranks 2 rank 0 { l1: send 8b to 1 tag 7 cpu 0 nic 0 l2: calc 100 l2 requires l1 } ...").
/// Throws Error("where:LINE", ...) that names what was found and what was expected.
MessageProgram parse_goal(std::string_view text, const std::string& where);
/// The program as GOAL text; parse_goal reads it back.
std::string goal_text(const MessageProgram& program);

struct ClockSweep {
  std::uint64_t makespan = 0;         ///< [ns]
  std::vector<std::uint64_t> finish;  ///< when the CPUs of each rank are free for good [ns]; NIC tails don't count
  std::uint64_t unmatched = 0;        ///< receives and operations that never happened; 0 for a sound program
};

/// Plays the program. Consecutive sends of a rank are max(o + (s-1) O, g + (s-1) G) apart; a message reaches the
/// receiver after o + L, whose CPU is then busy for o + (s-1) max(O, G); messages to one rank are taken one at a time.
/// No contention in the network. Equal to every LogGOPSim run that we have (tests/cost).
/// As there, s - 1 wraps around for s = 0. Time O(operations log operations).
ClockSweep simulate(const MessageProgram& program, const LogGP& parameters);

/// One message between idle ranks [ns]: 2 o + L + (s-1) max(O, G).
std::uint64_t message_time(const LogGP& parameters, std::uint64_t bytes);

}  // namespace meshwright::cost
