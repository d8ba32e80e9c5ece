#pragma once
// The recipe of a job: which numbers there are, in which formats, and where they live. Its defaults come from the
// stack's release (data/frameworks); a job's "recipe" object states fields of its own.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/dtype.hpp"
#include "meshwright/core/quantity.hpp"
#include "meshwright/parallel/choices.hpp"

namespace meshwright::parallel {

/// Format of a number at rest or on a wire. `compute` is the precision's format outside GEMMs (bf16, fp16 or fp32).
enum class StateFormat { none, compute, int4, int8, fp8, e5m6, fp16, bf16, fp32 };
inline constexpr std::array<std::string_view, 9> state_format_names = {"none", "compute", "int4", "int8", "fp8",
                                                                       "e5m6", "fp16",    "bf16", "fp32"};
constexpr const auto& choice_names(StateFormat) { return state_format_names; }
/// Bytes of one number with its share of the scales: 4-bit weights 0.127 bits (double quantisation, Dettmers et al.
/// 2023, arXiv 2305.14314, sec. 3), 8-bit ones an fp32 scale per block of 256 (bitsandbytes).
double bytes_of(StateFormat format, DType compute) noexcept;

/// Formats beside that of the GEMMs, which is the job's precision.
struct RecipePrecision {
  StateFormat attention = StateFormat::compute;      ///< of its two products
  StateFormat head = StateFormat::compute;           ///< of the output projection
  StateFormat gather = StateFormat::compute;         ///< of parameters on the wire and while gathered
  StateFormat tensor_gather = StateFormat::compute;  ///< of activations and gradients that tensor ranks gather
  bool low_precision_weights = false;                ///< linear layers hold their weights in the GEMMs' format alone
};

/// What is kept of each trained parameter.
struct RecipeStates {
  std::string optimizer = "adamw";             ///< a row of data/recipes/optimizers.json
  StateFormat weights = StateFormat::compute;  ///< what the passes read
  StateFormat gradients = StateFormat::fp32;
  StateFormat accumulation = StateFormat::none;  ///< a second buffer that micro-batches' gradients are added into
  StateFormat master = StateFormat::fp32;        ///< nothing where it is the weights' own format
  StateFormat moments = StateFormat::fp32;       ///< of each moment that the optimizer has
  StateFormat optimizer_gradients = StateFormat::none;    ///< a copy of the gradients sharded as the optimizer is
  StateFormat reduce = StateFormat::fp32;                 ///< gradients on the wire
  StateFormat gathered_gradients = StateFormat::compute;  ///< before they are reduced and scattered (ZeRO-3)
  StateFormat buckets = StateFormat::none;                ///< contiguous buffers of the reduction
  bool foreach_temporaries = false;  ///< the update takes all parameters at once and holds an intermediate of each
};

enum class TrainableKind { all, lora };
inline constexpr std::array<std::string_view, 2> trainable_names = {"all", "lora"};
constexpr const auto& choice_names(TrainableKind) { return trainable_names; }
/// How frozen 4- and 8-bit weights become those that products read: in one kernel each time (bitsandbytes), or by
/// elementwise operators whose result autograd keeps for the backward pass (AutoGPTQ).
enum class Unpacking { fused, elementwise };
inline constexpr std::array<std::string_view, 2> unpacking_names = {"fused", "elementwise"};
constexpr const auto& choice_names(Unpacking) { return unpacking_names; }
/// Parts of a model that adapters sit on, or that are frozen.
enum class ModelPart { embedding, attention, mlp, experts, head };
inline constexpr std::array<std::string_view, 5> model_part_names = {"embedding", "attention", "mlp", "experts",
                                                                     "head"};
using ModelParts = NameSet<model_part_names>;

/// Which parameters have gradients.
struct RecipeTrainable {
  TrainableKind kind = TrainableKind::all;
  int rank = 16;                            ///< of an adapter
  ModelParts targets{0b01110};              ///< linear layers that have adapters
  StateFormat base = StateFormat::compute;  ///< of frozen weights
  Unpacking unpacking = Unpacking::fused;   ///< of those in 4 or 8 bits
  ModelParts frozen{};                      ///< without gradients though the rest has them
  ModelParts whole{};                       ///< copied and trained whole beside adapters (PEFT's modules_to_save)
};

/// How logits become a loss.
struct RecipeLoss {
  bool vocabulary_parallel = true;  ///< logits stay cut over tp
  int chunk_tokens = 0;             ///< logits of that many tokens at a time; 0 = of all
  double copies = 1;                ///< live at the peak: logits, softmax, gradient, counted in `width`
  StateFormat width = StateFormat::fp32;
};

/// What lives in host memory.
struct RecipeOffload {
  bool optimizer = false;     ///< master copy and moments, with the update on the host
  bool gradients = false;     ///< and the reduced gradients
  bool parameters = false;    ///< the shards of ZeRO-3
  bool activations = false;   ///< what is saved for backward (inputs of blocks under full recompute)
  int activation_layers = 0;  ///< of that many blocks of a stage only; 0 = of all

