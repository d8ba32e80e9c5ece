#include "meshwright/workload/operators.hpp"

#include "workload/operator_list.hpp"
#include "workload/weights.hpp"

namespace meshwright::workload {

int padded_vocab(int vocab, int multiple) {
  if (multiple <= 1) return vocab;
  return (vocab + multiple - 1) / multiple * multiple;
}

std::vector<Operator> layer_operators(const Transformer& model, const LayerShape& shape, double micro_batch,
                                      double seq_len, const Shard& shard, const Precision& precision) {
  OperatorList list(model, precision, shard, micro_batch, seq_len);
  append_mixer(list, shape);
  append_feed_forward(list, shape);
  return std::move(list.operators);
}

std::vector<Operator> layer_operators(const Transformer& model, LayerKind kind, double micro_batch, double seq_len,
                                      const Shard& shard, const Precision& precision, bool full_attention) {
  const LayerShape shape{.feed = kind == LayerKind::moe ? FeedForward::moe : FeedForward::dense,
                         .full_attention = full_attention};
  return layer_operators(model, shape, micro_batch, seq_len, shard, precision);
}

std::vector<Operator> embedding_operators(const Transformer& model, double micro_batch, double seq_len,
                                          const Shard& shard, const Precision& precision, int vocab_multiple) {
  OperatorList list(model, precision, shard, micro_batch, seq_len);
  list.part = OperatorPart::embedding;
  const double h = model.hidden, looked_up = list.rows * h, mask = model.dropout ? 1 : 0;
  // Rows of the table read and written; learned positions are one more row to read and add.
  const double positions = model.position_embeddings > 0 ? 1 : 0;
  Operator& row = list.stream("embedding", (2 + positions) * list.element * looked_up + mask * list.norm_rows * h,
                              8 * list.rows + mask * list.norm_rows * h);
  const double rows = padded_vocab(model.vocab, vocab_multiple * shard.tp) / static_cast<double>(shard.tp);
  row.weight_elements = rows * h + model.position_embeddings * h;
  return std::move(list.operators);
}

std::vector<Operator> head_operators(const Transformer& model, double micro_batch, double seq_len, const Shard& shard,
                                     const Precision& precision, int vocab_multiple) {
  OperatorList list(model, precision, shard, micro_batch, seq_len);
  list.part = OperatorPart::head;
  const double columns = padded_vocab(model.vocab, vocab_multiple * shard.tp) / static_cast<double>(shard.tp);
  list.norm("final_norm", list.norm_rows, model.hidden);
  Operator& logits = list.gemm("logits", Cut::column, list.rows, columns, model.hidden, 0);
  logits.low_precision = false;
  logits.saved_bytes = list.element * list.norm_rows * model.hidden;
  // One pass over the logits and the fp32 softmax that backward needs; apart: cast, maximum, shift, exponential, sum
  // and division, each over fp32 (Megatron's vocab-parallel cross-entropy).
  const double elements = list.rows * columns;
  Operator& loss = list.stream("cross_entropy", (list.element + 4) * elements, 4 * elements);
  loss.unfused_bytes = (list.element + 4 + 4 + 8 + 8 + 4 + 8) * elements;
  return std::move(list.operators);
}

std::vector<Operator> mtp_operators(const Transformer& model, double micro_batch, double seq_len, const Shard& shard,
                                    const Precision& precision) {
  OperatorList list(model, precision, shard, micro_batch, seq_len);
  const double h = model.hidden;
  list.norm("mtp_embedding_norm", list.norm_rows, h);
  list.norm("mtp_hidden_norm", list.norm_rows, h);
  list.gemm("mtp_projection", Cut::column, list.rows, h / shard.tp, 2 * h, list.norm_rows);
  list.casts("mtp_casts");
  append_mixer(list, mtp_shape(model));
  append_feed_forward(list, mtp_shape(model));
  return std::move(list.operators);
}

}  // namespace meshwright::workload
