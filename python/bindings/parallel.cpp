#include <fmt/format.h>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/pipeline.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "parallel_values.hpp"

namespace meshwright::python {
namespace {

Layout layout_from(const py::kwargs& fields) {
  return read_layout(Reader::text(to_json_text(fields, "Layout"), "Layout"));
}
Layout layout_with(const Layout& layout, const py::kwargs& fields) {
  return read_layout(Reader::text(changed(to_json(layout), fields, "Layout"), "Layout"));
}

py::object value_of(const LayoutField& field, const Layout& layout) {
  const int value = field.get(layout);
  if (value < field.least) return py::none();
  if (field.is_switch) return py::bool_(value != 0);
  if (field.names.empty()) return py::int_(value);
  return py::str(
      std::string(field.row_name != nullptr ? field.row_name(layout) : field.names[static_cast<std::size_t>(value)]));
}
const char* type_of(const LayoutField& field) {
  const bool optional = field.get(Layout{}) < field.least;
  if (field.is_switch) return "bool";
  if (field.names.empty()) return optional ? "typing.Optional[int]" : "int";
  return optional ? "typing.Optional[str]" : "str";
}

/// The signature that the arguments have, which pybind11 can't know: read_layout takes them by name.
std::string layout_signature() {
  std::string text = "__init__(self, *";
  for (const LayoutField& field : layout_fields())
    text += ", " + std::string(field.key) + ": " + type_of(field) + " = " +
            py::repr(value_of(field, Layout{})).cast<std::string>();
  return text +
         ", stages: typing.Optional[list[int]] = None, order: typing.Optional[str] = None) -> None\n\nEvery field has "
         "the default that a layout in a job file has.";
}

void bind_layout(py::module_& module) {
  py::class_<Layout> cls(module, "Layout", "Degrees of every parallel axis and the choices that go with them.");
  {
    py::options plain;
    plain.disable_function_signatures();
    cls.def(py::init(&layout_from), layout_signature().c_str());
  }
  for (const LayoutField& field : layout_fields()) {
    const std::string key(field.key), doc(field.doc);
    const auto get = [field](const Layout& l) { return value_of(field, l); };
    const auto set = [key](Layout& l, const py::object& value) {
      py::kwargs change;
      change[py::str(key)] = value;
      l = layout_with(l, change);
    };
    py::options plain;
    plain.disable_function_signatures();
    const std::string type = type_of(field);
    cls.def_property(key.c_str(), py::cpp_function(get, fmt::format("(self) -> {}\n\n{}", type, doc).c_str()),
                     py::cpp_function(set, fmt::format("(self, value: {}) -> None", type).c_str()), doc.c_str());
  }
  cls.def_readonly("stages", &Layout::stages,
                   "Layers of each stage, or of each chunk in model order; [] = by stage_split")
      .def_property_readonly(
          "order", [](const Layout& l) { return l.order ? std::optional(describe_order(*l.order)) : std::nullopt; },
          "'tp-cp-ep-dp-pp': ranks are numbered so, neighbours first; None = the stack's default")
      .def_property_readonly("accelerators", &Layout::accelerators, "tp * cp * pp * dp")
      .def("replace", &layout_with, "The same layout with other fields: layout.replace(tp=4). None = the default.")
      .def(
          "to_dict", [](const Layout& l) { return dict_of(to_json(l)); }, "The members of a job file's layout.")
      .def("__repr__", [](const Layout& l) { return "<Layout " + describe_layout(l) + ">"; });
  def_value(
      cls, [](const Layout& l) { return py::make_tuple(to_json(l)); },
      [](const py::tuple& plain) { return read_layout(Reader::text(plain[0].cast<std::string>(), "Layout")); });
}

Job job_of(const std::string& spec, const Catalog& catalog) { return read_job(Reader::text(spec, "Job"), catalog); }

void bind_job(py::module_& module) {
  py::class_<Job> cls(module, "Job", "Everything that a prediction needs besides the layout.");
  cls.def(py::init([](const Transformer& model, const Cluster& cluster, int seq_len, int global_batch,
                      const std::string& precision, const std::string& framework, const std::string& framework_version,
                      int accelerators, std::optional<double> moe_imbalance, const py::object& recipe,
                      std::optional<int> document_len) {
            within(accelerators, "accelerators", 0, largest_data_degree);
            JobSpec spec{.shape = model,
                         .cluster = narrowed(cluster.spec, 0, accelerators, "accelerators"),
                         .seq_len = seq_len,
                         .global_batch = global_batch,
                         .document_len = document_len,
                         .precision = precision,
                         .framework = framework,
                         .framework_version = framework_version,
                         .moe_imbalance = moe_imbalance};
            if (!recipe.is_none()) spec.recipe = Reader::text(to_json_text(recipe, "recipe"), "recipe");
            return make_job(spec, Catalog(cluster.catalog));
          }),
          py::kw_only(), py::arg("model"), py::arg("cluster"), py::arg("seq_len"), py::arg("global_batch"),
          py::arg("precision") = "", py::arg("framework") = "", py::arg("framework_version") = "",
          py::arg("accelerators") = 0, py::arg("moe_imbalance") = py::none(), py::arg("recipe") = py::none(),
          py::arg("document_len") = py::none(),
          "seq_len: tokens a sequence; global_batch: sequences a step; precision: \"bf16\", \"fp8\", ...; framework: "
          "\"megatron-core\", ... and its version; accelerators: fewer than the cluster has, 0 = all; moe_imbalance: "
          "tokens of the busiest expert rank over the mean; recipe: states, kernels, loss, ... as in a job file; "
          "document_len: tokens of a document in a packed sequence, inside which attention stays.")
      .def_property_readonly(
          "model", [](const Job& j) { return j.model; }, "What is trained")
      .def_property_readonly(
          "cluster", [](const Job& j) { return j.cluster; }, "What it is trained on")
      .def_property_readonly(
          "accelerators", [](const Job& j) { return j.accelerators; }, "Accelerators in use")
      .def_property_readonly(
          "seq_len", [](const Job& j) { return j.seq_len; }, "Tokens a sequence")
      .def_property_readonly(
          "document_len", [](const Job& j) { return j.document_len; },
          "Tokens that attend to one another: of a document in a packed sequence, else seq_len")
      .def_property_readonly(
          "global_batch", [](const Job& j) { return j.global_batch; }, "Sequences a step")
      .def_property_readonly(
          "precision", [](const Job& j) { return std::string(j.precision.name); }, "Of the GEMMs: 'bf16', 'fp8', ...")
      .def_property_readonly(
          "framework", [](const Job& j) { return j.framework.name; }, "The training stack: 'megatron-core', ...")
      .def_property_readonly(
          "assumptions", [](const Job& j) { return j.assumptions; }, "Every default that entered, in words")
      .def(
          "replace",
          [](const Job& j, const py::kwargs& fields) {
            // Another cluster brings the overlays that it was looked up in.
            const bool other = fields.contains("cluster") && py::isinstance<Cluster>(fields["cluster"]);
            const Catalog catalog(other ? fields["cluster"].cast<const Cluster&>().catalog : j.cluster.catalog);
            return job_of(changed(to_json(j.spec), fields, "Job"), catalog);
          },
          "The same job with something else said of it: job.replace(global_batch=512, precision='fp8'). None = the "
          "default.")
      .def(
          "to_dict", [](const Job& j) { return dict_of(to_json(j.spec)); },
          "What was said of it: the members of a job file.")
      .def("__repr__", [](const Job& j) {
        return "<Job " + j.model.name + " on " + std::to_string(j.accelerators) + " x " + j.cluster.accelerator.name +
               ", batch " + std::to_string(j.global_batch) + " x " + std::to_string(j.seq_len) + ">";
      });
  def_value(cls, &state_of, &job_from);
}

std::vector<Figures> stage_memory(const Explained& p) {
  std::vector<Figures> stages;
  for (const Memory& memory : memory_by_stage(p.job, p.layout)) {
    stages.push_back(described(memory));
    stages.back()["reserved"] = memory.reserved.value();
  }
  return stages;
}

/// The slices of the pipeline's trace; seconds from the start of the step.
py::list timeline_of(const Explained& p) {
  py::list slices;
  const py::dict trace = dict_of(pipeline_trace(p.job, p));
  for (const py::handle given : trace["traceEvents"]) {
    const auto event = py::reinterpret_borrow<py::dict>(given);
    if (event["ph"].cast<std::string>() != "X") continue;
    py::dict slice;
    slice["stage"] = event["tid"];
    slice["what"] = event["cat"];
    slice["start_s"] = event["ts"].cast<double>() * 1e-6;
    slice["end_s"] = (event["ts"].cast<double>() + event["dur"].cast<double>()) * 1e-6;
    if (event.contains("args")) slice.attr("update")(event["args"]);
    slices.append(slice);
  }
  return slices;
}

void bind_prediction(py::module_& module) {
  py::class_<Explained> cls(module, "Prediction", "Step time, memory and where the time goes, for one layout.");
  cls.def_readonly("layout", &Explained::layout, "With every default of the stack stated")
      .def_readonly("job", &Explained::job, "What was asked")
      .def_readonly("tokens_per_s_per_gpu", &Explained::tokens_per_s_per_gpu, "Tokens per second of one accelerator")
      .def_readonly("mfu", &Explained::mfu, "Model FLOPs over the dense peak of the GEMM format")
      .def_readonly("hfu", &Explained::hfu, "The same with work that is done again")
      .def_readonly("comm_share", &Explained::comm_share, "Exposed communication over step time")
      .def_readonly("warnings", &Explained::warnings, "What makes the figures less sure, in words")
      .def_readonly("assumptions", &Explained::assumptions, "Every default that entered, in words")
      .def_property_readonly(
          "fits", [](const Explained& p) { return p.fits_probability >= 0.5; }, "More likely than not")
      .def_readonly("fits_probability", &Explained::fits_probability, "That the peak stays below what the device holds")
      .def_property_readonly(
          "peak_memory", [](const Explained& p) { return p.memory.reserved.value(); }, "Bytes of the worst stage")
      .def_property_readonly(
          "time", [](const Explained& p) { return described(p.time); }, "Disjoint terms [s]")
      .def_property_readonly(
          "memory", [](const Explained& p) { return described(p.memory); }, "Parts at the worst stage [B]")
      .def_property_readonly("memory_by_stage", &stage_memory,
                             "The same parts of every pipeline stage, and their 'reserved' sum [B]")
      .def("timeline", &timeline_of,
           "Slices of the pipeline's timeline: stage, what ('forward', 'backward_input', ...), start_s, end_s, "
           "micro_batch, chunk.")
      .def_property_readonly(
          "breakdown", [](const Explained& p) { return explain(p.job, p); }, "The whole tree, as a Term")
      .def(
          "to_dict", [](const Explained& p) { return dict_of(to_json(static_cast<const Prediction&>(p))); },
          "The document of `meshwright predict --json`; units in the keys.")
      .def("__repr__", [](const Explained& p) {
        return "<Prediction " + describe_layout(p.layout) + ": " + format(p.step_time) + ">";
      });
  def_quantity(cls, "step_time", &Prediction::step_time, "Seconds");
  def_quantity(cls, "p10", &Prediction::p10, "Seconds; 10 % of runs are faster");
  def_quantity(cls, "p90", &Prediction::p90, "Seconds; 10 % of runs are slower");
  def_quantity(cls, "peak_memory_p10", &Prediction::memory_p10, "Bytes; 10 % of runs need less");
  def_quantity(cls, "peak_memory_p90", &Prediction::memory_p90, "Bytes; 10 % of runs need more");
  def_value(
      cls, [](const Explained& p) { return py::make_tuple(py::cast(p.job), py::cast(p.layout)); },
      [](const py::tuple& plain) { return explained(plain[0].cast<Job>(), plain[1].cast<Layout>()); });

  module.def(
      "predict",
      [](const Job& job, const Layout& layout) {
        if (const Rule rule = refused_by(job, layout)) {
          throw Error("layout", "cannot run: " + violation_of(job, layout, rule).text());
        }
        return explained(job, layout);
      },
      py::arg("job"), py::arg("layout"), without_gil, "The prediction of one layout; Error where it cannot run.");
  module.def(
      "violation",
      [](const Job& job, const Layout& layout) -> std::optional<std::string> {
        const auto refused = violation(job, layout);
        return refused ? std::optional(refused->text()) : std::nullopt;
      },
      py::arg("job"), py::arg("layout"), without_gil, "Why a layout cannot run, or None.");
  module.def("launcher_flags", &launcher_flags, py::arg("job"), py::arg("layout"), py::arg("dialect") = "", without_gil,
             "Flags or lines of a configuration to paste into the launcher of the job's stack, or of `dialect`.");
}

}  // namespace

py::tuple state_of(const Job& job) { return py::make_tuple(to_json(job.spec), folders_of(*job.cluster.catalog)); }
Job job_from(const py::tuple& plain) {
  return job_of(plain[0].cast<std::string>(), catalog_with(plain[1].cast<py::tuple>()));
}
Explained explained(const Job& job, const Layout& layout) { return Explained{predict(job, layout), job}; }

void bind_parallel(py::module_& module) {
  bind_layout(module);
  bind_job(module);
  bind_prediction(module);
}

}  // namespace meshwright::python
