// Operators of attention (standard and latent) and of recurrent mixers.
#include <algorithm>

#include "workload/operator_list.hpp"
#include "workload/weights.hpp"

namespace meshwright::workload {
namespace {

/// kv heads of one tp rank: fewer heads than ranks are replicated.
double local_kv_heads(const OperatorList& list, const LayerShape& shape) {
  return std::max(kv_heads_of(list.model, shape) / list.shard.tp, 1.0);
}

void project_standard(OperatorList& list, const LayerShape& shape) {
  const Transformer& m = list.model;
  const double q = static_cast<double>(m.heads) / list.shard.tp * m.head_dim;
  const double kv = local_kv_heads(list, shape) * m.head_dim, values = local_kv_heads(list, shape) * v_head_dim(m);
  list.gemm("qkv", Cut::column, list.rows, (m.attention_gate ? 2 * q : q) + kv + values, m.hidden, list.norm_rows,
            m.qkv_bias);
  const double rotated = list.rows * (q + kv);
  if (m.qk_norm) {
    list.stream("qk_norm", 2 * list.element * rotated, list.element * rotated).unfused_bytes =
        (4 * list.element + 28) * rotated;
  }
  // Apart: two products, the rotation of halves and a sum, each read and written.
  if (m.rotary) list.stream("rope", 2 * list.element * rotated).unfused_bytes = 9 * list.element * rotated;
}

// Down-projections are small and replicated over tp on sequence-parallel rows; the up-projections are column-parallel
// (Megatron-Core, multi_latent_attention).
void project_latent(OperatorList& list) {
  const Transformer& m = list.model;
  const LatentAttention& a = m.latent;
  const double heads = static_cast<double>(m.heads) / list.shard.tp;
  if (a.q_lora_rank > 0) {
    list.gemm("q_down", Cut::none, list.norm_rows, a.q_lora_rank, m.hidden, list.norm_rows);
    list.norm("q_norm", list.norm_rows, a.q_lora_rank);
    list.gemm("q_up", Cut::column, list.rows, heads * qk_head_dim(m), a.q_lora_rank, list.norm_rows);
  } else {
    list.gemm("q", Cut::column, list.rows, heads * qk_head_dim(m), m.hidden, list.norm_rows);
  }
  list.gemm("kv_down", Cut::none, list.norm_rows, a.kv_lora_rank + a.qk_rope_head_dim, m.hidden, 0);
  list.norm("kv_norm", list.norm_rows, a.kv_lora_rank);
  list.gemm("kv_up", Cut::column, list.rows, heads * (a.qk_nope_head_dim + a.v_head_dim), a.kv_lora_rank,
            list.norm_rows);
  // Rope on its share of q and k, and the concatenation with the part that is not rotated.
  const double joined = list.rows * heads * 2 * qk_head_dim(m);
  const double rotated = list.rows * heads * 2 * a.qk_rope_head_dim;
  list.stream("rope", 2 * list.element * joined).unfused_bytes = list.element * (2 * joined + 9 * rotated);
}

void project_index(OperatorList& list) {
  const Transformer& m = list.model;
  const SparseAttention& s = m.sparse;
  const double from = m.latent.q_lora_rank > 0 ? m.latent.q_lora_rank : m.hidden;
  const double width = static_cast<double>(s.heads) * s.head_dim;
  list.gemm("index_q", Cut::none, list.norm_rows, width, from, 0);
  list.gemm("index_k", Cut::none, list.norm_rows, s.head_dim + s.heads, m.hidden, 0);
  // Scores of each query with every earlier key, then the top-k over them.
  const double pairs = list.norm_rows * list.sequence / 2;
  list.stream("index_select", list.element * list.norm_rows * width + 2 * 4 * pairs).flops = 2 * width * pairs;
}

void attention_core(OperatorList& list, const LayerShape& shape) {
  const Transformer& m = list.model;
  const double heads = static_cast<double>(m.heads) / list.shard.tp;
  const double kv_heads = m.attention == AttentionKind::latent ? heads : local_kv_heads(list, shape);
  const double qk = qk_head_dim(m), v = v_head_dim(m);
  const double in = list.rows * (heads * qk + kv_heads * (qk + v)), out = list.rows * heads * v;
  // The output is the next GEMM's input and is kept there; a recipe that keeps that input in another format does not.
  const double once = list.precision.stored_attention_bytes;
  const double kept_out = once > 0                                            ? once * out
                          : list.precision.stored_input_bytes == list.element ? 0
                                                                              : list.element * out;
  const double scores = heads * list.rows * list.sequence, e = list.element, mask = m.dropout ? 1 : 0;
  const double pairs = causal_pairs_per_query(m, shape, list.sequence);
  Operator row{.name = "attention", .kind = OperatorKind::attention, .low_precision = false};
  row.batch = list.batch;
  row.heads = heads;
  row.kv_heads = kv_heads;
  row.seq_q = list.sequence / list.shard.cp;
  row.seq_kv = list.sequence;
  row.head_dim = qk;
  row.v_head_dim = v;
  row.window = m.sparse.top_k > 0 ? m.sparse.top_k : shape.full_attention ? 0 : m.sliding_window;
  row.bytes = e * (in + out);
  // Scores written, softmax read and written (dropout likewise), read by the second GEMM.
  row.unfused_bytes = row.bytes + (m.dropout ? 6 * e + mask : 4 * e) * scores;
  row.flops = 2 * heads * (qk + v) * pairs * list.rows;
  row.saved_bytes = e * in + kept_out + 4 * heads * list.rows;  // fp32 log-sum-exp a row
  // Korthikanti et al. 2022, sec. 4.1: softmax output, dropout mask and dropout output: 5 a s^2 b bytes in 16 bits.
  row.unfused_saved_bytes = e * in + kept_out + (m.dropout ? 2 * e + mask : e) * scores;
  list.operators.push_back(row);
}

void attention(OperatorList& list, const LayerShape& shape) {
  const Transformer& m = list.model;
  m.attention == AttentionKind::latent ? project_latent(list) : project_standard(list, shape);
  if (m.sparse.top_k > 0) project_index(list);
  attention_core(list, shape);
  const double out = static_cast<double>(m.heads) / list.shard.tp * v_head_dim(m);
  if (m.attention_gate)
    list.stream("attention_gate", 3 * list.element * list.rows * out, list.element * list.rows * out);
  const double own_rows = list.precision.stored_attention_bytes > 0 ? 0 : list.rows;
  list.gemm("attention_output", Cut::row, list.rows, m.hidden, out, own_rows, m.attention_output_bias);
}

// The chunked scan reads its inputs and writes its output, with about as much again for the states between chunks
// (Dao and Gu 2024, sec. 6).
void scan(OperatorList& list, double width_in, double width_out, double flops_per_row) {
  const double bytes = list.element * list.rows * (width_in + width_out);
  list.stream("scan", 2 * bytes, bytes).flops = flops_per_row * list.rows;
}

void recurrent(OperatorList& list, const LayerShape& shape) {
  const Transformer& m = list.model;
  const StateSpace& s = m.state_space;
  const double tp = list.shard.tp, inner = s.inner / tp;
  const double keys = static_cast<double>(s.groups) * s.state / tp;
  const double heads = s.heads / tp;
  const bool delta = shape.mixer == Mixer::gated_delta, old = shape.mixer == Mixer::mamba;
  const double mixed = old ? inner : inner + 2 * keys;  // what the convolution sees
  const double in = old ? 2 * inner : inner + mixed + (delta ? 2 : 1) * heads;
  list.gemm("mixer_in", Cut::column, list.rows, in, m.hidden, list.norm_rows);
  list.stream("convolution", 2 * list.element * list.rows * mixed, list.element * list.rows * mixed);
  if (old) {
    list.gemm("mixer_x", Cut::row, list.rows, s.dt_rank + 2.0 * s.state, inner, list.rows);
    list.gemm("mixer_dt", Cut::column, list.rows, inner, s.dt_rank, list.rows);
  }
  scan(list, mixed + (old ? inner + 2.0 * s.state : heads), inner, (delta ? 8.0 : 6.0) * inner * s.state);
  list.stream("mixer_gate", 3 * list.element * list.rows * inner, 2 * list.element * list.rows * inner);
  list.gemm("mixer_out", Cut::row, list.rows, m.hidden, inner, list.rows);
}

}  // namespace

void append_mixer(OperatorList& list, const LayerShape& shape) {
  list.part = OperatorPart::mixer;
  if (shape.mixer == Mixer::none) return;
  list.norm("attention_norm", list.norm_rows, list.model.hidden);
  shape.mixer == Mixer::attention ? attention(list, shape) : recurrent(list, shape);
  list.casts("attention_casts");
  if (list.model.norms_per_layer >= 4) list.norm("attention_post_norm", list.norm_rows, list.model.hidden);
  // In a parallel block one add at the end takes both results.
  if (!list.model.parallel_block || shape.feed == FeedForward::none) list.residual("attention_residual");
}

}  // namespace meshwright::workload
