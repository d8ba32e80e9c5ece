#include "calibrate/run_layout.hpp"

#include <algorithm>
#include <array>

namespace meshwright::calibrate {
namespace {

/// What a stack does where a record does not say. A null is resolved by this row and by nothing else.
struct Usual {
  std::string_view framework;  ///< as records spell it
  bool sequence_parallel;      ///< with tp > 1
  bool tp_comm_overlap;        ///< with tp > 1 and sequence parallelism
  bool overlap;                ///< gradient reduction and parameter gathers
  int zero_stage;
  Recompute recompute;
};
constexpr std::array<Usual, 16> usual_rows = {{
    {"megatron-lm", true, false, true, 1, Recompute::none},
    {"nemo", true, true, true, 1, Recompute::none},
    {"megatron-bridge", true, true, true, 1, Recompute::none},
    {"megatron-deepspeed", false, false, false, 0, Recompute::full},
    {"deepspeed", false, false, true, 3, Recompute::full},
    {"gpt-neox", false, false, false, 1, Recompute::full},
    {"megascale", true, true, true, 1, Recompute::none},
    {"nanotron", true, false, false, 0, Recompute::none},
    {"torchtitan", true, false, true, 3, Recompute::selective},
    {"llm-foundry", false, false, true, 3, Recompute::none},
    {"fms-fsdp", false, false, true, 3, Recompute::none},
    {"nemo-automodel", true, false, true, 3, Recompute::none},
    {"maxtext", true, true, true, 3, Recompute::selective},
    {"jax-pax", true, true, true, 3, Recompute::selective},
    {"neuronx", true, false, true, 1, Recompute::selective},
    {"other", true, false, true, 1, Recompute::none},
}};

const Usual& usual_of(std::string_view framework) {
  const auto row =
      std::find_if(usual_rows.begin(), usual_rows.end(), [&](const Usual& u) { return u.framework == framework; });
  return row == usual_rows.end() ? usual_rows.back() : *row;
}

/// Reads members of "layout" and notes which were resolved by rule.
struct Reading {
  Reader layout;
  std::vector<std::string>& assumptions;

