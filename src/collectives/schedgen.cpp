// The patterns of LogGOPSim's schedule generator (Hoefler, Schneider, Lumsdaine 2010), and records of its runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "meshwright/collectives/algorithm.hpp"
#include "meshwright/collectives/message_program.hpp"
#include "meshwright/core/names.hpp"

namespace meshwright::collectives {
namespace {

struct Request {
  int ranks;
  std::uint64_t bytes, segment_bytes;
  const std::string& where;
};

// Most ranks of a program that is played message by message: messages that grow with the square of the ranks, or not.
constexpr int most_square = 512, most_linear = 8192;
constexpr std::uint64_t most_segments = 1 << 18;  ///< times ranks

MessageProgram of_row(Collective collective, std::string_view name, const Request& r, std::uint64_t bytes,
                      int segments = 1) {
  const Algorithm& row = algorithm(collective, name, r.where);
  const Shape shape = flat_shape(r.ranks, segments);
  if (!row.supports(shape)) throw Error(r.where, fmt::format("'{}' does not run on {} ranks", name, r.ranks));
  return message_program(schedule(row, shape), bytes);
}

/// Builds programs rank by rank.
struct Draft {
  MessageProgram program;
  std::uint64_t bytes;

  explicit Draft(const Request& r) : bytes(r.bytes) { program.ranks.resize(static_cast<std::size_t>(r.ranks)); }
  /// Returns the operation's index.
  int send(int rank, int to, std::vector<int> after = {}) {
    return add(rank, OperationKind::send, to, std::move(after));
  }
  int receive(int rank, int from) { return add(rank, OperationKind::receive, from, {}); }
  int add(int rank, OperationKind kind, int peer, std::vector<int> after) {
    auto& operations = program.ranks[static_cast<std::size_t>(rank)];
    operations.push_back({.kind = kind, .size = bytes, .peer = peer, .after_done = std::move(after)});
    return static_cast<int>(operations.size()) - 1;
  }
};

MessageProgram binomial_broadcast(const Request& r) { return of_row(Collective::broadcast, "binomial", r, r.bytes); }
MessageProgram binomial_reduce(const Request& r) { return of_row(Collective::reduce, "binomial", r, r.bytes); }
MessageProgram ring_all_reduce(const Request& r) { return of_row(Collective::all_reduce, "ring", r, r.bytes); }
// schedgen calls it recursive doubling; its messages halve and double, as Rabenseifner's do.
MessageProgram halving_all_reduce(const Request& r) {
  return of_row(Collective::all_reduce, "rabenseifner", r, r.bytes);
}
MessageProgram linear_all_to_all(const Request& r) {
  return of_row(Collective::all_to_all, "linear", r, r.bytes * static_cast<std::uint64_t>(r.ranks));
}
MessageProgram pipelined_ring(const Request& r) {
  const std::uint64_t segment = std::max<std::uint64_t>(1, r.segment_bytes == 0 ? r.bytes : r.segment_bytes);
  const std::uint64_t segments = std::max<std::uint64_t>(1, r.bytes / segment + (r.bytes % segment == 0 ? 0 : 1));
  if (segments > most_segments / static_cast<std::uint64_t>(r.ranks))
    throw Error(r.where, fmt::format("{} segments over {} ranks, expected at most {} messages", segments, r.ranks,
                                     most_segments));
  return of_row(Collective::broadcast, "chain", r, r.bytes, static_cast<int>(segments));
}

MessageProgram binary_broadcast(const Request& r) {
  Draft d(r);
  for (int rank = 0; rank < r.ranks; ++rank) {
    std::vector<int> after;
    if (rank > 0) after.push_back(d.receive(rank, (rank - 1) / 2));
    for (const int child : {2 * rank + 1, 2 * rank + 2}) {
      if (child < r.ranks) d.send(rank, child, after);
    }
  }
  return d.program;
}

MessageProgram gather(const Request& r) {
  Draft d(r);
  for (int rank = 1; rank < r.ranks; ++rank) {
    d.receive(0, rank);
    d.send(rank, 0);
  }
  return d.program;
}

MessageProgram scatter(const Request& r) {
  Draft d(r);
  for (int rank = 1; rank < r.ranks; ++rank) {
    d.send(0, rank);
    d.receive(rank, 0);
  }
  return d.program;
}

// Everyone reports to rank 0, which answers once it has heard of all. One byte each, whatever was asked for.
MessageProgram linear_barrier(const Request& r) {
  Draft d(r);
  d.bytes = 1;
  d.program.ranks[0].push_back({.kind = OperationKind::calculate});
  for (int rank = 1; rank < r.ranks; ++rank) {
    const int report = d.receive(0, rank);
    d.program.ranks[0][0].after_done.push_back(report);
    d.send(0, rank, {0});
    d.send(rank, 0);
    d.receive(rank, 0);
  }
  return d.program;
}

MessageProgram dissemination(const Request& r) {
  Draft d(r);
  for (int rank = 0; rank < r.ranks; ++rank) {
    std::vector<int> after;
    for (int step = 1; step < r.ranks; step *= 2) {
      d.send(rank, (rank + step) % r.ranks, after);
      after = {d.receive(rank, (rank - step + r.ranks) % r.ranks)};
    }
  }
  return d.program;
}

// Two unsegmented rings in opposite directions, closed; everyone but rank 0 waits for the message to pass it on.
MessageProgram double_ring(const Request& r) {
  Draft d(r);
  for (int rank = 0; rank < r.ranks; ++rank) {
    for (const int step : {1, r.ranks - 1}) {
      const int send = d.send(rank, (rank + step) % r.ranks);
      const int receive = d.receive(rank, (rank - step + r.ranks) % r.ranks);
      if (rank > 0)
        d.program.ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(send)].after_done = {receive};
    }
  }
  return d.program;
}

struct Pattern {
  std::string_view name;
  MessageProgram (*make)(const Request&);
  int most_ranks = most_linear;
};
constexpr std::array<Pattern, 12> patterns = {{{"binomialtreebcast", binomial_broadcast},
                                               {"binomialtreereduce", binomial_reduce},
                                               {"binarytreebcast", binary_broadcast},
                                               {"dissemination", dissemination},
                                               {"allreduce_recdoub", halving_all_reduce},
                                               {"allreduce_ring", ring_all_reduce, most_square},
                                               {"linear_alltoall", linear_all_to_all, most_square},
                                               {"gather", gather},
                                               {"scatter", scatter},
                                               {"linbarrier", linear_barrier},
                                               {"pipelinedring", pipelined_ring},
                                               {"doublering", double_ring}}};

/// "--segmentsize 8192" -> 8192; 0 where there is none.
std::uint64_t segment_bytes_of(const Reader& record) {
  const std::string extra = record.string_or("extra", "");
  constexpr std::string_view flag = "--segmentsize ";
  const auto at = extra.find(flag);
  if (at == std::string::npos) return 0;
  std::uint64_t value = 0;
  const char* begin = extra.data() + at + flag.size();
  if (std::from_chars(begin, extra.data() + extra.size(), value).ec != std::errc{})
    record.at("extra").fail("expected --segmentsize BYTES");
  return value;
}

MessageProgram program_of(const Reader& record, bool from_text) {
  if (from_text) return parse_goal(record.at("goal").string(), record.at("goal").where());
  const Reader name = record.at("pattern");
  const auto program = schedgen_pattern(name.string(), record.at("P").integer(1, 1 << 16),
                                        static_cast<std::uint64_t>(record.at("bytes").integer64()),
                                        segment_bytes_of(record), name.where());
  if (!program)
    throw UnknownName(name.where(), fmt::format("unknown pattern '{}'{}", name.string(),
                                                suggestion(name.string(), schedgen_patterns())));
  return *program;
}

}  // namespace

