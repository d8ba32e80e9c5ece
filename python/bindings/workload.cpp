#include "meshwright/core/limits.hpp"
#include "meshwright/workload/presets.hpp"
#include "values.hpp"

namespace meshwright::python {
namespace {

/// A Hugging Face configuration, or the path or Hub name of one (python/meshwright/huggingface.py).
Transformer from_huggingface(const py::object& source, const std::string& name) {
  const py::module_ hub = py::module_::import("meshwright.huggingface");
  const auto [file, config, known_as] = as<std::tuple<std::string, py::object, std::string>>(
      hub.attr("configuration")(source), "config", "names in UTF-8");
  const Reader reader = file.empty() ? Reader::text(to_json_text(config, "config"), "config") : Reader::file(file);
  return import_huggingface(reader, name.empty() ? known_as : name);
}

Transformer read_text(const std::string& text) { return read_model(Reader::text(text, "Model")); }
std::string text_of(const Transformer& model) { return model_json(model, Fields::changed); }

/// Counts know the model that they count.
struct Counted : ParameterCounts {
  Transformer model;
};

void bind_counts(py::module_& module) {
  py::class_<Counted> cls(module, "ParameterCounts", "Parameter counts, in elements.");
  cls.def_readonly("embedding", &Counted::embedding, "Input embedding and learned positions")
      .def_readonly("head", &Counted::head, "Output projection; 0 when tied")
      .def_readonly("dense_layer", &Counted::dense_layer, "One dense block")
      .def_readonly("moe_layer", &Counted::moe_layer, "One MoE block, all experts")
      .def_readonly("attention", &Counted::attention, "Attention part of one block")
      .def_readonly("expert", &Counted::expert, "One routed expert")
      .def_readonly("total", &Counted::total, "As model cards count")
      .def_readonly("active", &Counted::active, "Per token: chosen and shared experts, attention, embeddings, head")
      .def("__repr__", [](const Counted& c) {
        return "<ParameterCounts " + c.model.name + ": " + std::to_string(static_cast<long long>(c.total)) + ">";
      });
  def_value(
      cls, [](const Counted& c) { return py::make_tuple(text_of(c.model)); },
      [](const py::tuple& plain) {
        const Transformer model = read_text(plain[0].cast<std::string>());
        return Counted{parameter_counts(model), model};
      });
}

void bind_transformer(py::module_& module) {
  py::class_<Transformer> cls(module, "Model", "The shapes of a decoder-only transformer. A value: see replace().");
  cls.def(py::init([](const py::kwargs& fields) { return read_text(to_json_text(fields, "Model")); }),
          "Model(name='mine', layers=32, hidden=4096, heads=32, ffn_hidden=14336, vocab=128256, ...): the members "
          "of a model file.")
      .def_readonly("name", &Transformer::name, "Preset's name, or the file's")
      .def_readonly("family", &Transformer::family, "'llama', 'gpt', 'mixtral', 'deepseek', ...")
      .def_property(
          "layers", [](const Transformer& m) { return m.layers; },
          [](Transformer& m, int layers) {
            m = read_text(changed(text_of(m), py::dict(py::arg("layers") = layers), "Model"));
          },
          "Transformer blocks, without multi-token prediction")
      .def_readonly("hidden", &Transformer::hidden, "Model width")
      .def_readonly("ffn_hidden", &Transformer::ffn_hidden, "Inner width of the dense MLP")
      .def_readonly("heads", &Transformer::heads, "Attention heads")
      .def_readonly("kv_heads", &Transformer::kv_heads, "Heads of keys and values")
      .def_readonly("head_dim", &Transformer::head_dim, "Width of one head")
      .def_readonly("vocab", &Transformer::vocab, "Tokens in the vocabulary, before padding")
      .def_readonly("experts", &Transformer::experts, "Routed experts of an MoE block; 0 = dense")
      .def_readonly("top_k", &Transformer::top_k, "Routed experts a token; 0 = dense")
      .def_property_readonly("is_moe", &Transformer::is_moe, "Has routed experts")
      .def_property_readonly(
          "parameters",
          [](const Transformer& m) {
            return Counted{parameter_counts(m), m};
          },
          "Parameter counts")
      .def_static(
          "from_huggingface", &from_huggingface, py::arg("config"), py::kw_only(), py::arg("name") = "",
          "From a Hugging Face configuration: a dict, a transformers configuration, a config.json, a folder that has "
          "one, or the name of a model on the Hub (with the package huggingface_hub).")
      .def(
          "flops_per_token",
          [](const Transformer& m, int seq_len) {
            return flops_per_token(m, within(seq_len, "seq_len", 1, largest_count), FlopsConvention::causal);
          },
          py::arg("seq_len"), "Model FLOPs of forward and backward per token, causal half of attention counted.")
      .def(
          "replace",
          [](const Transformer& m, const py::kwargs& fields) {
            return read_text(changed(text_of(m), fields, "Model"));
          },
          "The same model with other members: model.replace(layers=16). None = the default.")
      .def(
          "to_dict", [](const Transformer& m) { return dict_of(text_of(m)); }, "The members of a model file.")
      .def("__repr__", [](const Transformer& m) { return "<Model " + m.name + ">"; });
  def_value(
      cls, [](const Transformer& m) { return py::make_tuple(text_of(m)); },
      [](const py::tuple& plain) { return read_text(plain[0].cast<std::string>()); });
}

}  // namespace

void bind_workload(py::module_& module) {
  bind_counts(module);
  bind_transformer(module);
  module.def(
      "model", [](const std::string& name) { return load_model(name, "model"); }, py::arg("name"),
      "A model by preset name or from a Hugging Face config.json.");
  module.def(
      "models", [] { return model_presets(); }, "Every model preset.");
}

}  // namespace meshwright::python
