#include "bindings.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/parallel/prediction.hpp"

namespace meshwright::python {
namespace {

// Keyword arguments are the fields of Layout by their names; read_layout refuses anything else.
Layout layout_from(const py::kwargs& fields) { return read_layout(Reader::text(to_json_text(fields), "Layout")); }

void bind_layout(py::module_& module) {
  py::class_<Layout>(module, "Layout", "Degrees of every parallel axis and the choices that go with them.")
      .def(py::init(&layout_from), "Layout(tp=8, pp=16, dp=128, micro_batch=1, recompute='none', ...)")
      .def_readwrite("tp", &Layout::tp)
      .def_readwrite("cp", &Layout::cp)
      .def_readwrite("pp", &Layout::pp)
      .def_readwrite("vp", &Layout::vp)
      .def_readwrite("dp", &Layout::dp)
      .def_readwrite("ep", &Layout::ep)
      .def_readwrite("etp", &Layout::etp)
      .def_readwrite("micro_batch", &Layout::micro_batch)
      .def_readwrite("zero_stage", &Layout::zero_stage)
      .def_readwrite("sequence_parallel", &Layout::sequence_parallel)
      .def_property_readonly("recompute", [](const Layout& l) { return std::string(name(l.recompute)); })
      .def_property_readonly("schedule", [](const Layout& l) { return std::string(name(l.schedule)); })
      .def_property_readonly("accelerators", &Layout::accelerators)
      .def("to_dict", [](const Layout& l) { return from_json(to_json(l)); })
      .def(
          "__eq__", [](const Layout& a, const Layout& b) { return a == b; }, py::arg("other"))
      .def("__repr__", [](const Layout& l) { return "<Layout " + describe_layout(l) + ">"; });
}

void bind_job(py::module_& module) {
  py::class_<Job>(module, "Job", "Everything that a prediction needs besides the layout.")
      .def(py::init([](const Transformer& model, const Cluster& cluster, int seq_len, int global_batch,
                       const std::string& precision, const std::string& framework, const std::string& framework_version,
                       int accelerators, std::optional<double> moe_imbalance) {
             JobSpec spec{.shape = model,
                          .cluster = narrowed(cluster.spec, 0, accelerators, "accelerators"),
                          .seq_len = seq_len,
                          .global_batch = global_batch,
                          .precision = precision,
                          .framework = framework,
                          .framework_version = framework_version,
                          .moe_imbalance = moe_imbalance};
             return make_job(spec, Catalog(cluster.catalog));
           }),
           py::kw_only(), py::arg("model"), py::arg("cluster"), py::arg("seq_len"), py::arg("global_batch"),
           py::arg("precision") = "", py::arg("framework") = "", py::arg("framework_version") = "",
           py::arg("accelerators") = 0, py::arg("moe_imbalance") = py::none())
      .def_property_readonly("model", [](const Job& j) { return j.model; })
      .def_property_readonly("cluster", [](const Job& j) { return j.cluster; })
      .def_property_readonly("accelerators", [](const Job& j) { return j.accelerators; })
      .def_property_readonly("seq_len", [](const Job& j) { return j.seq_len; })
      .def_property_readonly("global_batch", [](const Job& j) { return j.global_batch; })
      .def_property_readonly("assumptions", [](const Job& j) { return j.assumptions; });
}

template <class Described>
py::dict described(const Described& value) {
  py::dict out;
  describe(value, [&](const char* field, auto part) { out[field] = part.value(); });
  return out;
}

void bind_prediction(py::module_& module) {
  // The breakdown needs the job, so a prediction carries it along.
  struct Explained : Prediction {
    Job job;
  };
  py::class_<Explained> cls(module, "Prediction", "Step time, memory and where the time goes, for one layout.");
  cls.def_readonly("layout", &Explained::layout)
      .def_readonly("tokens_per_s_per_gpu", &Explained::tokens_per_s_per_gpu)
      .def_readonly("mfu", &Explained::mfu, "Model FLOPs over the dense peak of the GEMM format")
      .def_readonly("hfu", &Explained::hfu)
      .def_readonly("comm_share", &Explained::comm_share, "Exposed communication over step time")
      .def_readonly("warnings", &Explained::warnings)
      .def_readonly("assumptions", &Explained::assumptions)
      .def_property_readonly("fits", [](const Explained& p) { return p.fits_probability >= 0.5; })
      .def_property_readonly(
          "peak_memory", [](const Explained& p) { return p.memory.reserved.value(); }, "Bytes")
      .def_property_readonly(
          "time", [](const Explained& p) { return described(p.time); }, "Disjoint terms [s]")
      .def_property_readonly(
          "memory", [](const Explained& p) { return described(p.memory); }, "Parts [B]")
      .def_property_readonly(
          "breakdown", [](const Explained& p) { return explain(p.job, p); }, "The whole tree, as a Term")
      .def("to_dict", [](const Explained& p) { return from_json(to_json(static_cast<const Prediction&>(p))); })
      .def("__repr__", [](const Explained& p) {
        return "<Prediction " + describe_layout(p.layout) + ": " + format(p.step_time) + ">";
      });
  def_quantity(cls, "step_time", static_cast<Seconds Explained::*>(&Prediction::step_time), "Seconds");
  def_quantity(cls, "p10", static_cast<Seconds Explained::*>(&Prediction::p10), "Seconds; 10 % of runs are faster");
  def_quantity(cls, "p90", static_cast<Seconds Explained::*>(&Prediction::p90), "Seconds; 10 % of runs are slower");

  module.def(
      "predict",
      [](const Job& job, const Layout& layout) {
        if (const Rule rule = refused_by(job, layout)) {
          throw Error("layout", "cannot run: " + violation_of(job, layout, rule).text());
        }
        return Explained{predict(job, layout), job};
      },
      py::arg("job"), py::arg("layout"), "The prediction of one layout; Error where the framework refuses it.");
  module.def(
      "violation",
      [](const Job& job, const Layout& layout) -> std::optional<std::string> {
        const auto refused = violation(job, layout);
        return refused ? std::optional(refused->text()) : std::nullopt;
      },
      py::arg("job"), py::arg("layout"), "Why a layout cannot run, or None.");
  module.def("launcher_flags", &launcher_flags, py::arg("job"), py::arg("layout"), py::arg("dialect") = "",
             "Flags to paste into the launcher.");
}

}  // namespace

void bind_parallel(py::module_& module) {
  bind_layout(module);
  bind_job(module);
  bind_prediction(module);
}

}  // namespace meshwright::python
