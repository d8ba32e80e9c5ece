// Training runs laid beside predictions, and fitted. Documents go to Python as JSON text: see accuracy.py.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "bindings.hpp"
#include "meshwright/calibrate/fit_runs.hpp"
#include "meshwright/calibrate/json.hpp"
#include "meshwright/calibrate/run_logs.hpp"

namespace meshwright::python {
namespace {

using Paths = std::vector<std::filesystem::path>;

std::vector<RunRecord> runs_of(const Paths& files, const Catalog& catalog) {
  std::vector<RunRecord> runs;
  for (const std::filesystem::path& file : files)
    std::ranges::move(read_own_runs(file, catalog), std::back_inserter(runs));
  if (runs.empty()) throw Error(files.front().string(), "no training run (model, cluster, layout, measured) in it");
  return runs;
}

/// Published runs where no file is given.
std::string checked_runs(const Paths& files, const std::optional<std::filesystem::path>& hardware) {
  const Catalog catalog = load_catalog(hardware.value_or(""));
  std::vector<RunCheck> checks;
  if (files.empty()) {
    for (const Reader& record : published_runs()) checks.push_back(check_run_record(record, catalog));
  } else {
    for (const RunRecord& run : runs_of(files, catalog)) checks.push_back(check_run(run));
  }
  return calibrate::to_json(checks);
}

py::tuple fitted_runs(const Paths& files, const std::optional<std::filesystem::path>& hardware,
                      const std::string& description) {
  RunFit fit;
  std::string overlay;
  {
    const py::gil_scoped_release released;
    const Catalog catalog = load_catalog(hardware.value_or(""));
    fit = fit_runs(runs_of(files, catalog));
    overlay = overlay_json(fit, catalog, description);
  }
  py::list parameters;
  for (const RunParameter& p : fit.parameters) {
    parameters.append(py::dict(py::arg("of") = p.owner, py::arg("parameter") = p.field, py::arg("before") = p.prior,
                               py::arg("fitted") = p.value, py::arg("standard_error") = p.error,
                               py::arg("runs") = p.runs));
  }
  return py::make_tuple(
      overlay, parameters,
      py::dict(py::arg("configurations") = fit.configurations, py::arg("mean_ape_before") = fit.mean_error_before,
               py::arg("mean_ape_after") = fit.mean_error_after));
}

}  // namespace

void bind_calibrate(py::module_& module) {
  module.def("_checked_runs", &checked_runs, py::arg("files"), py::arg("hardware") = py::none(), without_gil,
             "JSON text of `meshwright validate --json` for training runs.");
  module.def("_fitted_runs", &fitted_runs, py::arg("files"), py::arg("hardware") = py::none(),
             py::arg("description") = "",
             "(overlay as JSON text, parameters, figures) of `meshwright calibrate runs`.");
}

}  // namespace meshwright::python
