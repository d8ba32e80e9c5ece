// All-to-all. Piece `distance * p + source` is what `source` sends to the rank `distance` after it.
#include "rows.hpp"

namespace meshwright::collectives::rows {
namespace {

constexpr std::string_view thakur = "Thakur, Rabenseifner, Gropp 2005, sec. 4.4";

Schedule all_to_all_of(const Shape& shape) {
  const int p = shape.ranks();
  return flat_schedule(Collective::all_to_all, shape, p * p);
}

// Round i: every rank sends to the rank i after it, and receives from the rank i before it.
Schedule pairwise(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  s.phases.push_back({.transfers = every_rank(p,
                                              [p](int r) {
                                                return Transfer{r, (r + 1) % p, p + r};
                                              }),
                      .repeats = p - 1,
                      .chunk_shift = p,
                      .peer_shift = 1});
  return s;
}
LevelCoefficients pairwise_form(const Shape& shape) {
  const int p = shape.ranks();
  return on_first_level({.rounds = p - 1, .messages = p - 1, .wire = most_of(p)});
}

// Everything is posted at once: one latency, p - 1 message overheads.
Schedule linear(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  Phase phase;
  for (int distance = 1; distance < p; ++distance) {
    for (int r = 0; r < p; ++r) phase.transfers.push_back({r, (r + distance) % p, distance * p + r});
  }
  s.phases.push_back(std::move(phase));
  return s;
}
LevelCoefficients linear_form(const Shape& shape) {
  const int p = shape.ranks();
  return on_first_level({.rounds = 1, .messages = p - 1, .wire = most_of(p)});
}

// A piece of distance d travels by the powers of two that d is made of, least first.
Schedule bruck(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  for (int step = 1; step < p; step *= 2) {
    Phase phase;
    for (int r = 0; r < p; ++r) {
      for (int distance = step; distance < p; ++distance) {
        const int source = ((r - distance % step) % p + p) % p;
        if ((distance & step) != 0) phase.transfers.push_back({r, (r + step) % p, distance * p + source});
      }
    }
    s.phases.push_back(std::move(phase));
  }
  return s;
}
/// Numbers below p in which the bit `step` is set.
constexpr int count_with_bit(int p, int step) {
  const int rest = p % (2 * step);
  return p / (2 * step) * step + (rest > step ? rest - step : 0);
}
LevelCoefficients bruck_form(const Shape& shape) {
  const int p = shape.ranks();
  Coefficients c{.rounds = ceil_log2(p), .messages = ceil_log2(p)};
  for (int step = 1; step < p; step *= 2) c.wire += Ratio(count_with_bit(p, step), p);
  return on_first_level(c);
}

// ------------------------------------------------------------------------------------------------ two levels
// Rank (a, i) is local rank i of node a. What i sends to local rank j of any node goes to j of its own node first, then
// along rail j: every message between nodes carries the pieces of a whole node, and crosses no spine.
Schedule rail(const Shape& shape) {
  const int m = shape.extent[0], nodes = shape.extent[1], p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  const auto piece = [p](int source, int target) { return (target - source + p) % p * p + source; };
  for (int step = 1; step < m; ++step) {
    Phase phase;
    for (int r = 0; r < p; ++r) {
      const int local = (r % m + step) % m;
      for (int node = 0; node < nodes; ++node)
        phase.transfers.push_back({r, r / m * m + local, piece(r, node * m + local)});
    }
    s.phases.push_back(std::move(phase));
  }
  for (int step = 1; step < nodes; ++step) {
    Phase phase;
    for (int r = 0; r < p; ++r) {
      const int target = (r + step * m) % p;
      for (int local = 0; local < m; ++local) phase.transfers.push_back({r, target, piece(r / m * m + local, target)});
    }
    s.phases.push_back(std::move(phase));
  }
  return s;
}
LevelCoefficients rail_form(const Shape& shape) {
  const int m = shape.extent[0], nodes = shape.extent[1];
  return {Coefficients{.rounds = m - 1, .messages = m - 1, .wire = most_of(m)},
          Coefficients{.rounds = nodes - 1, .messages = nodes - 1, .wire = most_of(nodes)},
          {}};
}

// A token crosses to each of its nodes once, along its own rail, and is copied there to the ranks that want it.
Schedule node_limited_dispatch(const Shape& shape) {
  const int m = shape.extent[0], nodes = shape.extent[1], p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  s.routing = Routing::dispatch;
  const auto visits = [](int from, int to, int offset, int count, int size) {
    return ((to - from - offset) % size + size) % size < count;
  };
  for (int step = 1; step < nodes; ++step) {
    Phase phase;
    for (int r = 0; r < p; ++r) {
      for (int g = 0; g < nodes; ++g) {
        if (visits(0, step, g, shape.token_nodes, nodes))
          phase.transfers.push_back({r, (r + step * m) % p, g * m * p + r, m, false, p});
      }
    }
    s.phases.push_back(std::move(phase));
  }
  for (int step = 1; step < m; ++step) {
    Phase phase;
    for (int r = 0; r < p; ++r) {
      const int target = r / m * m + (r % m + step) % m;
      for (int source = r % m; source < p; source += m) {
        for (int group = 0; group < p; ++group) {
          if (visits(source / m, r / m, group / m, shape.token_nodes, nodes) &&
              visits(0, step, group % m, shape.token_ranks, m))
            phase.transfers.push_back({r, target, group * p + source});
        }
      }
    }
    s.phases.push_back(std::move(phase));
  }
  return s;
}
Schedule node_limited_combine(const Shape& shape) {
  Schedule s = reversed(node_limited_dispatch(shape));
  s.routing = Routing::combine;
  return s;
}
template <bool combines>
LevelCoefficients node_limited_form(const Shape& shape) {
  const int m = shape.extent[0], nodes = shape.extent[1];
  const Ratio inside = most_of(m) * shape.token_nodes * shape.token_ranks, between = most_of(nodes) * shape.token_nodes;
  return {Coefficients{.rounds = m - 1, .messages = m - 1, .wire = inside, .reduced = combines ? inside : Ratio(0)},
          Coefficients{
              .rounds = nodes - 1, .messages = nodes - 1, .wire = between, .reduced = combines ? between : Ratio(0)},
          {}};
}
bool two_levels(const Shape& s) {
  return s.extent[0] >= 2 && s.extent[1] >= 2 && s.extent[2] == 1 && s.token_nodes <= s.extent[1] &&
         s.token_ranks <= s.extent[0];
}

/// Of p pieces, those for ranks outside the block leave it, by links of the domain or by the network; peers that meet
/// at this level are served one by one.
LevelLoad to_every_peer(const Span& s) {
  const int reached = s.block < s.domain ? s.domain : s.ranks;
  const double outside = static_cast<double>(reached - s.block) / s.ranks;
  return {.hops = 1.0 * s.block * (s.members - 1), .out = outside, .in = outside, .port = outside};
}
LevelLoad to_all_at_once(const Span& s) {
  LevelLoad load = to_every_peer(s);
  load.hops = s.block * s.members == s.ranks ? 1 : 0;
  return load;
}

const Algorithm table[] = {
    {.name = "pairwise",
     .collective = Collective::all_to_all,
     .citation = thakur,
     .closed_form = "(p-1) alpha + (p-1)/p n beta",
     .supports = any_flat,
     .coefficients_of = pairwise_form,
     .schedule_of = pairwise,
     .concurrent_levels = true,
     .traffic = Traffic::exchange,
     .across = to_every_peer,
     .elsewhere = {"Send/Recv", "Send/Recv", "pairwise", "pairwise"}},
    {.name = "linear",
     .collective = Collective::all_to_all,
     .citation = "Thakur, Rabenseifner, Gropp 2005, sec. 4.4 (isend/irecv); NCCL grouped send/recv",
     .closed_form = "alpha + (p-1) alpha' + (p-1)/p n beta, alpha' = max(o, g)",
     .supports = any_flat,
     .coefficients_of = linear_form,
     .schedule_of = linear,
     .pairs = true,
     .concurrent_levels = true,
     .traffic = Traffic::exchange,
     .across = to_all_at_once,
     .elsewhere = {"", "", "linear"}},
    {.name = "bruck",
     .collective = Collective::all_to_all,
     .citation = "Bruck et al. 1997; Thakur et al. 2005, sec. 4.4",
     .closed_form = "ceil(lg p) alpha + n/p sum_k |{d < p: bit k of d}| beta (n/2 lg p beta for p = 2^k)",
     .supports = any_flat,
     .coefficients_of = bruck_form,
     .schedule_of = bruck,
     .pairs = true,
     .traffic = Traffic::exchange,
     .elsewhere = {"", "", "modified_bruck"}},
    {.name = "rail",
     .collective = Collective::all_to_all,
     .citation = "NCCL PXN (Mandakolathur, Jeaugey 2022): to the rail inside the node, then along the rail",
     .closed_form = "(m-1) alpha_i + (m-1)/m n beta_i + (N-1) alpha_e + (N-1)/N n beta_e",
     .supports = two_levels,
     .coefficients_of = rail_form,
     .schedule_of = rail,
     .pairs = true,
     .traffic = Traffic::exchange},
    {.name = "node_limited_dispatch",
     .collective = Collective::all_to_all,
     .citation =
         "DeepSeek-V3 (arXiv 2412.19437, sec. 3.2.2), DeepEP: M nodes a token, E ranks in each; n = tokens once",
     .closed_form = "(N-1) alpha_e + M(N-1)/N n beta_e + (m-1) alpha_i + M E (m-1)/m n beta_i",
     .supports = two_levels,
     .coefficients_of = node_limited_form<false>,
     .schedule_of = node_limited_dispatch,
     .routed = true,
     .pairs = true,
     .traffic = Traffic::exchange},
    {.name = "node_limited_combine",
     .collective = Collective::all_to_all,
     .citation = "the dispatch backwards: partial sums inside the node, one copy per node between them",
     .closed_form = "the dispatch, + gamma on every byte",
     .supports = two_levels,
     .coefficients_of = node_limited_form<true>,
     .schedule_of = node_limited_combine,
     .routed = true,
     .pairs = true,
     .traffic = Traffic::exchange},
};

}  // namespace

std::span<const Algorithm> all_to_all() { return table; }

}  // namespace meshwright::collectives::rows
