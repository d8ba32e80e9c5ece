#include "meshwright/cost/loggp.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <tuple>

#include "meshwright/core/error.hpp"

namespace meshwright::cost {
namespace {

/// An operation of `host` or a message on its way to it.
struct Event {
  std::uint64_t time = 0, number = 0;
  int host = 0, operation = 0;
  bool message = false;
  int source = 0, source_operation = 0;  ///< of a message
};
/// Earliest first; among equals, the one that was queued first. An event that has to wait keeps its number.
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return std::tie(a.time, a.number) > std::tie(b.time, b.number);
  }
};

struct Dependent {
  int operation;
  bool on_start;
};

struct Host {
  std::vector<std::uint64_t> cpu_free, send_free, receive_free;  ///< by cpu and by NIC
  std::vector<std::vector<Dependent>> dependents;
  std::vector<int> waits_for;
  std::vector<int> released;  ///< operations that wait for nothing any more and aren't queued yet
};

class Simulation {
 public:
  Simulation(const MessageProgram& program, const LogGP& parameters)
      : program_(program), p_(parameters), hosts_(program.ranks.size()) {
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) prepare(static_cast<int>(rank));
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) queue_released(static_cast<int>(rank));
  }

  ClockSweep run() {
    constexpr long long most_events = 4'000'000;  // operations that wait for one CPU ask again and again
    for (long long played = 0; !events_.empty(); ++played) {
      if (played > most_events) throw Error("message program", "it takes more than 4 million events to play");
      const Event event = events_.top();
      events_.pop();
      touched_.clear();
      event.message ? arrive(event) : begin(event);
      std::sort(touched_.begin(), touched_.end());
      for (const int host : touched_) queue_released(host);
    }
    return result();
  }

 private:
  Host& host(int rank) { return hosts_[static_cast<std::size_t>(rank)]; }
  const Operation& operation(int rank, int index) const {
    return program_.ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
  }
  static std::uint64_t& at(std::vector<std::uint64_t>& times, int index) {
    return times[static_cast<std::size_t>(index)];
  }

  void prepare(int rank) {
    const auto& operations = program_.ranks[static_cast<std::size_t>(rank)];
    Host& h = host(rank);
    h.dependents.resize(operations.size());
    h.waits_for.resize(operations.size());
    std::size_t cpus = 1, nics = 1;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation& op = operations[i];
      cpus = std::max(cpus, static_cast<std::size_t>(op.cpu) + 1);
      nics = std::max(nics, static_cast<std::size_t>(op.nic) + 1);
      for (const int before : op.after_done)
        h.dependents[static_cast<std::size_t>(before)].push_back({static_cast<int>(i), false});
      for (const int before : op.after_start)
        h.dependents[static_cast<std::size_t>(before)].push_back({static_cast<int>(i), true});
      h.waits_for[i] = static_cast<int>(op.after_done.size() + op.after_start.size());
      if (h.waits_for[i] == 0) h.released.push_back(static_cast<int>(i));
    }
    h.cpu_free.resize(cpus);
    h.send_free.resize(nics);
    h.receive_free.resize(nics);
  }

  /// Gives times and numbers to what has become free on a host: sends, then receives, then calculations.
  void queue_released(int rank) {
    Host& h = host(rank);
    for (const OperationKind kind : {OperationKind::send, OperationKind::receive, OperationKind::calculate}) {
      for (const int index : h.released) {
        const Operation& op = operation(rank, index);
        if (op.kind != kind) continue;
        const std::uint64_t cpu = at(h.cpu_free, op.cpu);
        const std::uint64_t time = kind == OperationKind::send ? std::max(cpu, at(h.send_free, op.nic)) : cpu;
        events_.push({.time = time, .number = next_number_++, .host = rank, .operation = index});
      }
    }
    h.released.clear();
  }

  void release(int rank, int index, bool on_start) {
    Host& h = host(rank);
    for (const Dependent& d : h.dependents[static_cast<std::size_t>(index)]) {
      if (d.on_start == on_start && --h.waits_for[static_cast<std::size_t>(d.operation)] == 0)
        h.released.push_back(d.operation);
    }
    touched_.push_back(rank);
  }
  void start(const Event& e) {
    ++started_;
    release(e.host, e.operation, true);
  }

  void wait_until(Event event, std::uint64_t time) {
    event.time = time;
    events_.push(event);
  }

  void begin(const Event& e) {
    const Operation& op = operation(e.host, e.operation);
    Host& h = host(e.host);
    std::uint64_t& cpu = at(h.cpu_free, op.cpu);
    switch (op.kind) {
      case OperationKind::calculate:
        if (cpu > e.time) return wait_until(e, cpu);
        cpu = e.time + op.size;
        start(e);
        return release(e.host, e.operation, false);
      case OperationKind::send:
        if (const std::uint64_t free = std::max(cpu, at(h.send_free, op.nic)); free > e.time)
          return wait_until(e, free);
        return send(e, op, h);
      case OperationKind::receive:
        start(e);
        if (auto& early = unexpected_[{e.host, op.peer, op.tag}]; !early.empty()) {
          const Event message = early.front();
          early.pop_front();
          match(message, e.operation, e.time);
        } else {
          posted_[{e.host, op.peer, op.tag}].push_back(e.operation);
        }
    }
  }

  void send(const Event& e, const Operation& op, Host& h) {
    at(h.cpu_free, op.cpu) = e.time + p_.o + (op.size - 1) * p_.O;
    at(h.send_free, op.nic) = e.time + p_.g + (op.size - 1) * p_.G;
    events_.push({.time = e.time + p_.o + p_.L,
                  .number = next_number_++,
                  .host = op.peer,
                  .message = true,
                  .source = e.host,
                  .source_operation = e.operation});
    start(e);
    if (op.size <= p_.S) release(e.host, e.operation, false);
  }

  void arrive(const Event& e) {
    const Operation& op = operation(e.source, e.source_operation);
    Host& h = host(e.host);
    std::uint64_t& cpu = at(h.cpu_free, receiver_index(op.cpu, h.cpu_free));
    std::uint64_t& nic = at(h.receive_free, receiver_index(op.nic, h.receive_free));
    if (const std::uint64_t free = std::max(cpu, nic); free > e.time) return wait_until(e, free);
    cpu = e.time + p_.o + std::max((op.size - 1) * p_.O, (op.size - 1) * p_.G);
    nic = e.time + p_.g + (op.size - 1) * p_.G;
    if (auto& waiting = posted_[{e.host, e.source, op.tag}]; !waiting.empty()) {
      const int receive = waiting.front();
      waiting.pop_front();
      match(e, receive, e.time);
    } else {
      unexpected_[{e.host, e.source, op.tag}].push_back(e);
    }
  }
  /// The message names the sender's CPU and NIC; a receiver with fewer takes its first.
  static int receiver_index(int index, const std::vector<std::uint64_t>& times) {
    return static_cast<std::size_t>(index) < times.size() ? index : 0;
  }

  /// The receive is done. A sender that waited for it (rendezvous) is done too, and busy until now.
  void match(const Event& message, int receive, std::uint64_t now) {
    const Operation& op = operation(message.source, message.source_operation);
    if (op.size > p_.S) {
      Host& sender = host(message.source);
      at(sender.cpu_free, op.cpu) = std::max(at(sender.cpu_free, op.cpu), now);
      at(sender.send_free, op.nic) = std::max(at(sender.send_free, op.nic), now);
      release(message.source, message.source_operation, false);
    }
    ++received_;
    release(message.host, receive, false);
  }

  ClockSweep result() const {
    ClockSweep sweep;
    std::uint64_t operations = 0, receives = 0;
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
      const auto& cpus = hosts_[rank].cpu_free;
      sweep.finish.push_back(*std::max_element(cpus.begin(), cpus.end()));
      sweep.makespan = std::max(sweep.makespan, sweep.finish.back());
      operations += program_.ranks[rank].size();
      for (const Operation& op : program_.ranks[rank]) receives += op.kind == OperationKind::receive ? 1 : 0;
    }
    sweep.unmatched = (operations - started_) + (receives - received_);
    return sweep;
  }

  using Key = std::tuple<int, int, int>;  // receiver, source, tag
  const MessageProgram& program_;
  const LogGP p_;
  std::vector<Host> hosts_;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::uint64_t next_number_ = 0, started_ = 0, received_ = 0;
  std::map<Key, std::deque<Event>> unexpected_;
  std::map<Key, std::deque<int>> posted_;
  std::vector<int> touched_;
};

}  // namespace

ClockSweep simulate(const MessageProgram& program, const LogGP& parameters) {
  return Simulation(program, parameters).run();
}

std::uint64_t message_time(const LogGP& p, std::uint64_t bytes) {
  return 2 * p.o + p.L + std::max((bytes - 1) * p.O, (bytes - 1) * p.G);
}

}  // namespace meshwright::cost
