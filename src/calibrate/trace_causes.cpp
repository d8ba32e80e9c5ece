#include "calibrate/trace_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "meshwright/core/quantile.hpp"
#include "meshwright/parallel/job_recipe.hpp"

namespace meshwright::calibrate {
namespace {

constexpr double least_share = 0.02;     ///< of the step: below, a finding is not worth a line
constexpr double slow_transfer = 1.25;   ///< over predicted: beyond what collectives differ by from run to run
constexpr double unhidden = 0.4;         ///< of what should be hidden: less than that is no overlap
constexpr double unhidden_least = 0.05;  ///< of a transfer that should be hidden: less is no overlap to miss
constexpr double rank_spread = 1.06;     ///< over the median of the peers: beyond what healthy GPUs differ by
constexpr double fallback_share = 0.05;  ///< of predicted attention in softmax kernels: they belong to attention
constexpr std::size_t tensor = 0, expert = 2, pipeline = 3, data = 4;

double of(const TracedStep& t, KernelKind k) { return t.kernels[static_cast<std::size_t>(k)]; }

double median(const std::vector<double>& values) { return nearest_quantile(values, 0.5); }

template <class Value>
double median_over(std::span<const TracedRank> ranks, Value&& value) {
  std::vector<double> values;
  for (const TracedRank& r : ranks) values.push_back(value(r));
  return median(values);
}

std::string times(double measured, double predicted) {
  if (predicted <= 0) return fmt::format("{:.3g} s a step, none predicted", measured);
  return fmt::format("{:.2f} x the prediction ({:.3g} s against {:.3g} s a step)", measured / predicted, measured,
                     predicted);
}

class Causes {
 public:
  Causes(const Job& job, std::span<const TracedRank> ranks) : job_(job), ranks_(ranks) {}

  std::vector<TraceFinding> all() {
    slow_rank();
    kernels();
    for (std::size_t a = 0; a < trace_axes.size(); ++a) communication(a);
    host();
    const double step = median_over(ranks_, [](const TracedRank& r) { return r.traced.step; });
    for (TraceFinding& f : found_) f.share = f.seconds / step;
    std::erase_if(found_, [](const TraceFinding& f) { return f.share < least_share; });
    std::ranges::stable_sort(found_, [](const TraceFinding& a, const TraceFinding& b) {
      const bool later_a = a.cause == Cause::waiting, later_b = b.cause == Cause::waiting;
      return later_a != later_b ? later_b : a.seconds > b.seconds;
    });
    return std::move(found_);
  }

 private:
  void add(TraceFinding finding) {
    if (finding.seconds > 0) found_.push_back(std::move(finding));
  }

  /// A rank whose kernels take longer, against the prediction of its own stage, than its peers'.
  void slow_rank() {
    if (ranks_.size() < 2) return;
    const auto ratio = [](const TracedRank& r) { return r.traced.compute() / r.expected.compute(); };
    const auto slowest = std::ranges::max_element(ranks_, {}, ratio);
    std::vector<double> peers;
    for (const TracedRank& r : ranks_) {
      if (&r != &*slowest) peers.push_back(ratio(r));
    }
    const double usual = median(peers), spread = ratio(*slowest) / usual;
    if (spread < rank_spread) return;
    add({.cause = Cause::slow_rank,
         .rank = slowest->traced.rank,
         .stage = slowest->stage,
         .seconds = (ratio(*slowest) - usual) * slowest->expected.compute(),
         .words = fmt::format("rank {}'s kernels take {:.2f} x those of its peers; the others wait for it",
                              slowest->traced.rank, spread),
         .check = "that GPU's clock, temperature and power limit, ECC row remaps, a second process on it"});
  }

  void kernels() {
    const auto extra = [&](auto&& measured, auto&& expected) {
      return median_over(ranks_, [&](const TracedRank& r) { return measured(r.traced) - expected(r.expected); });
    };
    const auto attention = [](const TracedStep& t) {
      return of(t, KernelKind::attention) + of(t, KernelKind::attention_fallback);
    };
    const double softmax = median_over(ranks_, [](const TracedRank& r) {
      return of(r.traced, KernelKind::attention_fallback) / std::max(r.expected.attention, 1e-12);
    });
    const bool fallback = attention_kernel(job_).fused && softmax > fallback_share;
    if (fallback) {
      add({.cause = Cause::attention_fallback,
           .of = "attention",
           .seconds = extra([&](const TracedStep& t) { return attention(t) + of(t, KernelKind::gemm); },
                            [](const ExpectedStep& e) { return e.attention + e.gemm; }),
           .words = fmt::format("attention runs as batched products and softmax kernels, where {} has a fused kernel",
                                job_.framework.name),
           .check =
               "the attention backend that the log names, head size, mask and dropout that the fused kernel refuses"});
    } else {
      slow_kind(
          "attention", attention, [](const ExpectedStep& e) { return e.attention; },
          "the attention backend and its release, head size, sequence packing");
      slow_kind(
          "gemm", [](const TracedStep& t) { return of(t, KernelKind::gemm); },
          [](const ExpectedStep& e) { return e.gemm; },
          "the GPU's clock and power limit, which library and format the products run in, shapes off the tile grid");
    }
    slow_kind(
        "grouped gemm", [](const TracedStep& t) { return of(t, KernelKind::grouped_gemm); },
        [](const ExpectedStep& e) { return e.grouped_gemm; },
        "tokens an expert (imbalance, micro-batch), whether experts run as one grouped kernel");
    slow_kind(
        "memory-bound", [](const TracedStep& t) { return of(t, KernelKind::memory_bound) + of(t, KernelKind::copy); },
        [](const ExpectedStep& e) { return e.memory_bound; },
        "fusion of norms, activation, rotary embedding and casts; compilation; copies between formats");
    slow_kind(
        "optimizer", [](const TracedStep& t) { return of(t, KernelKind::optimizer); },
        [](const ExpectedStep& e) { return e.optimizer; }, "a fused optimizer, its sharding over data-parallel ranks");
  }

