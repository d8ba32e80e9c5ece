// meshwright model list|show: the presets, and one model with its sizes, parameters, FLOPs and operators.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/workload/presets.hpp"
#include "meshwright/workload/sections.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model, precision = "bf16";
  int seq_len = 0, micro_batch = 1, tp = 1, cp = 1, ep = 1, etp = 1;
  bool no_sequence_parallel = false, json = false;
};

constexpr std::string_view mixers[] = {"attention", "mamba", "mamba-2", "gated delta net", ""};
constexpr std::string_view feeds[] = {"MLP", "experts", ""};

/// "attention + experts, window": one kind of block.
std::string shape_text(const LayerShape& shape) {
  const std::string_view mixer = mixers[static_cast<std::size_t>(shape.mixer)];
  const std::string_view feed = feeds[static_cast<std::size_t>(shape.feed)];
  std::string text = fmt::format("{}{}{}", mixer, mixer.empty() || feed.empty() ? "" : " + ", feed);
  if (!shape.full_attention) text += ", window";
  if (shape.ffn_hidden > 0) text += fmt::format(", {} wide", shape.ffn_hidden);
  return text;
}

void list(bool json) {
  Json rows = Json::array();
  Table table({{"model", Align::left},
               {"parameters"},
               {"active"},
               {"layers"},
               {"hidden"},
               {"heads"},
               {"kv"},
               {"experts"},
               {"vocabulary"}});
  std::string family;
  std::vector<Transformer> models = model_presets();
  std::stable_sort(models.begin(), models.end(),
                   [](const Transformer& a, const Transformer& b) { return a.family < b.family; });
  for (const Transformer& m : models) {
    const ParameterCounts counts = parameter_counts(m);
    rows.push_back({{"name", m.name},
                    {"family", m.family},
                    {"params_total", counts.total},
                    {"params_active", counts.active},
                    {"layers", m.layers},
                    {"hidden", m.hidden}});
    if (m.family != family) table.add_heading(m.family);
    family = m.family;
    table.add({m.name, format_count(counts.total), m.is_moe() ? format_count(counts.active) : "",
               fmt::format("{}", m.layers), fmt::format("{}", m.hidden), fmt::format("{}", m.heads),
               m.attention == AttentionKind::latent ? "mla" : fmt::format("{}", m.kv_heads),
               m.is_moe() ? fmt::format("{} of {}", m.top_k, m.experts) : "", fmt::format("{}", m.vocab)});
  }
  if (json) return print_json({{"models", rows}});
  std::cout << table.render() << "\n"
            << dim("Any Hugging Face config.json will do as well: `meshwright model show path/to/config.json`.")
            << "\n";
}

Shard shard_of(const Options& o) {
  return {.tp = o.tp, .cp = o.cp, .ep = o.ep, .etp = o.etp, .sequence_parallel = o.tp > 1 && !o.no_sequence_parallel};
}

std::string section_text(const ModelSection& part) {
  switch (part.kind) {
    case SectionKind::embedding:
      return "embedding";
    case SectionKind::block:
      return shape_text(part.shape);
    case SectionKind::prediction_module:
      return "multi-token prediction";
    case SectionKind::head:
      break;
  }
  return "head and loss";
}

struct Block {
  std::string title;
  double layers = 1;
  std::vector<Operator> operators;
};

std::vector<Block> blocks(const Transformer& m, const Options& o) {
  const Precision& recipe = precision(o.precision, "--precision");
  const Shard shard = shard_of(o);
  const double batch = o.micro_batch, seq = o.seq_len;
  std::vector<Block> all;
  for (const ModelSection& part : model_sections(m)) {
    all.push_back({section_text(part), part.count, section_operators(m, part, batch, seq, shard, recipe)});
  }
  return all;
}

constexpr std::string_view kind_names[] = {"gemm", "grouped_gemm", "attention", "memory_bound"};

Json operator_json(const Operator& op) {
  Json row = {{"name", op.name}, {"kind", kind_names[static_cast<std::size_t>(op.kind)]}};
  if (op.k > 0) row.update({{"m", op.m}, {"n", op.n}, {"k", op.k}, {"groups", op.groups}});
  row.update({{"flops", op.flops},
              {"bytes", op.bytes},
              {"saved_bytes", op.saved_bytes},
              {"weight_elements", op.weight_elements}});
  return row;
}

