#pragma once
// Every layout of a job, slowly and plainly, from the definition of the space in search/space.hpp; nothing of search/
// but the definition of equal values is used.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/parallel/step.hpp"
#include "meshwright/parallel/tables.hpp"

namespace meshwright::search {

struct Enumerated {
  Layout layout;
  Step step;
  Memory memory;
  Seconds time{};
};

class Enumeration {
 public:
  /// With `some_layers` full recompute of 1, 2, ... layers of a chunk too, where the stack has it.
  Enumeration(const Job& job, int max_micro_batch, bool some_layers = false)
      : job_(job), tables_(job), constants_(memory_constants(job)), some_layers_(some_layers) {
    for (int tp = 1; tp <= 64; ++tp) {
      const int domain = std::max(job.cluster.node.scale_up_domain, job.cluster.node.accelerators);
      if (job.model.heads % tp != 0 || tp > 2 * domain || (tp > 1 && !has("tp"))) continue;
      for (const int cp : {1, 2, 4, 8, 16, 32, 64}) {
        if (cp > 1 && !has("cp")) continue;
        if (job.accelerators % (tp * cp) == 0 && (cp == 1 || cp <= job.seq_len / 2)) sizes(tp, cp, max_micro_batch);
      }
    }
  }

  /// Those that run, in no order.
  std::vector<Enumerated> layouts;
  std::size_t considered = 0;

 private:
  bool has(std::string_view axis) const {
    const auto found = std::find(axis_names.begin(), axis_names.end(), axis);
    return job_.framework.rules.axes.has(static_cast<std::size_t>(found - axis_names.begin()));
  }

  void sizes(int tp, int cp, int max_micro_batch) {
    for (int ep = 1; ep <= (job_.model.is_moe() ? std::min({job_.model.experts, job_.accelerators, 512}) : 1); ++ep) {
      if ((job_.model.is_moe() && job_.model.experts % ep != 0) || (ep > 1 && !has("ep"))) continue;
      for (const int etp : {1, tp}) {
        if (etp > 1 && !job_.model.is_moe()) continue;
        for (int batch = 1; batch <= std::min(max_micro_batch, job_.global_batch); batch *= 2) {
          Layout l{.tp = tp, .cp = cp, .ep = ep, .etp = etp, .micro_batch = batch};
          l.sequence_parallel = tp > 1;
          pipelines(l);
        }
        if (tp == 1) break;
      }
    }
  }

  void pipelines(Layout l) {
    const int left = job_.accelerators / (l.tp * l.cp);
    for (int pp = 1; pp <= std::min(left, job_.model.layers); ++pp) {
      if (left % pp != 0 || (pp > 1 && !has("pp"))) continue;
      l.pp = pp, l.dp = left / pp;
      for (int vp = 1; vp <= 16; ++vp) {
        if (vp > 1 && (pp == 1 || vp > (job_.model.layers + 2) / pp)) break;
        l.vp = vp;
        bool any = false;
        for (const PipelineSchedule s :
             {PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved, PipelineSchedule::zero_bubble_h1,
              PipelineSchedule::zero_bubble_h2, PipelineSchedule::zero_bubble_v, PipelineSchedule::dual_pipe}) {
          if ((s == PipelineSchedule::interleaved) != (vp > 1)) continue;
          if (pp == 1 ? s != PipelineSchedule::one_f_one_b : vp == 1 && !runs(job_.framework, s)) continue;
          any = true;
          choices(l, s);
        }
        if (!any) choices(l, PipelineSchedule::gpipe);
      }
    }
  }

  void choices(Layout l, PipelineSchedule schedule) {
    const StackRules& rules = job_.framework.rules;
    l.schedule = schedule;
    l.stage_split = usual_stage_split(job_.model.layers, job_.framework, l.pp, split_ways(l) / l.pp);
    const int node = job_.cluster.node.accelerators;
    for (int zero = 0; zero <= rules.max_zero_stage; ++zero) {
      for (const int shard : {0, node}) {
        if (shard > 0 && (zero != 3 || node == 1 || node >= job_.accelerators)) continue;
        for (const bool tensor : {false, true}) {
          for (const bool expert : {false, true}) {
            if ((tensor && (l.tp == 1 || !rules.can_overlap_tp)) || (expert && (l.ep == 1 || !rules.can_overlap_ep))) {
              continue;
            }
            l.zero_stage = zero, l.hsdp_shard = shard, l.tp_comm_overlap = tensor, l.ep_comm_overlap = expert;
            l.overlap_grad_reduce = zero == 3 || job_.framework.defaults.overlap_grad_reduce;
            l.overlap_param_gather = zero == 3 || (job_.framework.defaults.overlap_param_gather &&
                                                   (l.overlap_grad_reduce || !rules.gathers_beside_reduces));
            for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
              l.recompute = r, l.recompute_layers = 0;
              add(l);
            }
            const int depth = some_layers_ && rules.recomputes_some ? deepest_chunk(l) : 1;
            for (l.recompute_layers = 1; l.recompute_layers < depth; ++l.recompute_layers) add(l);
          }
        }
      }
    }
  }

  int deepest_chunk(const Layout& l) const {
    int most = 0;
    for (const Chunk& chunk : pipeline_chunks(job_.model, job_.framework, l)) most = std::max(most, chunk.layers);
    return most;
  }

  void add(const Layout& l) {
    ++considered;
    if (refused_by(job_, l) != nullptr) return;
    const auto key = std::tuple(l.tp, l.cp, l.ep, l.etp, l.micro_batch);
    auto found = layers_.find(key);
    if (found == layers_.end()) found = layers_.emplace(key, layer_memory(job_, l)).first;
    const Entries entries = tables_.entries(l);
    const Memory need = memory(constants_, found->second, *entries.stages, l);
    if (!plannable(constants_, need)) return;
    const Step step = step_time(tables_.constants(), entries, l);
    layouts.push_back({l, step, need, total(step.time)});
  }

  const Job& job_;
  Tables tables_;
  MemoryConstants constants_;
  bool some_layers_;
  std::map<std::tuple<int, int, int, int, int>, LayerMemory> layers_;
};

}  // namespace meshwright::search