std::optional<MessageProgram> schedgen_pattern(std::string_view name, int ranks, std::uint64_t bytes,
                                               std::uint64_t segment_bytes, const std::string& where) {
  for (const Pattern& pattern : patterns) {
    if (pattern.name != name) continue;
    if (ranks > pattern.most_ranks)
      throw Error(where, fmt::format("{} ranks of '{}', expected at most {} for a program that is played message by "
                                     "message",
                                     ranks, name, pattern.most_ranks));
    return pattern.make({ranks, bytes, segment_bytes, where});
  }
  return std::nullopt;
}

std::vector<std::string> schedgen_patterns() {
  std::vector<std::string> names;
  names.reserve(patterns.size());
  for (const Pattern& pattern : patterns) names.emplace_back(pattern.name);
  return names;
}

LoggopsimCheck check_loggopsim_record(const Reader& record) {
  const auto number = [&](std::string_view key) { return static_cast<std::uint64_t>(record.at(key).integer64()); };
  LoggopsimCheck check{.pattern = record.at("pattern").string(), .recorded_makespan = number("makespan")};
  const auto text = record.find("goal");
  check.from_text = text && !text->string().empty();
  const LogGP parameters{
      .L = number("L"), .o = number("o"), .g = number("g"), .G = number("G"), .O = number("O"), .S = number("S")};
  const ClockSweep sweep = simulate(program_of(record, check.from_text), parameters);
  check.predicted_makespan = sweep.makespan;
  check.equal = sweep.makespan == check.recorded_makespan;
  if (const auto hosts = record.find("hosts")) {
    for (const std::string& host : hosts->keys()) {
      std::size_t rank = 0;
      const bool whole = std::from_chars(host.data(), host.data() + host.size(), rank).ptr == host.data() + host.size();
      if (!whole || rank >= sweep.finish.size()) hosts->fail(fmt::format("found host '{}', expected a rank", host));
      check.equal &= sweep.finish[rank] == static_cast<std::uint64_t>(hosts->at(host).integer64());
    }
  }
  return check;
}

}  // namespace meshwright::collectives