std::string shape_of(const Operator& op) {
  if (op.kind == OperatorKind::attention) {
    return fmt::format("{:.0f} x {:.0f} heads, {:.0f} x {:.0f}", op.batch, op.heads, op.seq_q, op.seq_kv);
  }
  if (op.k == 0) return "";
  const std::string shape = fmt::format("{:.0f} x {:.0f} x {:.0f}", op.m, op.n, op.k);
  return op.groups > 1 ? fmt::format("{:.0f} of {}", op.groups, shape) : shape;
}

std::string operator_table(const std::vector<Block>& all) {
  Table table({{"operator", Align::left}, {"m x n x k", Align::left}, {"FLOPs"}, {"bytes"}, {"kept"}, {"weights"}});
  for (const Block& block : all) {
    table.add_heading(
        fmt::format("{}{}", block.title, block.layers > 1 ? fmt::format(" (x {:.0f})", block.layers) : ""));
    for (const Operator& op : block.operators) {
      table.add({std::string(op.name), shape_of(op), op.flops > 0 ? format(Flops::base(op.flops)) : "",
                 format(Bytes::base(op.bytes)), op.saved_bytes > 0 ? format(Bytes::base(op.saved_bytes)) : "",
                 op.weight_elements > 0 ? format_count(op.weight_elements) : ""});
    }
  }
  return table.render();
}

constexpr FlopsConvention conventions[] = {FlopsConvention::causal, FlopsConvention::full_attention,
                                           FlopsConvention::hardware_full_recompute};

Json to_json(const Transformer& m, const Options& o) {
  const ParameterCounts c = parameter_counts(m);
  Json out = Json::parse(model_json(m, Fields::all));
  const auto whole = [](double count) { return static_cast<long long>(count); };
  out["params_total"] = whole(c.total);
  out["params_active"] = whole(c.active);
  out["params"] = {{"embedding", whole(c.embedding)},           {"head", whole(c.head)},
                   {"attention_per_layer", whole(c.attention)}, {"dense_layer", whole(c.dense_layer)},
                   {"moe_layer", whole(c.moe_layer)},           {"expert", whole(c.expert)},
                   {"final_norm", whole(c.final_norm)},         {"mtp", whole(c.mtp)}};
  Json shapes = Json::array();
  for (const auto& [shape, count] : layer_classes(m)) {
    shapes.push_back({{"kind", shape_text(shape)}, {"layers", count}, {"params", whole(layer_parameters(m, shape))}});
  }
  out["layer_kinds"] = shapes;
  out["assumptions"] = m.assumptions;
  if (o.seq_len == 0) return out;
  for (const FlopsConvention convention : conventions) {
    out["flops_per_token"][std::string(name(convention))] = flops_per_token(m, o.seq_len, convention);
  }
  for (const Block& block : blocks(m, o)) {
    Json operators = Json::array();
    for (const Operator& op : block.operators) operators.push_back(operator_json(op));
    out["operators"].push_back({{"block", block.title}, {"count", block.layers}, {"operators", operators}});
  }
  return out;
}

std::string size_text(const Transformer& m) {
  std::string text = fmt::format("{} layers, hidden {}, {} heads", m.layers, m.hidden, m.heads);
  if (m.attention == AttentionKind::latent) {
    text +=
        fmt::format(" (latent: q rank {}, kv rank {}, {} + {} rope, v {})", m.latent.q_lora_rank, m.latent.kv_lora_rank,
                    m.latent.qk_nope_head_dim, m.latent.qk_rope_head_dim, m.latent.v_head_dim);
  } else {
    text += fmt::format(" of {} with {} for keys and values", m.head_dim, m.kv_heads);
  }
  if (m.ffn_hidden > 0) text += fmt::format(", {} MLP {}", m.gated_mlp ? "gated" : "plain", m.ffn_hidden);
  if (m.is_moe()) {
    text += fmt::format(", {} of {} experts of {}", m.top_k, m.experts, m.moe_ffn_hidden);
    if (m.shared_expert_ffn_hidden > 0) text += fmt::format(" and a shared one of {}", m.shared_expert_ffn_hidden);
  }
  if (m.sliding_window > 0) text += fmt::format(", window {}", m.sliding_window);
  text += fmt::format(", vocabulary {}{}", m.vocab, m.tied_embeddings ? " (tied)" : "");
  return text;
}

