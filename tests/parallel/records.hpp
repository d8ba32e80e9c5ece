#pragma once
// Reads of a training record what the memory model needs (for sweeps over MESHWRIGHT_RECORDS).
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {

struct MemoryRecord {
  std::string id, set;
  Job job;
  Layout layout;
  double peak_gib = 0;  ///< 0 = not measured
};

inline std::string records_folder() {
  const char* folder = std::getenv("MESHWRIGHT_RECORDS");
  return folder == nullptr ? "" : folder;
}

inline Transformer record_model(const Reader& r) {
  Transformer m;
  m.name = r.string_or("name", "");
  m.layers = r.integer_or("layers", 0), m.hidden = r.integer_or("hidden", 0);
  m.ffn_hidden = r.integer_or("ffn_hidden", 4 * m.hidden);
  m.heads = r.integer_or("heads", 1), m.kv_heads = r.integer_or("kv_heads", m.heads);
  m.head_dim = r.integer_or("head_dim", m.hidden / m.heads);
  m.vocab = r.integer_or("vocab", 50257);
  m.gated_mlp = r.boolean_or("gated_mlp", true), m.tied_embeddings = r.boolean_or("tied_embeddings", false);
  m.experts = r.integer_or("experts", 0), m.top_k = r.integer_or("top_k", 0);
  m.moe_ffn_hidden = r.integer_or("moe_ffn_hidden", 0);
  m.shared_expert_ffn_hidden = r.integer_or("shared_expert_ffn_hidden", 0);
  m.dense_layers = r.integer_or("dense_layers", 0);
  if (const auto mla = r.find("mla")) {
    m.attention = AttentionKind::latent;
    m.latent = {.q_lora_rank = mla->integer_or("q_lora_rank", 0),
                .kv_lora_rank = mla->integer_or("kv_lora_rank", 0),
                .qk_nope_head_dim = mla->integer_or("qk_nope_head_dim", 0),
                .qk_rope_head_dim = mla->integer_or("qk_rope_head_dim", 0),
                .v_head_dim = mla->integer_or("v_head_dim", 0)};
  }
  return m;
}

inline Layout record_layout(const Reader& r, int accelerators) {
  Layout l;
  l.tp = r.integer_or("tp", 1), l.pp = r.integer_or("pp", 1), l.vp = r.integer_or("vp", 1);
  l.cp = r.integer_or("cp", 1), l.ep = r.integer_or("ep", 1), l.etp = r.integer_or("etp", l.ep > 1 ? 1 : 0);
  l.dp = r.integer_or("dp", std::max(1, accelerators / (l.tp * l.pp * l.cp)));
  l.micro_batch = r.integer_or("micro_batch", 1);
  l.zero_stage = r.integer_or("zero_stage", 0);
  l.hsdp_shard = r.integer_or("hsdp_shard_size", 0);
  if (l.hsdp_shard >= l.dp * l.cp) l.hsdp_shard = 0;
  l.sequence_parallel = r.boolean_or("sequence_parallel", false);
  const std::string recompute = r.string_or("recompute", "none");
  l.recompute = recompute == "full"        ? Recompute::full
                : recompute == "selective" ? Recompute::selective
                                           : Recompute::none;
  if (r.string_or("schedule", "1f1b") == "gpipe") l.schedule = PipelineSchedule::gpipe;
  l.stage_split = StageSplit::automatic;
  return l;
}

/// The "80GB" of an accelerator's name: in this trade a GiB.
inline Bytes named_capacity(const std::string& accelerator) {
  const auto end = accelerator.find("GB");
  if (end == std::string::npos) return Bytes::base(80 * 1073741824.0);
  const auto begin = accelerator.find_last_not_of("0123456789", end - 1) + 1;
  return Bytes::base(std::stod(accelerator.substr(begin, end - begin)) * 1073741824.0);
}

inline MemoryRecord memory_record(const Reader& r) {
  MemoryRecord record{.id = r.at("id").string(), .set = r.at("set").string(), .job = {}, .layout = {}};
  const int accelerators = r.at("cluster").integer_or("count", 1);
  const Reader layout = r.at("layout");
  record.layout = record_layout(layout, accelerators);
  const Job job = test_job(record_model(r.at("model")), accelerators, r.integer_or("seq_len", 4096),
                           layout.integer_or("global_batch", record.layout.dp * record.layout.micro_batch),
                           layout.string_or("framework", "megatron-core"));
  const std::string accelerator = r.at("cluster").string_or("accelerator", "");
  record.job = with_capacity(with_precision(job, layout.string_or("precision", "bf16").c_str()),
                             named_capacity(accelerator).value());
  record.peak_gib = r.at("measured").number_or("peak_mem_gib", 0);
  return record;
}

/// Records of runs-<set>.jsonl with a measured peak.
inline std::vector<MemoryRecord> memory_records(const std::string& set) {
  std::vector<MemoryRecord> records;
  for (const Reader& line :
       Reader::lines(std::filesystem::path(records_folder()) / "runs" / ("runs-" + set + ".jsonl"))) {
    MemoryRecord record = memory_record(line);
    if (record.peak_gib > 0) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace meshwright::parallel
