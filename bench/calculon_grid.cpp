// GPT-3 175B on 4,096 A100 over the grid that Calculon's optimal search goes through for this job, every candidate
// looked at and every one that fits timed: no bounds.
//
//   calculon_grid [THREADS]
//
// The grid is that of `calculon llm-optimal-execution models/gpt3-175B.json 4096 4096 float16 systems/a100_80g.json`
// (calculon-ai/calculon at caa4b11: calculon/llm/optimal_execution.py, lines 80-110 and 163-245; llm.py, lines
// 212-258): 7,126,368 executions. Its choices that Meshwright has one answer for are looked at all the same, and
// counted apart: tensor communication "p2p_rs_ag" (sends are scattered anyway), gathers done again backward, ring or
// pipelined overlap, weights in second memory, and networks of axes that number ranks alike.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "meshwright/core/units.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/step.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::tests {
namespace {

constexpr int devices = 4096, batch = 4096, seq_len = 2048;

std::vector<int> divisors(int n) {
  std::vector<int> out;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

Job job(bool activations_on_host, bool optimizer_on_host) {
  JobSpec spec{.model = "gpt3-175b", .seq_len = seq_len, .global_batch = batch, .precision = "fp16"};
  spec.cluster = {.of = "dgx-a100-80gb", .nodes = devices / 8};
  spec.recipe = Reader::text(
      fmt::format(R"({{"offload": {{"activations": {}, "optimizer": {}}}}})", activations_on_host, optimizer_on_host),
      "recipe");
  return make_job(spec, builtin_catalog());
}

struct Found {
  std::uint64_t candidates = 0, distinct = 0, refused = 0, too_large = 0, timed = 0;
  Seconds time;
  Layout layout;
  std::string variant;
  void offer(Seconds candidate, const Layout& l, const std::string& words) {
    ++timed;
    if (time.value() == 0 || candidate < time) time = candidate, layout = l, variant = words;
  }
  void merge(const Found& other) {
    candidates += other.candidates, distinct += other.distinct, refused += other.refused;
    too_large += other.too_large, timed += other.timed;
    if (other.timed > 0 && (time.value() == 0 || other.time < time))
      time = other.time, layout = other.layout, variant = other.variant;
  }
};

/// One place of the states and activations, with tables of its own.
class Variant {
 public:
  Variant(const Job& job, std::string words)
      : job_(job), words_(std::move(words)), tables_(job), constants_(memory_constants(job)) {}

  void look_at(const Layout& l, Found& found) {
    if (refused_by(job_, l) != nullptr) {
      ++found.refused;
      return;
    }
    const Entries entries = tables_.entries(l);
    if (!plannable(constants_, memory(constants_, layers(l), *entries.stages, l))) {
      ++found.too_large;
      return;
    }
    found.offer(total(step_time(tables_.constants(), entries, l).time), l, words_);
  }

 private:
  const LayerMemory& layers(const Layout& l) {
    const auto key = std::tuple(l.tp, l.micro_batch, l.sequence_parallel);
    const auto found = layers_.find(key);
    return found != layers_.end() ? found->second : layers_.emplace(key, layer_memory(job_, l)).first->second;
  }

  const Job& job_;
  std::string words_;
  Tables tables_;
  MemoryConstants constants_;
  std::map<std::tuple<int, int, bool>, LayerMemory> layers_;
};

/// The axes on the first network (NVLink) are numbered first.
RankOrder order_of(bool tensor_out, bool pipeline_out, bool data_out) {
  RankOrder order;
  const auto outside = [&](parallel::Axis axis) {
    return axis == parallel::Axis::pp ? pipeline_out : axis == parallel::Axis::dp ? data_out : tensor_out;
  };
  std::stable_partition(order.axes.begin(), order.axes.end(), [&](parallel::Axis axis) { return !outside(axis); });
  return order;
}

struct Mesh {
  int tp, pp;
};
std::vector<Mesh> meshes(const Transformer& model) {
  std::vector<Mesh> out;
  for (const int tp : divisors(devices)) {
    if (model.hidden % tp != 0 || model.heads % tp != 0) continue;
    for (const int pp : divisors(std::min(devices / tp, model.layers))) {
      if (devices % (tp * pp) == 0 && model.layers % pp == 0) out.push_back({tp, pp});
    }
  }
  return out;
}

/// One thread's share of the grid.
class Walk {
 public:
  explicit Walk(const std::vector<Job>& jobs) {
    constexpr std::array words = {"", "optimizer on the host", "activations on the host", "both on the host"};
    for (std::size_t i = 0; i < jobs.size(); ++i) variants_.emplace_back(jobs[i], words[i]);
  }

  void mesh(const Transformer& model, const Mesh& m) {
    layout_ = {.tp = m.tp, .pp = m.pp, .dp = devices / (m.tp * m.pp)};
    for (const int vp : m.pp == 1 ? std::vector{1} : divisors(model.layers / m.pp)) {
      layout_.vp = vp;
      for (const int micro_batch : divisors(batch / layout_.dp)) {
        if (micro_batch * seq_len % m.tp != 0) continue;
        layout_.micro_batch = micro_batch;
        choices();
      }
    }
  }
  Found found;

 private:
  static std::vector<int> either(bool both) { return both ? std::vector{1, 0} : std::vector{0}; }

  void choices() {
    for (const Recompute recompute : {Recompute::full, Recompute::selective, Recompute::none}) {
      for (const int zero : either(layout_.dp > 1)) {
        for (const int tensor : {0, 1, 2}) {  // ar, p2p_rs_ag, rs_ag
          layout_.recompute = recompute, layout_.zero_stage = zero;
          layout_.sequence_parallel = tensor == 2 && layout_.tp > 1;
          const bool gathers_again = tensor == 2 && recompute != Recompute::full;
          for (const int again : either(gathers_again)) overlaps(tensor != 1 && again == 0);
        }
      }
    }
  }

  void overlaps(bool distinct) {
    for (const int data : either(layout_.dp > 1)) {
      layout_.overlap_grad_reduce = layout_.overlap_param_gather = data != 0;
      for (int tensor = 0; tensor < (layout_.tp > 1 ? 3 : 1); ++tensor) {  // none, ring, pipe
        layout_.tp_comm_overlap = tensor > 0;
        networks(distinct && tensor < 2);
      }
    }
  }

  void networks(bool distinct) {
    std::vector<RankOrder> seen;
    for (const int tensor : either(layout_.tp > 1)) {
      for (const int pipeline : either(layout_.pp > 1)) {
        for (const int data : either(layout_.dp > 1)) {
          layout_.order = order_of(tensor != 0, pipeline != 0, data != 0);
          const bool first = std::ranges::find(seen, *layout_.order) == seen.end();
          if (first) seen.push_back(*layout_.order);
          offloads(distinct && first);
        }
      }
    }
  }

  void offloads(bool distinct) {
    for (const bool weights : {false, true}) {
      for (const bool activations : {false, true}) {
        if (activations && layout_.recompute == Recompute::full) continue;
        for (const bool optimizer : {false, true}) {
          ++found.candidates;
          found.distinct += distinct && !weights ? 1 : 0;
          variants_[(activations ? 2U : 0U) + (optimizer ? 1U : 0U)].look_at(layout_, found);
        }
      }
    }
  }

  std::vector<Variant> variants_;
  Layout layout_;
};

Found walk(const std::vector<Job>& jobs, int threads) {
  const std::vector<Mesh> all = meshes(jobs.front().model);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Found found;
  const auto work = [&] {
    Walk own(jobs);
    for (std::size_t at = next++; at < all.size(); at = next++) own.mesh(jobs.front().model, all[at]);
    const std::lock_guard lock(mutex);
    found.merge(own.found);
  };
  {
    std::vector<std::jthread> crew;
    crew.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) crew.emplace_back(work);
  }
  return found;
}

}  // namespace
}  // namespace meshwright::tests

int main(int argc, char** argv) {
  using namespace meshwright;
  using namespace meshwright::tests;
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  const std::vector<Job> jobs = {job(false, false), job(false, true), job(true, false), job(true, true)};
  const auto start = std::chrono::steady_clock::now();
  const Found found = walk(jobs, threads);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double processor = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  fmt::print(
      "{} candidates ({} distinct), {} refused by rules, {} too large, {} timed: {:.2f} s with {} thread{}, "
      "{:.2f} s of processor time, {:.2f} M candidates/s of it\n",
      found.candidates, found.distinct, found.refused, found.too_large, found.timed, seconds, threads,
      threads == 1 ? "" : "s", processor, 1e-6 * static_cast<double>(found.candidates) / processor);
  fmt::print("best: {} order {}, {}: {}\n", describe_layout(found.layout), describe_order(*found.layout.order),
             found.variant.empty() ? "all on the device" : found.variant, format(found.time));
  return found.candidates == 7'126'368 ? 0 : 1;
}
