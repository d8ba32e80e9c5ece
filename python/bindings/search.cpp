#include "meshwright/search/search.hpp"
#include "bindings.hpp"
#include "meshwright/search/json.hpp"

namespace meshwright::python {

void bind_search(py::module_& module) {
  py::class_<SearchResult>(module, "SearchResult", "The best layouts of a job, fastest first.")
      .def_property_readonly("layouts",
                             [](const SearchResult& r) {
                               std::vector<Layout> layouts;
                               for (const Ranked& ranked : r.best) layouts.push_back(ranked.prediction.layout);
                               return layouts;
                             })
      .def_property_readonly("step_times",
                             [](const SearchResult& r) {
                               std::vector<double> times;
                               for (const Ranked& ranked : r.best) times.push_back(ranked.prediction.step_time.value());
                               return times;
                             })
      .def_readonly("evaluated", &SearchResult::evaluated, "Layouts whose time was computed")
      .def_readonly("considered", &SearchResult::considered)
      .def_readonly("refused", &SearchResult::refused, "(rule, layouts) pairs")
      .def_readonly("assumptions", &SearchResult::assumptions)
      .def("to_dict", [](const SearchResult& r) { return from_json(to_json(r)); })
      .def("__len__", [](const SearchResult& r) { return r.best.size(); });

  module.def(
      "search",
      [](const Job& job, int top, int threads, int max_micro_batch) {
        const py::gil_scoped_release released;
        return search::search(
            job, SearchOptions{.top = top, .threads = threads, .space = {.max_micro_batch = max_micro_batch}});
      },
      py::arg("job"), py::kw_only(), py::arg("top") = 5, py::arg("threads") = 0, py::arg("max_micro_batch") = 16,
      "The best layouts over tp, cp, pp, vp, dp, ep, etp, micro-batch, recompute, ZeRO stage and schedule.");
}

}  // namespace meshwright::python
