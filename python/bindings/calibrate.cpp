// Training runs laid beside predictions, and fitted. Documents go to Python as JSON text: see accuracy.py.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "bindings.hpp"
#include "meshwright/calibrate/json.hpp"
#include "meshwright/calibrate/own_fit.hpp"
#include "meshwright/calibrate/run_logs.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::python {
namespace {

using Paths = std::vector<std::filesystem::path>;

std::vector<RunRecord> runs_of(const Paths& files, const Catalog& catalog, const LogCompletion& completion) {
  if (files.empty()) throw Error("records", "found none, expected a file or several");
  std::vector<RunRecord> runs;
  for (const std::filesystem::path& file : files)
    std::ranges::move(read_own_runs(file, catalog, completion), std::back_inserter(runs));
  if (runs.empty()) throw Error(files.front().string(), "no training run (model, cluster, layout, measured) in it");
  return runs;
}

/// Published runs where no file is given.
std::string checked_runs(const Paths& files, const std::optional<std::filesystem::path>& hardware,
                         const LogCompletion& completion) {
  const Catalog catalog = load_catalog(hardware.value_or(""));
  std::vector<RunCheck> checks;
  if (files.empty()) {
    for (const Reader& record : published_runs()) checks.push_back(check_run_record(record, catalog));
  } else {
    for (const RunRecord& run : runs_of(files, catalog, completion)) checks.push_back(check_run(run));
  }
  return calibrate::to_json(checks);
}

/// Overlay, figures and errors of the fit to one site's runs.
py::tuple fitted_runs(const Paths& files, const std::optional<std::filesystem::path>& hardware,
                      const std::string& description, const LogCompletion& completion) {
  OwnFit fit;
  std::string overlay;
  {
    const py::gil_scoped_release released;
    const Catalog catalog = load_catalog(hardware.value_or(""));
    const std::vector<OwnRun> runs = own_runs(runs_of(files, catalog, completion));
    if (runs.empty()) throw Error(files.front().string(), "no run that can be predicted, with a measured step");
    fit = fit_own(runs);
    fit.memory = fit_own_memory(runs);
    overlay = own_overlay_json(fit, runs, catalog, description);
  }
  py::list figures;
  for (const OwnFigure& f : fit.figures) {
    figures.append(py::dict(py::arg("of") = f.owner, py::arg("figure") = f.field, py::arg("before") = f.before,
                            py::arg("after") = f.after, py::arg("spread_before") = f.spread_before,
                            py::arg("spread_after") = f.spread_after, py::arg("told") = f.told()));
  }
  return py::make_tuple(overlay, figures,
                        py::dict(py::arg("runs") = fit.runs, py::arg("mean_ape_before") = fit.error_before,
                                 py::arg("mean_ape_after") = fit.error_after));
}

}  // namespace

void bind_calibrate(py::module_& module) {
  const auto checked = [](const Paths& files, const std::optional<std::filesystem::path>& hardware, std::string model,
                          std::string cluster, int nodes, int gpus, int seq_len) {
    return checked_runs(files, hardware, {std::move(model), std::move(cluster), nodes, gpus, seq_len, ""});
  };
  const auto fitted = [](const Paths& files, const std::optional<std::filesystem::path>& hardware,
                         const std::string& description, std::string model, std::string cluster, int nodes, int gpus,
                         int seq_len) {
    return fitted_runs(files, hardware, description, {std::move(model), std::move(cluster), nodes, gpus, seq_len, ""});
  };
  module.def("_checked_runs", checked, py::arg("files"), py::arg("hardware"), py::kw_only(), py::arg("model") = "",
             py::arg("cluster") = "", py::arg("nodes") = 0, py::arg("gpus") = 0, py::arg("seq_len") = 0, without_gil,
             "JSON text of `meshwright validate --json` for training runs.");
  module.def("_fitted_runs", fitted, py::arg("files"), py::arg("hardware"), py::arg("description"), py::kw_only(),
             py::arg("model") = "", py::arg("cluster") = "", py::arg("nodes") = 0, py::arg("gpus") = 0,
             py::arg("seq_len") = 0, "(overlay as JSON text, figures, errors) of `meshwright calibrate runs`.");
  module.def("_write_file", &write_file, py::arg("path"), py::arg("text"), without_gil,
             "Writes a file whole or not at all.");
}

}  // namespace meshwright::python
