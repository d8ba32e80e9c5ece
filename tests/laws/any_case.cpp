#include "laws/any_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/workload/precision.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::tests {
namespace {

template <class Table>
const auto& row_of(const Table& table, Chance& chance) {
  return table[static_cast<std::size_t>(chance.within(0, static_cast<int>(std::size(table)) - 1))];
}

int divisor(int number, int most, Chance& chance) {
  std::vector<int> all;
  for (int d = 1; d <= std::min(number, most); ++d) {
    if (number % d == 0) all.push_back(d);
  }
  return chance.of(all);
}

Transformer any_model(Chance& chance) {
  if (chance.one_in(2)) return row_of(model_presets(), chance);
  Transformer m;
  m.name = "any", m.family = "llama";
  m.layers = chance.within(1, 100);
  m.head_dim = chance.of<int>({64, 128, 128, 192});
  m.heads = chance.of<int>({1, 2});
  m.heads *= chance.within(1, 64);
  m.kv_heads = divisor(m.heads, 16, chance);
  m.hidden = m.heads * m.head_dim;
  m.ffn_hidden = 64 * std::max(1, m.hidden * chance.within(5, 8) / 128);
  m.vocab = 1000 * chance.within(30, 260);
  m.gated_mlp = !chance.one_in(3), m.tied_embeddings = chance.one_in(4);
  if (!chance.one_in(3)) return m;
  m.experts = 1 << chance.within(2, 8);
  m.top_k = std::min(m.experts, chance.within(1, 8));
  m.moe_ffn_hidden = 64 * std::max(1, m.ffn_hidden / (64 * m.top_k));
  return m;
}

/// Degrees that multiply to the accelerators, and choices of all kinds.
Layout any_layout(const Job& job, Chance& chance) {
  Layout l;
  int left = job.accelerators;
  const auto take = [&](int most) {
    const int degree = divisor(left, most, chance);
    left /= degree;
    return degree;
  };
  l.tp = take(16), l.pp = chance.one_in(2) ? take(16) : 1, l.cp = chance.one_in(4) ? take(8) : 1, l.dp = left;
  l.vp = l.pp > 1 && chance.one_in(2) ? divisor(std::max(1, job.model.layers / l.pp), 12, chance) : 1;
  if (job.model.is_moe()) l.ep = divisor(job.model.experts, 64, chance), l.etp = chance.within(0, 1);
  l.micro_batch = 1 << chance.within(0, 3);
  l.zero_stage = chance.within(0, 3);
  l.sequence_parallel = !chance.one_in(4);
  l.recompute = static_cast<Recompute>(chance.within(0, 2));
  l.schedule = chance.one_in(3) ? row_of(pipeline_schedules(), chance) : PipelineSchedule::one_f_one_b;
  l.tp_comm_overlap = chance.one_in(4), l.ep_comm_overlap = chance.one_in(4);
  l.overlap_grad_reduce = !chance.one_in(4), l.overlap_param_gather = !chance.one_in(4);
  l.stage_split = usual_stage_split(job.model.layers, job.framework, l.pp, split_ways(l) / l.pp);
  return l;
}

std::optional<AnyCase> drawn(Chance& chance) {
  const Node& node = row_of(builtin_catalog().nodes, chance);
  JobSpec spec{.shape = any_model(chance),
               .seq_len = chance.one_in(2) ? chance.of<int>({2048, 4096, 8192, 32768}) : 64 * chance.within(4, 1024),
               .global_batch = 1,
               .precision = chance.one_in(2) ? std::string() : std::string(row_of(precisions(), chance).name),
               .framework = row_of(frameworks(), chance).name};
  spec.cluster = {.of = node.name, .nodes = chance.one_in(2) ? 1 << chance.within(0, 7) : chance.within(1, 64)};
  if (chance.one_in(4)) spec.moe_imbalance = 1 + 0.1 * chance.within(0, 10);
  try {
    const Job job = make_job(spec, builtin_catalog());
    const Layout layout = any_layout(job, chance);
    const int rounds = layout.pp * chance.within(1, 8);
    const Job fed = with(job, [&](JobSpec& s) { s.global_batch = layout.dp * layout.micro_batch * rounds; });
    if (refused_by(fed, layout) == nullptr) return AnyCase{fed, layout};
  } catch (const Error&) {
    // a format that the device lacks, or more tokens than a step may have
  }
  return std::nullopt;
}

}  // namespace

AnyCase any_case(Chance& chance) {
  while (true) {
    if (std::optional<AnyCase> found = drawn(chance)) return *std::move(found);
  }
}

std::string told(const AnyCase& c) {
  return fmt::format("{} of {} tokens, batch {}, {} on {} x {} {}: {}", c.job.model.name, c.job.seq_len,
                     c.job.global_batch, c.job.precision.name, c.job.accelerators, c.job.cluster.name,
                     c.job.framework.name, describe_layout(c.layout));
}

std::size_t many(std::size_t usual) {
  const char* said = std::getenv("MESHWRIGHT_LAWS");
  return said == nullptr ? usual : std::strtoull(said, nullptr, 10);
}

}  // namespace meshwright::tests