  constexpr bool any() const noexcept { return optimizer || gradients || parameters || activations; }
};

enum class CudaGraphs { none, partial, per_layer, full_iteration };
inline constexpr std::array<std::string_view, 4> cuda_graph_names = {"none", "partial", "per_layer", "full_iteration"};
constexpr const auto& choice_names(CudaGraphs) { return cuda_graph_names; }
/// Parts of a block that a partial graph holds.
enum class GraphPart { attention, mlp, router, preprocess };
inline constexpr std::array<std::string_view, 4> graph_part_names = {"attention", "mlp", "router", "preprocess"};
/// How the products of a rank's experts are launched: one after another, over a few streams (one launch each too), as
/// one grouped product, or with activation and quantisation inside it.
enum class ExpertGemm { list, streams, grouped, fused };
inline constexpr std::array<std::string_view, 4> expert_gemm_names = {"list", "streams", "grouped", "fused"};
constexpr const auto& choice_names(ExpertGemm) { return expert_gemm_names; }
enum class Dispatcher { all_gather, all_to_all, uccl_ep, deepep, hybridep };
inline constexpr std::array<std::string_view, 5> dispatcher_names = {"all-gather", "all-to-all", "uccl-ep", "deepep",
                                                                     "hybridep"};
constexpr const auto& choice_names(Dispatcher) { return dispatcher_names; }

/// Which kernels run, and how they are launched.
struct RecipeKernels {
  std::string attention = "auto";  ///< a row of data/recipes/attention.json; "auto" = the stack's best on the device
  bool compiled = false;           ///< blocks compiled into few kernels
  bool unfused = false;            ///< each operation of norms, nonlinearities and losses is a kernel, unless compiled
  CudaGraphs cuda_graphs = CudaGraphs::none;
  NameSet<graph_part_names> graph_parts{0b1101};  ///< of a partial graph
  bool fused_router = false, fused_permute = false;
  ExpertGemm expert_gemm = ExpertGemm::streams;
  Dispatcher dispatcher = Dispatcher::all_to_all;
  bool static_shapes = false;          ///< experts take a fixed number of tokens: the host need not wait for counts
  bool shared_expert_overlap = false;  ///< products of shared experts run beside dispatch and combine
  bool delay_wgrad = false;      ///< gradients of weights after those of inputs, beside what experts exchange meanwhile
  double capacity_factor = 0;    ///< of the even share of tokens that an expert takes, the rest is dropped; 0 = all
  bool pad_to_capacity = false;  ///< and that each is given, padded
};

/// Modules that selective recompute redoes.
enum class RecomputeModule { core_attn, mla_up_proj, mlp, moe_act, layernorm, shared_experts };
inline constexpr std::array<std::string_view, 6> recompute_module_names = {
    "core_attn", "mla_up_proj", "mlp", "moe_act", "layernorm", "shared_experts"};
/// Where full recompute stops once all that the backward pass needs exists again: nowhere, before the last product of a
/// block, or, where attention and MLP are checkpoints of their own, before that of each.
enum class EarlyStop { none, block, modules };
inline constexpr std::array<std::string_view, 3> early_stop_names = {"none", "block", "modules"};
constexpr const auto& choice_names(EarlyStop) { return early_stop_names; }

struct RecipeActivations {
  NameSet<recompute_module_names> recompute_modules{0b1};  ///< under selective recompute
  EarlyStop early_stop = EarlyStop::none;                  ///< of full recompute
  StateFormat activation_input = StateFormat::compute;     ///< in which an MLP keeps what its nonlinearity is given
  /// In which attention's output is kept once for its own backward pass and for the projection after it; `compute`: as
  /// each of the two needs it.
  StateFormat attention_output = StateFormat::compute;
};

struct Recipe {
  RecipePrecision precision;
  RecipeStates states;
  RecipeTrainable trainable;
  RecipeLoss loss;
  RecipeOffload offload;
  RecipeKernels kernels;
  RecipeActivations activations;
};

/// visit(key, field) for each field of a part.
template <class V>
constexpr void describe(PartOf<RecipePrecision> auto& p, V&& visit) {
  visit("attention", p.attention);
  visit("head", p.head);
  visit("gather", p.gather);
  visit("tensor_gather", p.tensor_gather);
  visit("low_precision_weights", p.low_precision_weights);
}
template <class V>
constexpr void describe(PartOf<RecipeStates> auto& p, V&& visit) {
  visit("optimizer", p.optimizer);
  visit("weights", p.weights);
  visit("gradients", p.gradients);
  visit("accumulation", p.accumulation);
  visit("master", p.master);
  visit("moments", p.moments);
  visit("optimizer_gradients", p.optimizer_gradients);
  visit("reduce", p.reduce);
  visit("gathered_gradients", p.gathered_gradients);
  visit("buckets", p.buckets);
  visit("foreach_temporaries", p.foreach_temporaries);
}
template <class V>
constexpr void describe(PartOf<RecipeTrainable> auto& p, V&& visit) {
  visit("kind", p.kind);
  visit("rank", p.rank);
  visit("targets", p.targets);
  visit("base", p.base);
  visit("unpacking", p.unpacking);
  visit("frozen", p.frozen);
  visit("whole", p.whole);
}
template <class V>
constexpr void describe(PartOf<RecipeLoss> auto& p, V&& visit) {
  visit("vocabulary_parallel", p.vocabulary_parallel);
  visit("chunk_tokens", p.chunk_tokens);
  visit("copies", p.copies);
  visit("width", p.width);
}
template <class V>
constexpr void describe(PartOf<RecipeOffload> auto& p, V&& visit) {
  visit("optimizer", p.optimizer);
  visit("gradients", p.gradients);
  visit("parameters", p.parameters);
  visit("activations", p.activations);
  visit("activation_layers", p.activation_layers);
}
template <class V>
constexpr void describe(PartOf<RecipeKernels> auto& p, V&& visit) {
  visit("attention", p.attention);
  visit("compiled", p.compiled);
  visit("unfused", p.unfused);
  visit("cuda_graphs", p.cuda_graphs);
  visit("graph_parts", p.graph_parts);
  visit("fused_router", p.fused_router);
  visit("fused_permute", p.fused_permute);
  visit("expert_gemm", p.expert_gemm);
  visit("dispatcher", p.dispatcher);
  visit("static_shapes", p.static_shapes);
  visit("shared_expert_overlap", p.shared_expert_overlap);
  visit("delay_wgrad", p.delay_wgrad);
  visit("capacity_factor", p.capacity_factor);
  visit("pad_to_capacity", p.pad_to_capacity);
}
template <class V>
constexpr void describe(PartOf<RecipeActivations> auto& p, V&& visit) {
  visit("recompute_modules", p.recompute_modules);
  visit("early_stop", p.early_stop);
  visit("activation_input", p.activation_input);
  visit("attention_output", p.attention_output);
}
/// visit(key, part) for each part.
template <class V>
constexpr void describe(PartOf<Recipe> auto& p, V&& visit) {
  visit("precision", p.precision);
  visit("states", p.states);
  visit("trainable", p.trainable);
  visit("loss", p.loss);
  visit("offload", p.offload);
  visit("kernels", p.kernels);
  visit("activations", p.activations);
}

/// An attention kernel (data/recipes/attention.json).
struct AttentionKernel {
  std::string name;
  bool fused = true;         ///< false: scores are written, read and kept
  int flash = 3;             ///< 3 = the device's best, 2 = FlashAttention-2 (cost/kernel.hpp)
  double share = 1;          ///< of those rates that it reaches
  int least_capability = 0;  ///< of NVIDIA devices that have it; other vendors' are not asked
  int most_capability = 1 << 20;
  int widest_head = 0;  ///< of queries and keys that its backward pass takes; 0 = any
};
/// An optimizer (data/recipes/optimizers.json).
struct OptimizerRow {
  std::string name;
  double moments = 2;                             ///< numbers kept a parameter
  StateFormat moment_format = StateFormat::none;  ///< where it has one of its own; none = the recipe's
  double orthogonal_steps = 0;                    ///< Newton-Schulz iterations over each matrix
};
/// A way to send tokens to their experts (data/recipes/dispatchers.json).
struct DispatcherRow {
  std::string name;
  bool gathers = false;  ///< every rank gets every token, and sums come back by a reduce-scatter
  bool by_node = false;  ///< a token goes once to each node that has an expert of it, and is copied there
  /// A token and node that it is sent to, where a medium's adapters are driven by the host for it; empty = none are.
  struct Proxied {
    std::string medium;
    Seconds message;
  };
  std::vector<Proxied> proxied;
  double launches = 0;  ///< kernels of dispatch and combine of one layer, forward and backward
  bool waits = true;    ///< the host reads the counts of tokens before it launches the experts
  bool pads = true;     ///< takes tokens that are padded to the experts' capacity
  int sms = 0;          ///< of the device's multiprocessors, those that dispatch and combine run on
};
const DispatcherRow& dispatcher(Dispatcher kind);

/// The row of a name, forgiving case and dashes; UnknownName(where, ...) with the nearest spelling.
const AttentionKernel& attention_kernel(std::string_view name, const std::string& where);
const OptimizerRow& optimizer(std::string_view name, const std::string& where);

/// Whether linear layers without gradients are held in 4 or 8 bits, which products can't read.
constexpr bool is_packed(const RecipeTrainable& t) noexcept {
  return t.kind == TrainableKind::lora && (t.base == StateFormat::int4 || t.base == StateFormat::int8);
}
/// Whether elementwise operators unpack such weights: buffers of their layers, whole on every rank, and what is
/// unpacked is kept for the backward pass (AutoGPTQ).
constexpr bool unpacks_elementwise(const RecipeTrainable& t) noexcept {
  return is_packed(t) && t.unpacking == Unpacking::elementwise;
}
/// Bytes of such a weight that ZeRO-3 and FSDP gather: what bitsandbytes keeps as a parameter they cut and gather as it
/// is (quant_storage), AutoGPTQ's integers are buffers of the layer, whole on every rank.
double gathered_packed_bytes(const RecipeTrainable& trainable, DType compute) noexcept;

/// Bytes of each trained parameter, from the states' formats.
struct StateBytes {
  double weights = 0, gradients = 0;  ///< gradients with their accumulation buffer
  double optimizer = 0;               ///< master copy, moments, sharded gradients
  double traffic = 0;                 ///< read and written by one update: gradient, states, the weights' new values
  double update = 0;                  ///< held by the update besides (`foreach_temporaries`)
};
StateBytes state_bytes(const RecipeStates& states, DType compute);

}  // namespace meshwright::parallel