  int degree(std::string_view key, int fallback, int most, int least = 1) const {
    if (!layout.has(key)) note(key, std::to_string(fallback));
    return layout.integer_or(key, fallback, least, most);
  }
  bool flag(std::string_view key, bool fallback) const {
    if (!layout.has(key)) note(key, fallback ? "true" : "false");
    return layout.boolean_or(key, fallback);
  }
  void note(std::string_view key, const std::string& value) const {
    assumptions.push_back(std::string(key) + ": " + value + " (not recorded; the stack's default)");
  }
};

Recompute recompute_of(const Reading& r, const Usual& usual) {
  if (!r.layout.has("recompute")) r.note("recompute", std::string(name(usual.recompute)));
  const std::string text = r.layout.string_or("recompute", std::string(name(usual.recompute)));
  if (text == "full") return Recompute::full;
  return text == "selective" || text == "custom" ? Recompute::selective : Recompute::none;
}

PipelineSchedule schedule_of(const std::string& text) {
  if (text.find("dualpipe") != std::string::npos) return PipelineSchedule::dual_pipe;
  if (text.find("zero-bubble") != std::string::npos) return PipelineSchedule::zero_bubble_h1;
  if (text.find("gpipe") != std::string::npos) return PipelineSchedule::gpipe;
  return PipelineSchedule::one_f_one_b;
}

/// An interleaved schedule whose chunks were not said has one layer a chunk, the finest there is.
int virtual_stages_unsaid(const Reader& layout, int layers, int pp) {
  const bool interleaved = layout.string_or("schedule", "").find("interleaved") != std::string::npos;
  return interleaved ? std::max(1, (layers + pp - 1) / pp) : 1;
}

int zero_stage_of(const Reading& r, const Usual& usual) {
  if (r.layout.boolean_or("fsdp", false)) return 3;
  return std::min(3, r.degree("zero_stage", usual.zero_stage, 99, 0));
}

}  // namespace

std::string profile_of_record(const std::string& framework_name, const std::string& version, const std::string& date) {
  // Stacks that records file under "other" and name in the version.
  if (version.starts_with("HAI-LLM")) return "hai-llm";
  const bool old = !date.empty() && date < "2023";
  // Flash attention entered Megatron at the end of 2022; before, attention was a chain of batched GEMM, softmax, GEMM.
  if (old && (framework_name == "megatron-lm" || framework_name == "nemo")) return "bignlp";
  // The fork that BLOOM's group trained with is not the later Megatron-DeepSpeed.
  if (old && framework_name == "megatron-deepspeed") return "megatron-deepspeed-2022";
  return framework_name;
}

std::string resolve_degrees(const Reader& record, const std::string& framework, JobSpec& spec, Layout& l) {
  const Reading r{record.at("layout"), spec.assumptions};
  if (!r.layout.has("tp") && !r.layout.has("pp") && !r.layout.boolean_or("fsdp", false))
    return "layout not published: no parallel degrees";
  const int devices = spec.cluster.accelerators;
  l.tp = r.degree("tp", 1, largest_tensor_degree), l.pp = r.degree("pp", 1, largest_degree);
  l.cp = r.degree("cp", 1, largest_degree), l.ep = r.degree("ep", 1, largest_degree);
  l.vp =
      l.pp > 1 ? r.degree("vp", virtual_stages_unsaid(r.layout, spec.shape->layers, l.pp), largest_virtual_degree) : 1;
  l.dp = static_cast<int>(std::max(1LL, devices / (1LL * l.tp * l.pp * l.cp)));
  if (l.accelerators() != devices)
    return "layout inconsistent: tp * cp * pp does not divide the number of accelerators";
  l.etp = r.layout.integer_or("etp", l.ep > l.cp * l.dp || framework != "nemo" ? 1 : 0, 0, largest_tensor_degree);
  // JAX stacks run a replica's sequences in one pass unless told to accumulate.
  const bool one_pass = framework == "maxtext" || framework == "jax-pax";
  const int sequences = r.layout.integer_or("global_batch", 0, 0, largest_data_degree) / l.dp;
  l.micro_batch =
      r.degree("micro_batch", one_pass && l.pp == 1 ? std::clamp(sequences, 1, largest_degree) : 1, largest_degree);
  const long long a_pass = 1LL * l.dp * l.micro_batch;
  spec.global_batch =
      r.degree("global_batch", static_cast<int>(std::min<long long>(a_pass, largest_data_degree)), largest_data_degree);
  // A source that gives sequences a step that replicas don't divide ran fewer in some of them; the mean counts.
  l.micro_batch = std::min(l.micro_batch, std::max(1, spec.global_batch / l.dp));
  return "";
}

void resolve_choices(const Reader& record, const std::string& framework, JobSpec& spec, Layout& l) {
  const Reading r{record.at("layout"), spec.assumptions};
  const Usual& usual = usual_of(framework);
  l.zero_stage = zero_stage_of(r, usual);
  const int shard = r.layout.integer_or("hsdp_shard_size", 0);
  l.hsdp_shard = l.zero_stage == 3 && shard > 1 && shard < l.dp * l.cp && (l.dp * l.cp) % shard == 0 ? shard : 0;
  l.sequence_parallel = l.tp > 1 && r.flag("sequence_parallel", usual.sequence_parallel);
  l.recompute = recompute_of(r, usual);
  // BigNLP's launcher redoes attention by default (activations_checkpoint_granularity: selective); its tables give only
  // whether whole layers are redone.
  const bool bignlp = r.layout.string_or("framework_version", "").find("BigNLP") != std::string::npos;
  if (bignlp && l.recompute == Recompute::none) l.recompute = Recompute::selective;
  l.schedule = schedule_of(r.layout.string_or("schedule", ""));
  l.overlap_grad_reduce = r.flag("overlap_grad_reduce", usual.overlap);
  l.overlap_param_gather = r.flag("overlap_param_gather", usual.overlap);
  l.tp_comm_overlap = l.tp > 1 && r.flag("tp_comm_overlap", usual.tp_comm_overlap && l.sequence_parallel);
  const auto extra = record.find("extra");
  l.ep_comm_overlap = l.ep > 1 && extra && extra->boolean_or("moe_a2a_overlap", false);
}

bool has_cuda_graphs(const Reader& record) {
  const auto extra = record.find("extra");
  return extra && extra->string_or("cuda_graph_impl", "none") != "none";
}

}  // namespace meshwright::calibrate
