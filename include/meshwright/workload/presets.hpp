#pragma once
// Models by name (data/workloads, compiled in), from a Hugging Face config.json, or from a training record.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/workload/transformer.hpp"

namespace meshwright::workload {

const std::vector<Transformer>& model_presets();
/// The preset of that name or alias, forgiving case, dashes, owner and tuning suffix; none where there is none.
const Transformer* find_preset(std::string_view name);
/// A preset by name (forgiving case and dashes) or, for a path that ends in .json, a Hugging Face config or a model
/// file.
Transformer load_model(std::string_view name_or_path, const std::string& where = "--model");
/// A Hugging Face config.json. Families that cannot be modelled (vision, encoder-decoder, SSM hybrids, ...) are refused
/// by name: Error(where, "family 'mamba' (model_type 'jamba') is not supported: ...").
Transformer import_huggingface(const Reader& config, std::string name);
/// Meshwright's own model object (the fields of Transformer by their names; unknown keys are refused).
Transformer read_model(const Reader& reader);
enum class Fields { changed, all };
/// The object that `read_model` takes, without fields at their defaults or with every scalar field.
std::string model_json(const Transformer& model, Fields fields = Fields::changed);

}  // namespace meshwright::workload