  template <class Measured, class Expected>
  void slow_kind(const char* what, Measured&& measured, Expected&& expected, const char* check) {
    const double m = median_over(ranks_, [&](const TracedRank& r) { return measured(r.traced); });
    const double e = median_over(ranks_, [&](const TracedRank& r) { return expected(r.expected); });
    add({.cause = Cause::slow_kernels,
         .of = what,
         .seconds = median_over(ranks_, [&](const TracedRank& r) { return measured(r.traced) - expected(r.expected); }),
         .words = fmt::format("{} kernels take {}", what, times(m, e)),
         .check = check});
  }

  /// Exposed communication beyond the prediction: a slow link, overlap that is missing, or waiting for others.
  void communication(std::size_t a) {
    const auto axis = [a](const TracedRank& r) -> const TracedAxis& { return r.traced.axes[a]; };
    const double exposed = median_over(ranks_, [&](const TracedRank& r) { return axis(r).exposed; });
    const double extra = exposed - median_over(ranks_, [&](const TracedRank& r) { return r.expected.exposed[a]; });
    if (extra <= 0) return;
    // Peers that come late stretch a collective: the rank that waited least shows the transfer.
    double transfer = 1e300, busy = 1e300, hidden = 0;
    for (const TracedRank& r : ranks_) {
      transfer = std::min(transfer, axis(r).transfer), busy = std::min(busy, axis(r).busy);
      hidden = std::max(hidden, axis(r).busy - axis(r).exposed);
    }
    const ExpectedStep& e = ranks_.front().expected;
    const double sent = (a == pipeline ? e.pipeline_send : e.exposed[a]) + e.hidden[a];
    const std::string words = std::string(trace_axes[a]);
    if (transfer > slow_transfer * sent) {
      const double slower = std::min(extra, transfer - sent);
      add({.cause = a == pipeline ? Cause::waiting : Cause::slow_link,
           .of = words,
           .seconds = slower,
           .words = fmt::format("transfers over {} take {}", words, times(transfer, sent)),
           .check = link_check(a)});
      if (extra - slower > slower) add_waiting(a, extra - slower);
    } else if (e.hidden[a] > unhidden_least * sent && hidden < unhidden * e.hidden[a]) {
      add({.cause = Cause::no_overlap,
           .of = words,
           .seconds = extra,
           .words = fmt::format("{} communication runs alone: {:.3g} s of it behind compute, {:.3g} s predicted", words,
                                hidden, e.hidden[a]),
           .check = overlap_check(a)});
    } else {
      add_waiting(a, extra);
    }
  }

  void add_waiting(std::size_t a, double seconds) {
    add({.cause = Cause::waiting,
         .of = std::string(trace_axes[a]),
         .seconds = seconds,
         .words = fmt::format("{} communication waits for other ranks, {:.3g} s a step more than predicted",
                              trace_axes[a], seconds),
         .check = "traces of more ranks: one that is slow, a stage with more work, imbalance of experts"});
  }

  static std::string link_check(std::size_t a) {
    if (a == tensor) return "nvidia-smi nvlink -s and topo -m, NCCL_ALGO and NCCL_PROTO, a group that leaves the node";
    if (a == expert) return "the dispatcher, the network of ranks that leave the node, imbalance of experts";
    return "ib_write_bw between the nodes, NCCL's log for the adapters in use (NCCL_IB_HCA, GDR), a link that is down";
  }
  static std::string overlap_check(std::size_t a) {
    if (a == data)
      return "overlap of gradient reduction and parameter gathers, CUDA_DEVICE_MAX_CONNECTIONS, bucket size";
    if (a == tensor)
      return "overlap of tensor-parallel communication, CUDA_DEVICE_MAX_CONNECTIONS=1, streams in the trace";
    return "overlap of the exchange with the other micro-batch, streams in the trace";
  }

  /// Gaps in which nothing runs; of one stage where only its ranks have them.
  void host() {
    const auto extra = [](const TracedRank& r) { return r.traced.idle - r.expected.host; };
    std::map<int, std::vector<double>> by_stage;
    for (const TracedRank& r : ranks_) by_stage[r.stage].push_back(extra(r));
    int worst = 0;
    double most = -1e300, least = 1e300;
    for (const auto& [stage, values] : by_stage) {
      const double middle = median(values);
      if (middle > most) most = middle, worst = stage;
      least = std::min(least, middle);
    }
    const bool one_stage = by_stage.size() > 1 && least < 0.5 * most;
    const TracedRank& r = *std::ranges::find_if(ranks_, [&](const TracedRank& t) { return t.stage == worst; });
    add({.cause = Cause::host_bound,
         .stage = one_stage ? worst : -1,
         .seconds = most,
         .words = fmt::format("the GPU{} waits for launches: idle {}, {} kernels a step",
                              one_stage ? fmt::format(" of stage {}", worst) : "",
                              times(r.traced.idle, r.expected.host), r.traced.launches),
         .check = "CPU clock and pinning, CUDA graphs or compilation, synchronising calls, the data loader"});
  }

  const Job& job_;
  std::span<const TracedRank> ranks_;
  std::vector<TraceFinding> found_;
};

}  // namespace

std::vector<TraceFinding> causes_of(const Job& job, std::span<const TracedRank> ranks) {
  if (ranks.empty()) return {};
  return Causes(job, ranks).all();
}

}  // namespace meshwright::calibrate
