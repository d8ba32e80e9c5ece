#include "meshwright/collectives/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace meshwright::collectives {
namespace {

using Words = std::vector<std::uint64_t>;

int modulo(int a, int b) { return (a % b + b) % b; }

/// The sets of contributions that every actor holds, chunk by chunk.
class Play {
 public:
  explicit Play(const Schedule& schedule)
      : s_(schedule), words_(static_cast<std::size_t>(schedule.ranks() + 63) / 64), all_(words_) {
    held_.resize((static_cast<std::size_t>(s_.ranks()) + s_.switch_levels.size()) *
                 static_cast<std::size_t>(s_.chunks) * words_);
    for (int rank = 0; rank < s_.ranks(); ++rank) set(all_.data(), rank);
    for (int chunk = 0; chunk < s_.chunks; ++chunk) {
      for_holders(chunk, [&](int rank) { set(cell(rank, chunk), rank); });
    }
  }

  std::optional<std::string> run() {
    for (const Phase& phase : s_.phases) {
      for (int repeat = 0; repeat < phase.repeats && !fault_; ++repeat) round(round_of(s_, phase, repeat));
    }
    for (int chunk = 0; chunk < s_.chunks && !fault_; ++chunk) compare_with_promise(chunk);
    return fault_;
  }

 private:
  int block_owner(int chunk) const { return chunk / (s_.chunks / s_.ranks()); }
  /// Whose piece of an all-to-all it is, and whether `rank` is among those that it is for.
  int source(int chunk) const { return chunk % s_.ranks(); }
  bool reaches(int chunk, int rank) const {
    const int m = s_.shape.extent[0], nodes = s_.ranks() / m;
    const int group = chunk / s_.ranks(), from = source(chunk);
    return modulo(rank / m - from / m - group / m, nodes) < s_.shape.token_nodes &&
           modulo(rank % m - from % m - group % m, m) < s_.shape.token_ranks;
  }

  /// Ranks that hold their own contribution to a chunk at the start.
  template <class Visit>
  void for_holders(int chunk, Visit visit) const {
    switch (s_.collective) {
      case Collective::all_reduce:
      case Collective::reduce:
      case Collective::reduce_scatter:
        for (int rank = 0; rank < s_.ranks(); ++rank) visit(rank);
        return;
      case Collective::broadcast:
        return visit(0);
      case Collective::all_gather:
        return visit(block_owner(chunk));
      case Collective::send_recv:
        return visit(source(chunk));
      case Collective::all_to_all:
        if (s_.routing != Routing::combine) return visit(source(chunk));
        for (int rank = 0; rank < s_.ranks(); ++rank) {
          if (reaches(chunk, rank)) visit(rank);
        }
    }
  }

  /// Compares what ranks hold of a chunk at the end with what the collective promises them.
  void compare_with_promise(int chunk) {
    Words want(words_);
    const auto everyone = [&] {
      for (int rank = 0; rank < s_.ranks(); ++rank) compare(rank, chunk, want);
    };
    switch (s_.collective) {
      case Collective::all_reduce:
        want = all_;
        return everyone();
      case Collective::reduce:
        return compare(0, chunk, all_);
      case Collective::reduce_scatter:
        return compare(block_owner(chunk), chunk, all_);
      case Collective::broadcast:
        set(want.data(), 0);
        return everyone();
      case Collective::all_gather:
        set(want.data(), block_owner(chunk));
        return everyone();
      case Collective::send_recv:
        set(want.data(), source(chunk));
        return compare((chunk + 1) % s_.ranks(), chunk, want);
      case Collective::all_to_all:
        return compare_route(chunk, want);
    }
  }

  void compare_route(int chunk, Words& want) {
    if (s_.routing == Routing::combine) {
      for_holders(chunk, [&](int rank) { set(want.data(), rank); });
      return compare(source(chunk), chunk, want);
    }
    set(want.data(), source(chunk));
    if (s_.routing == Routing::uniform) return compare((source(chunk) + chunk / s_.ranks()) % s_.ranks(), chunk, want);
    for (int rank = 0; rank < s_.ranks(); ++rank) {
      if (reaches(chunk, rank)) compare(rank, chunk, want);
    }
  }

  void compare(int rank, int chunk, const Words& want) {
    if (!std::equal(want.begin(), want.end(), cell(rank, chunk)))
      note(fmt::format("rank {} ends without exactly the promised contributions to chunk {}", rank, chunk));
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

  void note(std::string fault) {
    if (!fault_) fault_ = std::move(fault);
  }

  const Schedule& s_;
  std::size_t words_;
  Words all_, held_, values_;
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

}  // namespace meshwright::collectives
