#include "bindings.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::python {

void bind_workload(py::module_& module) {
  py::class_<ParameterCounts>(module, "ParameterCounts", "Parameter counts, in elements.")
      .def_readonly("embedding", &ParameterCounts::embedding)
      .def_readonly("head", &ParameterCounts::head)
      .def_readonly("dense_layer", &ParameterCounts::dense_layer)
      .def_readonly("moe_layer", &ParameterCounts::moe_layer)
      .def_readonly("attention", &ParameterCounts::attention)
      .def_readonly("expert", &ParameterCounts::expert)
      .def_readonly("total", &ParameterCounts::total)
      .def_readonly("active", &ParameterCounts::active, "Per token");

  py::class_<Transformer>(module, "Transformer", "The shapes of a decoder-only transformer.")
      .def_readonly("name", &Transformer::name)
      .def_readonly("family", &Transformer::family)
      .def_property(
          "layers", [](const Transformer& m) { return m.layers; },
          [](Transformer& m, int layers) {
            Transformer changed = m;
            changed.layers = layers;
            check(changed, "layers");
            m = std::move(changed);
          })
      .def_readonly("hidden", &Transformer::hidden)
      .def_readonly("ffn_hidden", &Transformer::ffn_hidden)
      .def_readonly("heads", &Transformer::heads)
      .def_readonly("kv_heads", &Transformer::kv_heads)
      .def_readonly("head_dim", &Transformer::head_dim)
      .def_readonly("vocab", &Transformer::vocab)
      .def_readonly("experts", &Transformer::experts)
      .def_readonly("top_k", &Transformer::top_k)
      .def_property_readonly("is_moe", &Transformer::is_moe)
      .def_property_readonly("parameters", [](const Transformer& m) { return parameter_counts(m); })
      .def(
          "flops_per_token",
          [](const Transformer& m, int seq_len) {
            return flops_per_token(m, within(seq_len, "seq_len", 1, 1 << 24), FlopsConvention::causal);
          },
          py::arg("seq_len"), "Model FLOPs of forward and backward per token, causal half of attention counted.")
      .def(py::pickle([](const Transformer& m) { return model_json(m, Fields::all); },
                      [](const std::string& text) { return read_model(Reader::text(text, "Transformer")); }))
      .def("__repr__", [](const Transformer& m) { return "<Transformer " + m.name + ">"; });

  module.def(
      "model", [](const std::string& name) { return load_model(name, "model"); }, py::arg("name"),
      "A model by preset name or from a Hugging Face config.json.");
  module.def(
      "models", [] { return model_presets(); }, "Every model preset.");
}

}  // namespace meshwright::python
