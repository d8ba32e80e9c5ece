#include "meshwright/collectives/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace meshwright {
namespace {

using Words = std::vector<std::uint64_t>;

int modulo(int a, int b) { return (a % b + b) % b; }

/// Where a chunk of an all-to-all belongs: its source, and whether a rank is among its destinations.
struct Route {
  const Schedule& schedule;
  int source(int chunk) const { return chunk % schedule.ranks(); }
  bool reaches(int chunk, int rank) const {
    const int p = schedule.ranks(), m = schedule.shape.extent[0];
    const int group = chunk / p, from = source(chunk);
    if (schedule.routing == Routing::uniform) return (from + group) % p == rank;
    const int node = modulo(rank / m - from / m - group / m, p / m);
    const int local = modulo(rank % m - from % m - group % m, m);
    return node < schedule.shape.token_nodes && local < schedule.shape.token_ranks;
  }
};

/// The sets of contributions that every actor holds, chunk by chunk.
class Play {
 public:
  explicit Play(const Schedule& schedule) : s_(schedule), words_(static_cast<std::size_t>(schedule.ranks() + 63) / 64) {
    held_.resize((static_cast<std::size_t>(s_.ranks()) + s_.switch_levels.size()) *
                 static_cast<std::size_t>(s_.chunks) * words_);
    for (int rank = 0; rank < s_.ranks(); ++rank) {
      for (int chunk = 0; chunk < s_.chunks; ++chunk) {
        const int owner = starts_with(rank, chunk);
        if (owner >= 0) set(cell(rank, chunk), owner);
      }
    }
  }

  std::optional<std::string> run() {
    for (const Phase& phase : s_.phases) {
      for (int repeat = 0; repeat < phase.repeats && !fault_; ++repeat) round(round_of(s_, phase, repeat));
    }
    if (!fault_) compare_with_promise();
    return fault_;
  }

 private:
  int block_owner(int chunk) const { return chunk / (s_.chunks / s_.ranks()); }

  /// Whose contribution `rank` holds of `chunk` at the start; -1 = nothing.
  int starts_with(int rank, int chunk) const {
    switch (s_.collective) {
      case Collective::all_reduce:
      case Collective::reduce:
      case Collective::reduce_scatter:
        return rank;
      case Collective::broadcast:
        return rank == 0 ? 0 : -1;
      case Collective::all_gather:
        return block_owner(chunk) == rank ? rank : -1;
      case Collective::send_recv:
        return chunk % s_.ranks() == rank ? rank : -1;
      case Collective::all_to_all:
        if (s_.routing == Routing::combine) return Route{s_}.reaches(chunk, rank) ? rank : -1;
        return Route{s_}.source(chunk) == rank ? rank : -1;
    }
    return -1;
  }

  /// What `rank` must hold of `chunk` at the end; empty = anything.
  void promise(Words& want, int rank, int chunk) const {
    std::fill(want.begin(), want.end(), 0);
    const auto all = [&] {
      for (int r = 0; r < s_.ranks(); ++r) set(want.data(), r);
    };
    switch (s_.collective) {
      case Collective::all_reduce:
        all();
        break;
      case Collective::reduce:
        if (rank == 0) all();
        break;
      case Collective::reduce_scatter:
        if (block_owner(chunk) == rank) all();
        break;
      case Collective::broadcast:
        set(want.data(), 0);
        break;
      case Collective::all_gather:
        set(want.data(), block_owner(chunk));
        break;
      case Collective::send_recv:
        if ((chunk + 1) % s_.ranks() == rank) set(want.data(), chunk % s_.ranks());
        break;
      case Collective::all_to_all:
        promise_of_route(want, rank, chunk);
        break;
    }
  }

  void promise_of_route(Words& want, int rank, int chunk) const {
    const Route route{s_};
    if (s_.routing != Routing::combine) {
      if (route.reaches(chunk, rank)) set(want.data(), route.source(chunk));
    } else if (route.source(chunk) == rank) {
      for (int r = 0; r < s_.ranks(); ++r) {
        if (route.reaches(chunk, r)) set(want.data(), r);
      }
    }
  }

  std::uint64_t* cell(int actor, int chunk) {
    return held_.data() +
           (static_cast<std::size_t>(actor) * static_cast<std::size_t>(s_.chunks) + static_cast<std::size_t>(chunk)) *
               words_;
  }
  static void set(std::uint64_t* words, int bit) { words[bit / 64] |= std::uint64_t{1} << (bit % 64); }

