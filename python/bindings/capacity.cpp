#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "meshwright/capacity/estimate.hpp"
#include "meshwright/capacity/json.hpp"
#include "meshwright/capacity/report.hpp"
#include "meshwright/capacity/run_time.hpp"
#include "meshwright/capacity/store.hpp"
#include "meshwright/capacity/whatif.hpp"
#include "meshwright/search/search.hpp"
#include "meshwright/version.hpp"
#include "values.hpp"

namespace meshwright::python {
namespace {

/// What a scenario needs to be sent to another process: its whole text, and what stands for its file in messages.
struct ScenarioText {
  std::string text, where;
};

struct Parsed {
  ScenarioText from;
  Scenario scenario;
  Catalog catalog = load_catalog("");
  std::shared_ptr<PlanCache> plans = make_plan_cache();
};

/// The scenario of that text; the last one is kept, since workers are asked about the same one again and again.
std::shared_ptr<const Parsed> parsed(const ScenarioText& from) {
  static std::mutex mutex;
  static std::shared_ptr<const Parsed> last;
  {
    const std::lock_guard lock(mutex);
    if (last != nullptr && last->from.text == from.text && last->from.where == from.where) return last;
  }
  auto made = std::make_shared<const Parsed>(Parsed{from, read_scenario(Reader::text(from.text, from.where))});
  const std::lock_guard lock(mutex);
  return last = made;
}

/// Refused here if a job of it cannot be made: not in a worker, after hours.
ScenarioText checked(ScenarioText from) {
  const auto known = parsed(from);
  check_questions(known->scenario, known->catalog);
  check_jobs(known->scenario, known->catalog);
  return from;
}

ScenarioText from_file(const std::filesystem::path& file) { return checked({read_scenario(file).text, file.string()}); }

ScenarioText from_text(const std::string& text) {
  return checked({read_scenario(Reader::text(text, "scenario")).text, "scenario"});
}

std::vector<std::string> evaluated(const ScenarioText& from, const std::vector<std::uint64_t>& points) {
  const py::gil_scoped_release released;
  const auto known = parsed(from);
  Planner planner(known->scenario, known->catalog, known->plans);
  std::vector<std::string> lines;
  for (const std::uint64_t point : points) {
    if (point >= known->scenario.point_count()) throw Error("points", "no such point: " + std::to_string(point));
    lines.push_back(to_json(result_of(known->scenario, planner.plan(point)), known->scenario));
  }
  return lines;
}

/// JSON document, table and page of all results.
py::dict concluded(const ScenarioText& from, const std::vector<std::string>& lines) {
  std::string document, table, page;
  {
    const py::gil_scoped_release released;
    const auto known = parsed(from);
    std::vector<Result> results;
    results.reserve(lines.size());
    for (const std::string& line : lines) results.push_back(read_result(line, known->scenario));
    const WhatIf answer = conclude(known->scenario, known->catalog, std::move(results), known->plans);
    const std::vector<Answer> answers =
        answer.interrupted ? std::vector<Answer>{} : answer_questions(known->scenario, known->catalog, answer.plans);
    const Report report = make_report(known->scenario, answer, answers, known->catalog);
    document = to_json(report);
    table = to_csv(answer, known->scenario);
    page = to_html(report);
  }
  py::dict out;
  out["answer"] = from_json(document);
  out["csv"] = table;
  out["html"] = page;
  return out;
}

void bind_scenario(py::module_& module) {
  py::class_<ScenarioText> cls(module, "Scenario",
                               "Candidates, workloads, prices and questions: a procurement question.");
  cls.def(py::init(&from_file), py::arg("file"), "Reads a scenario file with its includes.")
      .def_static(
          "from_dict", [](const py::dict& object) { return from_text(to_json_text(object, "scenario")); },
          py::arg("object"), "The same from a dict; \"include\" is refused.")
      .def_property_readonly(
          "points", [](const ScenarioText& s) { return parsed(s)->scenario.point_count(); },
          "Candidates times workloads")
      .def_property_readonly(
          "name", [](const ScenarioText& s) { return parsed(s)->scenario.name; }, "As the file has it")
      .def("evaluate", &evaluated, py::arg("points"), "Results of points by number, a line of JSON each; any process.")
      .def("conclude", &concluded, py::arg("lines"),
           "{'answer', 'csv', 'html'} from the results of all points, in any order.")
      .def("__repr__", [](const ScenarioText& s) { return "<Scenario " + s.where + ">"; });
  def_value(
      cls, [](const ScenarioText& s) { return py::make_tuple(s.text, s.where); },
      [](const py::tuple& state) {
        return ScenarioText{state[0].cast<std::string>(), state[1].cast<std::string>()};
      });
}

void bind_store(py::module_& module) {
  py::class_<Store>(module, "ResultStore", "Results of one scenario on disk (SQLite): none lost, none twice.")
      .def(py::init([](const std::filesystem::path& file, const ScenarioText& scenario) {
             const auto known = parsed(scenario);
             return Store(file, store_key(known->scenario, known->catalog));
           }),
           py::arg("file"), py::arg("scenario"))
      .def("has", &Store::has, py::arg("point"), "Whether the result of that point is there")
      .def("__len__", &Store::count)
      .def(
          "add", [](Store& s, std::uint64_t point, const std::string& line) { s.add(point, line); }, py::arg("point"),
          py::arg("line"), "Keeps the result of a point.")
      .def("commit", &Store::commit, "Makes what was added durable.")
      .def(
          "lines",
          [](const Store& s) {
            std::vector<std::string> lines;
            s.each([&](std::uint64_t, const std::string& line) { lines.push_back(line); });
            return lines;
          },
          "Every result, a line of JSON each.");
}

py::object run_of(const Job& job, const py::object& tokens, const std::optional<Layout>& layout,
                  const py::object& assume) {
  const Catalog catalog(job.cluster.catalog);
  const double count = py::isinstance<py::str>(tokens)
                           ? parse_tokens(as<std::string>(tokens, "tokens", "a text in UTF-8"), "tokens")
                           : as<double>(tokens, "tokens", "a number or a text such as \"15T\"");
  const capacity::Phase whole{"run", count, job.seq_len, job.global_batch};
  StatedRun stated{{}, {.phases = {whole}}};
  if (!assume.is_none()) stated = read_stated_run(Reader::text(to_json_text(assume, "assume"), "assume"), whole);
  RunAssumptions& assumptions = stated.assumptions;
  std::string text;
  {
    const py::gil_scoped_release released;
    const auto best = [&]() -> Prediction {
      if (layout) return predict_with(job, *layout, "layout");
      search::SearchResult found = search::search(job, {.top = 1});
      if (found.best.empty()) throw Error("job", "no layout fits");
      return std::move(found.best.front().prediction);
    };
    const Prediction prediction = best();
    const RunCase run = make_run(catalog, job, prediction, stated.schedule, assumptions.checkpoint, "tokens");
    assumptions.inputs.set_range("step.time", run.step.p10, run.step.p90);
    const RunEstimate estimate = estimate_run(run, assumptions);
    if (!estimate.gets_done) throw Error("run", why_never_done(estimate));
    text = to_json(estimate);
  }
  py::object out = from_json(text);
  out["assumptions"] = py::cast(assumption_lines(assumptions));
  return out;
}

}  // namespace

void bind_capacity(py::module_& module) {
  bind_scenario(module);
  bind_store(module);
  module.def(
      "run", &run_of, py::arg("job"), py::arg("tokens"), py::arg("layout") = py::none(), py::arg("assume") = py::none(),
      "Days, goodput, money and energy of a training run: tokens as a number or \"15T\"; the best layout by search "
      "where none is given; `assume` is a dict of \"prices\", \"power\", \"failures\", \"checkpoint\", "
      "\"stragglers\", \"phases\", \"ramp\", \"evaluation\" and \"warm_up\" as in a scenario.");
}

}  // namespace meshwright::python
