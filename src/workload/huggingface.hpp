#pragma once
// Hugging Face configurations: one row a family, and the readers that the rows share.
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/workload/transformer.hpp"

namespace meshwright::workload {

/// Keys of the booleans that switch biases on and off; empty: the family has no switch.
struct BiasKeys {
  std::string_view qkv{}, output{}, mlp{};
};
inline constexpr BiasKeys attention_bias = {"attention_bias", "attention_bias"};
inline constexpr BiasKeys llama_bias = {"attention_bias", "attention_bias", "mlp_bias"};
inline constexpr BiasKeys one_key(std::string_view key) { return {key, key, key}; }

/// What a configuration of one family means. `traits` are the defaults of its configuration class: a size there is the
/// class's default and may be missing in the file; 0 means that the file must say it (kv_heads: 0 = as many as heads).
struct Family {
  std::string_view name{};
  std::vector<std::string_view> model_types{};    ///< "model_type" as files spell it
  std::vector<std::string_view> architectures{};  ///< beginnings of "architectures" for files without a model_type
  Transformer traits{};
  double ffn_over_hidden = 0;  ///< inner width where the file gives none; 0 = it must
  BiasKeys bias{};
  std::string_view qk_norm_key{};  ///< the switch of query-key norms
  bool multi_head = false;  ///< its attention has as many key-value heads as heads, or says so by keys of its own
  void (*adjust)(const Reader& config, Transformer& model) = nullptr;  ///< what no key of the table says
};

const std::vector<Family>& families();
// Its rows, by kinship.
std::vector<Family> llama_kin();
std::vector<Family> gemma_and_glm_kin();
std::vector<Family> gpt_kin();
std::vector<Family> mixture_kin();

/// A group of model types that cannot be modelled, with the reason.
struct RefusedFamilies {
  std::string_view kind, reason;
  std::vector<std::string_view> model_types;
};
const std::vector<RefusedFamilies>& refused_families();

/// The first of `keys` that the configuration has with a value other than null.
std::optional<Reader> first_of(const Reader& config, std::initializer_list<std::string_view> keys);
/// The same as a whole number; `fallback` where it has none.
int first_integer(const Reader& config, std::initializer_list<std::string_view> keys, int fallback);

/// `a` times `b`, rounded down; refused where no model has such a size.
int size_product(const Reader& config, double a, double b);

/// Refuses a size of the layers that differs by layer where the file gives it as a list or an object, naming the key:
/// no family's rules read it, and one number for all would be wrong.
void refuse_by_layer(const Reader& config);

/// Sizes, switches, windows and experts that have the same meaning in every family.
void read_common(const Reader& config, const Family& family, Transformer& model);

}  // namespace meshwright::workload
