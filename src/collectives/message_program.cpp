#include "meshwright/collectives/message_program.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace meshwright::collectives {
namespace {

/// Which receives of one rank brought each chunk, so far.
using Arrivals = std::map<int, std::vector<int>>;

/// Transfers of one round between the same two ranks, as one message.
using Messages = std::map<std::pair<int, int>, std::vector<Transfer>>;

std::vector<int> chunks_of(const Schedule& schedule, const std::vector<Transfer>& transfers) {
  std::vector<int> chunks;
  for (const Transfer& t : transfers) {
    for (int i = 0; i < t.count; ++i) {
      const int chunk = (t.chunk + i * t.stride) % schedule.chunks;
      chunks.push_back(chunk < 0 ? chunk + schedule.chunks : chunk);
    }
  }
  return chunks;
}

class ProgramWriter {
 public:
  ProgramWriter(const Schedule& schedule, std::uint64_t bytes, SendOrder order) : schedule_(schedule), order_(order) {
    const Ratio share = chunk_share(schedule);
    chunk_bytes_ =
        bytes * static_cast<std::uint64_t>(share.numerator()) / static_cast<std::uint64_t>(share.denominator());
    program_.ranks.resize(static_cast<std::size_t>(schedule.ranks()));
    arrivals_.resize(program_.ranks.size());
    last_round_.resize(program_.ranks.size());
  }

  void round(const std::vector<Transfer>& transfers) {
    Messages messages;
    std::vector<std::pair<int, int>> order;
    for (const Transfer& t : transfers) {
      auto& message = messages[{t.source, t.target}];
      if (message.empty()) order.emplace_back(t.source, t.target);
      message.push_back(t);
    }
    for (const auto& pair : order) send(pair.first, pair.second, chunks_of(schedule_, messages[pair]));
    if (order_ == SendOrder::by_round) {
      for (const auto& pair : order) last_round_[static_cast<std::size_t>(pair.second)].clear();
    }
    for (const auto& pair : order) receive(pair.first, pair.second, chunks_of(schedule_, messages[pair]));
  }

  MessageProgram take() { return std::move(program_); }

 private:
  void send(int source, int target, const std::vector<int>& chunks) {
    Operation op{.kind = OperationKind::send, .size = chunk_bytes_ * chunks.size(), .peer = target};
    const Arrivals& arrived = arrivals_[static_cast<std::size_t>(source)];
    if (order_ == SendOrder::by_round) op.after_done = last_round_[static_cast<std::size_t>(source)];
    for (const int chunk : order_ == SendOrder::by_data ? chunks : std::vector<int>{}) {
      if (const auto found = arrived.find(chunk); found != arrived.end())
        op.after_done.insert(op.after_done.end(), found->second.begin(), found->second.end());
    }
    std::sort(op.after_done.begin(), op.after_done.end());
    op.after_done.erase(std::unique(op.after_done.begin(), op.after_done.end()), op.after_done.end());
    program_.ranks[static_cast<std::size_t>(source)].push_back(std::move(op));
  }

  void receive(int source, int target, const std::vector<int>& chunks) {
    auto& operations = program_.ranks[static_cast<std::size_t>(target)];
    const int index = static_cast<int>(operations.size());
    for (const int chunk : chunks) arrivals_[static_cast<std::size_t>(target)][chunk].push_back(index);
    last_round_[static_cast<std::size_t>(target)].push_back(index);
    operations.push_back({.kind = OperationKind::receive, .size = chunk_bytes_ * chunks.size(), .peer = source});
  }

  const Schedule& schedule_;
  SendOrder order_;
  std::uint64_t chunk_bytes_ = 0;
  MessageProgram program_;
  std::vector<Arrivals> arrivals_;
  std::vector<std::vector<int>> last_round_;  ///< receives of the last round that brought a rank something
};

}  // namespace

MessageProgram message_program(const Schedule& schedule, std::uint64_t bytes, SendOrder order) {
  ProgramWriter writer(schedule, bytes, order);
  for (const Phase& phase : schedule.phases) {
    for (int repeat = 0; repeat < phase.repeats; ++repeat) writer.round(round_of(schedule, phase, repeat));
  }
  return writer.take();
}

}  // namespace meshwright::collectives
