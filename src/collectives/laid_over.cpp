#include "meshwright/collectives/laid_over.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
namespace {

int product_of(std::span<const int> extents) {
  int product = 1;
  for (const int e : extents) product *= e;
  return product;
}

/// Bytes over the boundaries of blocks of one size.
class Boundary {
 public:
  Boundary(int block, int ranks)
      : block_(block), sent_(static_cast<std::size_t>((ranks + block - 1) / block)), received_(sent_.size()) {}

  void add(const Transfer& t, double bytes) {
    sent_[static_cast<std::size_t>(t.source / block_)] += bytes;
    received_[static_cast<std::size_t>(t.target / block_)] += bytes;
  }
  double out() const { return *std::ranges::max_element(sent_) / block_; }
  double in() const { return *std::ranges::max_element(received_) / block_; }

 private:
  int block_;
  std::vector<double> sent_, received_;
};

/// The boundaries at one level: of its blocks, and of the domains.
struct Crossing {
  Boundary block, port;
  Crossing(int below, int domain, int ranks) : block(below, ranks), port(std::min(domain, below), ranks) {}
  LevelLoad load() const { return {.out = block.out(), .in = block.in(), .port = std::max(port.out(), port.in())}; }
};

void add(LevelLoad& sum, const LevelLoad& load) {
  sum.hops += load.hops, sum.out += load.out, sum.in += load.in, sum.port += load.port;
}

/// Levels and the sizes of their blocks.
struct Blocks {
  std::array<int, most_levels + 1> below{};
  std::size_t levels = 0;
  int domain = 1;

  Blocks(std::span<const int> extents, int ranks_of_domain) : levels(extents.size()), domain(ranks_of_domain) {
    below[0] = 1;
    for (std::size_t l = 0; l < levels; ++l) below[l + 1] = below[l] * extents[l];
  }
  int ranks() const { return below[levels]; }
  std::size_t level_of(const Transfer& t) const {
    std::size_t level = 0;
    while (level + 1 < levels && t.source / below[level + 1] != t.target / below[level + 1]) ++level;
    return level;
  }
  bool network(std::size_t level) const { return below[level] >= domain; }
  std::vector<Crossing> crossings() const {
    std::vector<Crossing> all;
    for (std::size_t l = 0; l < levels; ++l) all.emplace_back(below[l], domain, ranks());
    return all;
  }
};

/// Adds a round to the boundaries; returns the outermost level that it uses. On the way to an outer level a message
/// crosses the inner ones of its kind: of the domain, or of the network.
std::size_t count_round(const std::vector<Transfer>& round, double chunk, const Blocks& blocks,
                        std::vector<Crossing>& crossings) {
  std::size_t outermost = 0;
  for (const Transfer& t : round) {
    const std::size_t meets = blocks.level_of(t);
    outermost = std::max(outermost, meets);
    for (std::size_t level = 0; level <= meets; ++level) {
      if (blocks.network(meets) != blocks.network(level)) continue;
      crossings[level].block.add(t, chunk * t.count);
      crossings[level].port.add(t, chunk * t.count);
    }
  }
  return outermost;
}

/// On one level, from the closed form: hops of one segment, and the bytes of one more of many segments.
LevelLoad on_one_level(const Algorithm& flat, int ranks) {
  const auto form = [&](int segments) { return flat.coefficients_of(flat_shape(ranks, segments))[0]; };
  double wire = form(1).wire.value();
  if (flat.pipelined) wire = 2 * form(4).wire.value() - form(2).wire.value();  // wire(k) = wire + c / k
  return {.hops = static_cast<double>(form(1).rounds), .out = wire, .in = wire, .port = wire};
}

/// Schedules of all-to-alls list every piece, others at most a transfer for each message.
void check_countable(const Algorithm& flat, int ranks, std::size_t most_transfers) {
  const Coefficients form = flat.coefficients_of(flat_shape(ranks))[0];
  const bool pieces = flat.collective == Collective::all_to_all;
  const double transfers = 1.0 * ranks * (pieces ? 1.0 * ranks * form.rounds : form.messages);
  if (transfers > static_cast<double>(most_transfers)) {
    throw Error("algorithm", fmt::format("{} of {} ranks moves about {:.0f} pieces over several levels, expected at "
                                         "most {}: take an algorithm of fewer messages",
                                         flat.name, ranks, transfers, most_transfers));
  }
}

}  // namespace

LevelLoads counted_loads(const Schedule& flat, std::span<const int> extents, int domain, bool rounds_overlap) {
  LevelLoads loads{};
  const Blocks blocks(extents, domain);
  const double chunk = chunk_share(flat).value();
  std::vector<Crossing> crossings = blocks.crossings();
  for (const Phase& phase : flat.phases) {
    // Shifts of chunks only rename them; shifts of peers change which boundaries are crossed.
    const bool alike = phase.peer_shift == 0;
    for (int repeat = 0; repeat < (alike ? 1 : phase.repeats); ++repeat) {
      const int rounds = alike ? phase.repeats : 1;
      if (!rounds_overlap) crossings = blocks.crossings();
      const std::size_t outermost = count_round(round_of(flat, phase, repeat), chunk * rounds, blocks, crossings);
      loads[outermost].hops += rounds;
      if (rounds_overlap) continue;
      for (std::size_t level = 0; level < blocks.levels; ++level) add(loads[level], crossings[level].load());
    }
  }
  if (!rounds_overlap) return loads;
  for (std::size_t level = 0; level < blocks.levels; ++level) add(loads[level], crossings[level].load());
  return loads;
}

LevelLoads laid_over(const Algorithm& flat, std::span<const int> extents, int domain, std::size_t most_transfers) {
  LevelLoads loads{};
  const int ranks = product_of(extents);
  if (flat.across != nullptr) {
    for (std::size_t level = 0, block = 1; level < extents.size(); ++level) {
      loads[level] = flat.across({ranks, static_cast<int>(block), extents[level], domain});
      block *= static_cast<std::size_t>(extents[level]);
    }
    return loads;
  }
  if (extents.size() == 1) {
    loads[0] = on_one_level(flat, ranks);
    return loads;
  }
  check_countable(flat, ranks, most_transfers);
  return counted_loads(flat.schedule_of(flat_shape(ranks)), extents, domain, flat.concurrent_levels);
}

}  // namespace meshwright::collectives
