#include "workload/huggingface.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string architecture(const Reader& config) {
  const auto listed = config.find("architectures");
  if (!listed || !listed->is_array() || listed->items().empty()) return "";
  return listed->items().front().string();
}

/// "family 'jamba' (model_type 'jamba')", or the architecture where there is no model_type.
std::string named(const Reader& config) {
  const std::string type = config.string_or("model_type", "");
  if (!type.empty()) return fmt::format("model_type '{}'", type);
  const std::string spelled = architecture(config);
  return spelled.empty() ? "a configuration without model_type and architectures"
                         : fmt::format("architecture '{}'", spelled);
}

const Family* find_family(const Reader& config) {
  const std::string type = config.string_or("model_type", ""), spelled = architecture(config);
  for (const Family& family : families()) {
    if (contains(family.model_types, type)) return &family;
  }
  if (!type.empty()) return nullptr;
  for (const Family& family : families()) {
    for (const std::string_view begin : family.architectures) {
      if (spelled.starts_with(begin)) return &family;
    }
  }
  return nullptr;
}

/// "T5ForConditionalGeneration" of a file without model_type is "t5".
std::string type_or_architecture(const Reader& config) {
  std::string type = config.string_or("model_type", "");
  if (!type.empty()) return type;
  type = architecture(config);
  for (const std::string_view ending : {"For", "Model", "LMHead", "WithLMHead"}) {
    if (const auto at = type.find(ending); at != std::string::npos && at > 0) type.resize(at);
  }
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type;
}

void refuse_known(const Reader& config) {
  const std::string type = type_or_architecture(config);
  for (const RefusedFamilies& group : refused_families()) {
    if (contains(group.model_types, type)) {
      config.fail(
          fmt::format("family '{}' ({}, {}) is not supported: {}", type, named(config), group.kind, group.reason));
    }
  }
  if (config.has("is_encoder_decoder") && config.at("is_encoder_decoder").boolean()) {
    config.fail(fmt::format("family '{}' ({}, encoder-decoder) is not supported: only decoder-only models are", type,
                            named(config)));
  }
}

[[noreturn]] void refuse_unknown(const Reader& config) {
  std::vector<std::string> known;
  for (const Family& family : families()) {
    for (const std::string_view type : family.model_types) known.emplace_back(type);
  }
  const std::string type = type_or_architecture(config);
  config.fail(fmt::format("family '{}' ({}) is not supported: no rules are known for it{}", type, named(config),
                          suggestion(type, known)));
}

/// The text model inside a multimodal wrapper, or nothing.
std::optional<Reader> text_part(const Reader& config) {
  for (const char* key : {"text_config", "llm_config", "language_config", "thinker_config"}) {
    if (auto inner = config.find(key); inner && inner->is_object()) return inner;
  }
  return std::nullopt;
}

Transformer import_text(const Reader& config, std::string name) {
  refuse_known(config);
  refuse_by_layer(config);
  const Family* family = find_family(config);
  if (family == nullptr) refuse_unknown(config);
  Transformer model = family->traits;
  model.name = std::move(name);
  model.family = family->name;
  read_common(config, *family, model);
  if (family->adjust != nullptr) family->adjust(config, model);
  if (model.ffn_hidden == 0 && !model.is_moe() && model.pattern.empty()) {
    config.fail("inner width of the MLP is missing, expected intermediate_size (or n_inner, ffn_dim)");
  }
  if (model.attention != AttentionKind::latent) {
    model.attention = model.kv_heads == model.heads ? AttentionKind::multi_head : AttentionKind::grouped_query;
  }
  return model;
}

}  // namespace

Transformer import_huggingface(const Reader& config, std::string name) {
  if (!config.is_object()) config.fail("expected an object with the keys of a Hugging Face config.json");
  const auto inner = text_part(config);
  if (!inner) {
    Transformer model = import_text(config, std::move(name));
    check(model, config.where());
    return model;
  }
  refuse_known(config);
  Transformer model = import_huggingface(*inner, std::move(name));
  model.tied_embeddings = config.boolean_or("tie_word_embeddings", model.tied_embeddings);
  model.assumptions.push_back(fmt::format("{}: the text model only, without vision or audio parts", named(config)));
  return model;
}

}  // namespace meshwright::workload