void print_parameters(const Transformer& m) {
  const ParameterCounts c = parameter_counts(m);
  Table table({{"parameters", Align::left}, {"each"}, {"layers"}, {"all"}});
  const auto once = [&](const char* what, double count) {
    if (count != 0) table.add({what, "", "", format_count(count)});
  };
  once("embedding", c.embedding);
  for (const auto& [shape, count] : layer_classes(m)) {
    const double each = layer_parameters(m, shape);
    table.add({shape_text(shape), format_count(each), fmt::format("{}", count), format_count(count * each)});
  }
  once("final norm and what has no layer", c.final_norm + m.extra_params);
  once("head", c.head);
  once("total", c.total);
  if (m.is_moe()) once("active for one token", c.active);
  once("multi-token prediction (not in the total)", c.mtp);
  std::cout << table.render();
}

void print_flops(const Transformer& m, int seq_len) {
  std::cout << fmt::format("\nFLOPs of one token, forward and backward, at {} tokens:\n", seq_len);
  for (const FlopsConvention convention : conventions) {
    std::cout << fmt::format("  {:<24} {}\n", name(convention),
                             format(Flops::base(flops_per_token(m, seq_len, convention))));
  }
}

/// Ranks hold whole heads and whole experts.
void check_cuts(const Transformer& m, const Options& o) {
  if (m.heads > 0 && m.heads % o.tp != 0)
    throw Error("--tp", fmt::format("found {}, expected a divisor of the {} heads of {}", o.tp, m.heads, m.name));
  if (o.ep > 1 && !m.is_moe()) throw Error("--ep", fmt::format("found {}, {} has no experts", o.ep, m.name));
  if (m.is_moe() && m.experts % o.ep != 0)
    throw Error("--ep", fmt::format("found {}, expected a divisor of the {} experts of {}", o.ep, m.experts, m.name));
}

void show(const Options& o) {
  const Transformer m = load_model(o.model, "model");
  check_cuts(m, o);
  if (o.json) return print_json(to_json(m, o));
  std::cout << bold(m.name) << (m.family.empty() ? "" : " (" + m.family + ")") << "\n" << wrap(size_text(m)) << "\n";
  if (!m.source.empty()) std::cout << dim(wrap("Source: " + m.source)) << "\n";
  for (const std::string& assumption : m.assumptions) std::cout << yellow(wrap("Assumed: " + assumption)) << "\n";
  std::cout << "\n";
  print_parameters(m);
  print_flops(m, o.seq_len > 0 ? o.seq_len : 4096);
  if (o.seq_len == 0) return;
  std::cout << fmt::format("\nOperators of one rank, forward, micro-batch {}, tp {} cp {} ep {} etp {}, {}:\n",
                           o.micro_batch, o.tp, o.cp, o.ep, o.etp, o.precision)
            << operator_table(blocks(m, o));
}

void add_show_options(CLI::App& showing, Options& o) {
  showing.add_option("model", o.model, "Preset, Hugging Face config.json or model file")->required();
  showing.add_option("--seq-len", o.seq_len, "Show the operators at this many tokens")
      ->check(whole_number(1, 100000000));
  showing.add_option("--micro-batch", o.micro_batch, "Sequences a pass")->check(whole_number(1, 1000000));
  showing.add_option("--tp", o.tp, "Tensor parallel degree")->check(whole_number(1, 65536));
  showing.add_option("--cp", o.cp, "Context parallel degree")->check(whole_number(1, 65536));
  showing.add_option("--ep", o.ep, "Expert parallel degree")->check(whole_number(1, 65536));
  showing.add_option("--etp", o.etp, "Tensor parallel degree inside an expert")->check(whole_number(1, 65536));
  showing.add_option("--precision", o.precision, "Recipe: bf16, fp8-ds, fp8-block, mxfp8, nvfp4, ...");
  showing.add_flag("--no-sequence-parallel", o.no_sequence_parallel, "Norms and residuals whole on each tp rank");
  showing.add_flag("--json", o.json, "One JSON document with params_total, params_active and all sizes");
}

}  // namespace

void add_model(CLI::App& command, const Globals&) {
  command.require_subcommand(1);
  const auto options = std::make_shared<Options>();
  CLI::App* listing = command.add_subcommand("list", "The models that come with Meshwright");
  listing->add_flag("--json", options->json, "One JSON document");
  listing->callback([options] { list(options->json); });
  CLI::App* showing = command.add_subcommand("show", "Sizes, parameters, FLOPs and operators of one model");
  add_show_options(*showing, *options);
  showing->callback([options] { show(*options); });
}

}  // namespace meshwright::cli