  void round(const std::vector<Transfer>& transfers) {
    touched_.clear();
    half_round(transfers, false);
    half_round(transfers, true);
    for (std::uint64_t* at : touched_) std::fill_n(at, words_, 0);
  }

  /// The transfers whose source is (not) a switch: all are read, then all are applied.
  void half_round(const std::vector<Transfer>& transfers, bool from_switch) {
    values_.clear();
    for (const Transfer& t : transfers) {
      if (s_.is_switch(t.source) != from_switch) continue;
      for (int i = 0; i < t.count; ++i) {
        const std::uint64_t* from = cell(t.source, chunk_of(t, i));
        values_.insert(values_.end(), from, from + words_);
      }
    }
    const std::uint64_t* value = values_.data();
    for (const Transfer& t : transfers) {
      if (s_.is_switch(t.source) != from_switch) continue;
      for (int i = 0; i < t.count; ++i, value += words_) apply(t, chunk_of(t, i), value);
    }
  }

  int chunk_of(const Transfer& t, int i) const { return modulo(t.chunk + i * t.stride, s_.chunks); }

  void apply(const Transfer& t, int chunk, const std::uint64_t* value) {
    std::uint64_t* to = cell(t.target, chunk);
    if (s_.is_switch(t.target)) touched_.push_back(to);
    std::uint64_t any = 0, twice = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      any |= value[w];
      if (t.reduce) twice |= to[w] & value[w];
      to[w] = t.reduce ? to[w] | value[w] : value[w];
    }
    if (any == 0)
      note(fmt::format("actor {} sends chunk {} to {} before it holds any of it", t.source, chunk, t.target));
    if (twice != 0)
      note(fmt::format("actor {} counts a contribution to chunk {} twice (from {})", t.target, chunk, t.source));
  }

  void compare_with_promise() {
    Words want(words_);
    for (int rank = 0; rank < s_.ranks() && !fault_; ++rank) {
      for (int chunk = 0; chunk < s_.chunks && !fault_; ++chunk) {
        promise(want, rank, chunk);
        if (std::all_of(want.begin(), want.end(), [](std::uint64_t w) { return w == 0; })) continue;
        if (!std::equal(want.begin(), want.end(), cell(rank, chunk)))
          note(fmt::format("rank {} ends without exactly the promised contributions to chunk {}", rank, chunk));
      }
    }
  }

  void note(std::string fault) {
    if (!fault_) fault_ = std::move(fault);
  }

  const Schedule& s_;
  std::size_t words_;
  Words held_, values_;
  std::vector<std::uint64_t*> touched_;
  std::optional<std::string> fault_;
};

int ceil_log2(int p) {
  int bits = 0;
  while ((1 << bits) < p) ++bits;
  return bits;
}

}  // namespace

std::optional<std::string> find_fault(const Schedule& schedule) { return Play(schedule).run(); }

Coefficients lower_bound(Collective collective, const Shape& shape, Means means) {
  const int p = shape.ranks();
  const Ratio most(p - 1, p);
  Coefficients bound{.rounds = 1, .messages = ceil_log2(p), .wire = most, .reduced = 0};
  switch (collective) {
    case Collective::all_reduce:
      bound.wire = most * 2;
      bound.reduced = most;
      break;
    case Collective::reduce_scatter:
      bound.reduced = most;
      break;
    case Collective::broadcast:
      bound.wire = 1;
      break;
    case Collective::reduce:
      bound.wire = 1;
      bound.reduced = most;
      break;
    case Collective::send_recv:
      bound.wire = 1;
      bound.messages = 1;
      break;
    case Collective::all_gather:
      break;
    case Collective::all_to_all:  // every rank receives all tokens that visit it, but its own
      bound.wire = most * shape.token_nodes * shape.token_ranks;
      break;
  }
  if (means == Means::switch_reduction) {  // up once, down once; one rank's own slice may stay where it is
    bound = {.rounds = 1, .messages = 1, .wire = collective == Collective::all_reduce ? Ratio(1) : most, .reduced = 0};
  }
  if (means == Means::torus_links) {
    int neighbours = 0;
    for (const int extent : shape.extent) neighbours += extent > 2 ? 2 : extent - 1;
    bound.wire = bound.wire / Ratio(neighbours);
  }
  return bound;
}

}  // namespace meshwright
