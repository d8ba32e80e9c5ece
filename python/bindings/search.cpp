#include "meshwright/search/search.hpp"

#include <functional>
#include <memory>
#include <optional>

#include "meshwright/search/json.hpp"
#include "meshwright/search/plan.hpp"
#include "parallel_values.hpp"

namespace meshwright::python {
namespace {

/// A layout that can run, as an objective or a constraint in Python sees it.
struct SeenOutcome {
  Layout layout;
  StepTime time;
  Memory memory;
  double step_time = 0;
  int accelerators = 0;
};

void bind_outcome(py::module_& module) {
  py::class_<SeenOutcome>(module, "Outcome", "A layout that can run, as an objective sees it.")
      .def_readonly("layout", &SeenOutcome::layout, "What is judged")
      .def_readonly("step_time", &SeenOutcome::step_time, "Seconds")
      .def_readonly("accelerators", &SeenOutcome::accelerators, "Of the job that is searched")
      .def_property_readonly(
          "peak_memory", [](const SeenOutcome& o) { return o.memory.reserved.value(); }, "Bytes of the worst stage")
      .def_property_readonly(
          "time", [](const SeenOutcome& o) { return described(o.time); }, "Disjoint terms [s]")
      .def("__repr__", [](const SeenOutcome& o) {
        return "<Outcome " + describe_layout(o.layout) + ": " + format(Seconds::base(o.step_time)) + ">";
      });
}

/// A Python object that threads without the GIL may hold and drop.
std::shared_ptr<py::object> held(py::object object) {
  return {new py::object(std::move(object)), [](py::object* o) {
            const py::gil_scoped_acquire acquired;
            delete o;
          }};
}

/// function(outcome) in Python.
std::function<py::object(const Outcome&)> called(const py::object& function) {
  return [function = held(function)](const Outcome& o) -> py::object {
    return (*function)(SeenOutcome{o.layout, o.step.time, o.memory, o.time.value(), o.job.accelerators});
  };
}

std::string text_of(const py::handle& value, std::string_view where) {
  return as<std::string>(py::str(value), where, "a text in UTF-8");
}

Objective objective_from(const py::object& given, const std::string& where) {
  if (py::isinstance<py::str>(given)) return objective(as<std::string>(given, where, "a text in UTF-8"), where);
  if (PyCallable_Check(given.ptr()) == 0) refuse_type(given, where, "a name or a function of an Outcome");
  const auto name = text_of(py::getattr(given, "__name__", py::str("objective")), where);
  return {.name = name, .title = name, .value = [where, call = called(given)](const Outcome& o) {
            const py::gil_scoped_acquire acquired;
            return as<double>(call(o), where, "a function that gives a number");
          }};
}

Constraint constraint_from(const std::string& name, const py::object& function) {
  if (PyCallable_Check(function.ptr()) == 0) refuse_type(function, "constraints", "functions of an Outcome");
  return {name, [call = called(function)](const Outcome& o) {
            const py::gil_scoped_acquire acquired;
            return py::bool_(call(o)).cast<bool>();
          }};
}

std::string spelled_value(const py::handle& value, std::string_view where) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>() ? "true" : "false";
  return text_of(value, where);
}

/// "tp=8,pp=4", ["tp=8", "pp=4"] or {"tp": 8, "pp": 4}.
Filter filter_from(const py::object& fixed, const py::object& excluded, const std::string& where_fixed) {
  Filter filter;
  const auto each = [](const py::object& texts, const std::string& where, auto read) {
    const std::string expected = "axes as {'tp': 8}, 'tp=8,pp=4' or a list of such texts";
    if (texts.is_none()) return;
    if (py::isinstance<py::dict>(texts)) {
      for (const auto& [axis, value] : texts.cast<py::dict>()) {
        read(as<std::string>(axis, where, expected) + "=" + spelled_value(value, where));
      }
    } else if (py::isinstance<py::str>(texts)) {
      read(as<std::string>(texts, where, expected));
    } else {
      for (const std::string& text : as<std::vector<std::string>>(texts, where, expected)) read(text);
    }
  };
  each(fixed, where_fixed, [&](const std::string& text) { fix(filter, text, where_fixed); });
  each(excluded, "exclude", [&](const std::string& text) { exclude(filter, text, "exclude"); });
  return filter;
}

/// Ctrl-C, and the caller's own function, which may say False to stop.
std::function<bool(const Progress&)> progress_from(const py::object& function) {
  if (!function.is_none() && PyCallable_Check(function.ptr()) == 0)
    refuse_type(function, "progress", "a function of what is done and all there is");
  return [function = held(function)](const Progress& progress) {
    const py::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();
      return false;
    }
    return function->is_none() || !(*function)(progress.done, progress.total).is(py::bool_(false));
  };
}

struct Arguments {
  int top, threads, max_micro_batch;
  bool variants, tp_in_domain;
  py::object fix, exclude, max_memory, objective, pareto, constraints, accelerators, progress;
};

Bytes memory_from(const py::object& said, const Job& job) {
  if (py::isinstance<py::str>(said))
    return memory_limit(as<std::string>(said, "max_memory", "a text in UTF-8"), job, "max_memory");
  const auto limit = quantity<Bytes>(said, "max_memory");
  if (limit > Bytes{}) return limit;
  throw Error("max_memory", "found 0, expected bytes above zero, or a size such as '64 GB' or '90%'");
}

SearchOptions options_from(const Arguments& a, const Job& job) {
  SearchOptions options{.top = a.top, .variants = a.variants, .threads = a.threads};
  options.space = {.filter = filter_from(a.fix, a.exclude, "fix"),
                   .max_micro_batch = a.max_micro_batch,
                   .tp_in_domain = a.tp_in_domain};
  if (!a.max_memory.is_none()) options.max_memory = memory_from(a.max_memory, job);
  options.objective = objective_from(a.objective, "objective");
  bool in_python = !py::isinstance<py::str>(a.objective);
  if (!a.pareto.is_none()) {
    for (const auto& given : as<std::vector<py::object>>(a.pareto, "pareto", "a list of objectives")) {
      options.pareto.push_back(objective_from(given, "pareto"));
      in_python = in_python || !py::isinstance<py::str>(given);
    }
  }
  if (!a.constraints.is_none()) {
    if (!py::isinstance<py::dict>(a.constraints))
      refuse_type(a.constraints, "constraints", "{'name': a function of an Outcome}");
    for (const auto& [name, function] : a.constraints.cast<py::dict>()) {
      options.constraints.push_back(
          constraint_from(text_of(name, "constraints"), py::reinterpret_borrow<py::object>(function)));
      in_python = true;
    }
  }
  if (!a.accelerators.is_none())
    options.accelerators = as<std::vector<int>>(a.accelerators, "accelerators", "a list of counts");
  if (in_python) options.threads = 1;  // Python runs one function at a time anyway
  options.progress = progress_from(a.progress);
  return options;
}

/// A search with its job, so that what it found can be predicted anew.
struct Found : SearchResult {
  Job job;
};
/// A plan as the command line prints it, and its search.
struct Planned {
  Found result;
  std::string text;
  std::string why_not;  ///< in words; "" = not asked
};

std::vector<Layout> layouts_of(const std::vector<Ranked>& all) {
  std::vector<Layout> layouts;
  layouts.reserve(all.size());
  for (const Ranked& ranked : all) layouts.push_back(ranked.prediction.layout);
  return layouts;
}

std::vector<double> times_of(const std::vector<Ranked>& all) {
  std::vector<double> times;
  times.reserve(all.size());
  for (const Ranked& ranked : all) times.push_back(ranked.prediction.step_time.value());
  return times;
}

std::vector<Explained> predictions_of(const Found& found) {
  std::vector<Explained> all;
  for (const Ranked& ranked : found.best) all.push_back({ranked.prediction, found.job});
  return all;
}

/// What to_json() wrote, predicted anew: equal bit for bit.
std::vector<Ranked> read_ranked(const Reader& entries, const Job& job, const std::vector<std::string>& objectives) {
  std::vector<Ranked> all;
  for (const Reader& entry : entries.items()) {
    Ranked ranked{.prediction = predict(job, read_layout(entry.at("layout"))),
                  .value = entry.at("value").number(),
                  .values = {},
                  .against_best = {},
                  .why = entry.string_or("why", "")};
    for (const std::string& name : objectives) ranked.values.push_back(entry.at("values").at(name).number());
    if (objectives.empty() && !all.empty())
      ranked.against_best = differences(all.front().prediction.time, ranked.prediction.time);
    all.push_back(std::move(ranked));
  }
  return all;
}

std::vector<std::string> texts_of(const Reader& list) {
  std::vector<std::string> texts;
  for (const Reader& item : list.items()) texts.push_back(item.string());
  return texts;
}

Found read_found(const py::tuple& plain) {
  Found found{{}, job_from(plain[0].cast<py::tuple>())};
  const Reader r = Reader::text(plain[1].cast<std::string>(), "SearchResult");
  found.pareto_objectives = plain[2].cast<std::vector<std::string>>();
  found.best = read_ranked(r.at("layouts"), found.job, {});
  if (const auto front = r.find("pareto")) found.pareto = read_ranked(*front, found.job, found.pareto_objectives);
  found.considered = static_cast<std::uint64_t>(r.at("considered").integer64());
  found.evaluated = static_cast<std::uint64_t>(r.at("evaluated").integer64());
  found.passed_over = static_cast<std::uint64_t>(r.at("passed_over").integer64());
  found.refused = plain[3].cast<std::vector<std::pair<std::string, std::uint64_t>>>();
  found.search_time = Seconds::base(r.at("search_time_s").number());
  found.interrupted = r.at("interrupted").boolean();
  found.objective = r.at("objective").string();
  found.stated = texts_of(r.at("stated"));
  found.assumptions = texts_of(r.at("assumptions"));
  return found;
}
py::tuple state_of(const Found& found) {
  return py::make_tuple(python::state_of(found.job), to_json(static_cast<const SearchResult&>(found)),
                        py::tuple(py::cast(found.pareto_objectives)), py::tuple(py::cast(found.refused)));
}

void bind_found(py::module_& module) {
  py::class_<Found> cls(module, "SearchResult", "The best layouts of a job, best first: iterates over predictions.");
  cls.def_property_readonly(
         "layouts", [](const Found& r) { return layouts_of(r.best); }, "Best first")
      .def_property_readonly("predictions", &predictions_of, "Of the layouts, best first")
      .def_property_readonly(
          "step_times", [](const Found& r) { return times_of(r.best); }, "Of the layouts [s]")
      .def_property_readonly(
          "pareto", [](const Found& r) { return layouts_of(r.pareto); },
          "Layouts that none beats in all of the `pareto` objectives")
      .def_readonly("job", &Found::job, "What was asked")
      .def_readonly("objective", &Found::objective, "By what the layouts are ordered")
      .def_readonly("stated", &Found::stated, "What was fixed and limited, in words")
      .def_readonly("considered", &Found::considered, "Layouts in the space")
      .def_readonly("evaluated", &Found::evaluated, "Layouts whose time was computed")
      .def_readonly("passed_over", &Found::passed_over, "Layouts that a lower bound shows to be worse")
      .def_readonly("refused", &Found::refused, "(rule, layouts) pairs")
      .def_readonly("interrupted", &Found::interrupted, "True: this is the best so far")
      .def_readonly("assumptions", &Found::assumptions, "Every default that entered, in words")
      .def(
          "to_dict", [](const Found& r) { return dict_of(to_json(static_cast<const SearchResult&>(r))); },
          "The document of a search; units in the keys.")
      .def("__len__", [](const Found& r) { return r.best.size(); })
      .def("__iter__", [](const Found& r) { return py::iter(py::cast(predictions_of(r))); })
      .def(
          "__getitem__",
          [](const Found& r, int index) {
            const int size = static_cast<int>(r.best.size());
            if (index < -size || index >= size) throw py::index_error("SearchResult has " + std::to_string(size));
            return Explained{r.best[static_cast<std::size_t>(index < 0 ? index + size : index)].prediction, r.job};
          },
          py::arg("index"))
      .def("__repr__", [](const Found& r) {
        if (r.best.empty())
          return std::string(r.interrupted ? "<SearchResult: interrupted before a layout was found>"
                                           : "<SearchResult: nothing fits>");
        const Prediction& best = r.best.front().prediction;
        return "<SearchResult of " + std::to_string(r.best.size()) + ", best " + describe_layout(best.layout) + ": " +
               format(best.step_time) + (r.interrupted ? ", interrupted>" : ">");
      });
  def_value(
      cls, [](const Found& r) { return state_of(r); }, &read_found);
}

/// Refuses a document without what is shown of a plan.
void check_plan(const Reader& document) {
  for (const Reader& help : document.at("helps").items()) {
    for (const char* key : {"what", "change"}) help.at(key).string();
    for (const char* key : {"step_time_s", "gain"}) help.at(key).number();
  }
  document.at("alternatives").items();
}

void bind_planned(py::module_& module) {
  py::class_<Planned> cls(module, "Plan",
                          "A search with what would help, what else could be asked, and why not another layout.");
  const auto list = [](const char* key) {
    return [key](const Planned& p) { return py::list(from_json(p.text)[key]); };
  };
  cls.def_readonly("result", &Planned::result, "The layouts, best first")
      .def("__len__", [](const Planned& p) { return p.result.best.size(); })
      .def("__iter__", [](const Planned& p) { return py::iter(py::cast(predictions_of(p.result))); })
      .def_property_readonly("helps", list("helps"),
                             "What a tenth more of each resource would gain, the most helpful first")
      .def_property_readonly(
          "alternatives", list("alternatives"),
          "Other batches and accelerator counts that run, or do as well; a layout that is surer to fit")
      .def_property_readonly(
          "why_not",
          [](const Planned& p) { return p.why_not.empty() ? std::optional<std::string>() : std::optional(p.why_not); },
          "What stands in the way of the layout that was asked about, or how much slower it is")
      .def(
          "to_dict", [](const Planned& p) { return dict_of(p.text); },
          "The document of `meshwright plan --json`; units in the keys.")
      .def("__repr__",
           [](const Planned& p) { return "<Plan: " + py::repr(py::cast(p.result)).cast<std::string>() + ">"; });
  def_value(
      cls, [](const Planned& p) { return py::make_tuple(state_of(p.result), p.text, p.why_not); },
      [](const py::tuple& plain) {
        const auto text = plain[1].cast<std::string>();
        check_plan(Reader::text(text, "Plan"));
        return Planned{read_found(plain[0].cast<py::tuple>()), text, plain[2].cast<std::string>()};
      });
}

}  // namespace

void bind_search(py::module_& module) {
  bind_outcome(module);
  bind_found(module);
  bind_planned(module);
  const auto define = [&](const char* name, auto function, const char* doc, auto... more) {
    module.def(name, function, py::arg("job"), py::kw_only(), py::arg("top") = 5, py::arg("variants") = false,
               py::arg("threads") = 0, py::arg("max_micro_batch") = 16, py::arg("tp_in_domain") = false,
               py::arg("fix") = py::none(), py::arg("exclude") = py::none(), py::arg("max_memory") = py::none(),
               py::arg("objective") = "time", py::arg("pareto") = py::none(), py::arg("constraints") = py::none(),
               py::arg("accelerators") = py::none(), py::arg("progress") = py::none(), more..., doc);
  };
  define(
      "search",
      // A search owns its job: without the lock another thread may drop the caller's.
      // NOLINTNEXTLINE(performance-unnecessary-value-param)
      [](Job job, int top, bool variants, int threads, int max_micro_batch, bool tp_in_domain, const py::object& fix,
         const py::object& exclude, const py::object& max_memory, const py::object& objective, const py::object& pareto,
         const py::object& constraints, const py::object& accelerators, const py::object& progress) {
        SearchOptions options = options_from({top, threads, max_micro_batch, variants, tp_in_domain, fix, exclude,
                                              max_memory, objective, pareto, constraints, accelerators, progress},
                                             job);
        const py::gil_scoped_release released;
        return Found{search::search(job, std::move(options)), job};
      },
      R"(The best layouts over tp, cp, pp, vp, dp, ep, etp, micro-batch, recompute, ZeRO stage, schedule and overlaps.

fix: axes that are given, as {"tp": 8} or "tp=8,recompute=none"; exclude: "cp" or "zero_stage=3".
max_memory: of a device, as bytes, "64 GB" or "90%".
objective: a name (time, p90, regret, memory, gpus, gpu-time) or a function of an Outcome, smaller is better; functions run in one
thread. pareto: two or more of them. constraints: {"name": function of an Outcome that says True}.
accelerators: counts to choose among. progress(done, total) may return False to stop; Ctrl-C does, too: the result is the
best so far and `interrupted`.)");
  define(
      "plan",
      [](Job job, int top, bool variants, int threads, int max_micro_batch, bool tp_in_domain, const py::object& fix,
         const py::object& exclude, const py::object& max_memory, const py::object& objective, const py::object& pareto,
         const py::object& constraints, const py::object& accelerators, const py::object& progress,
         const py::object& why_not) {
        PlanOptions options{.search = options_from({top, threads, max_micro_batch, variants, tp_in_domain, fix, exclude,
                                                    max_memory, objective, pareto, constraints, accelerators, progress},
                                                   job),
                            .why_not = filter_from(why_not, py::none(), "why_not")};
        const py::gil_scoped_release released;
        const Plan plan = search::plan(job, options);
        return Planned{{plan.result, job}, to_json(plan), plan.why_not ? plan.why_not->words : ""};
      },
      R"(A search as `search` does it, with what would help most, other batches and accelerator counts, and why not.

why_not: axes that you expected, as {"tp": 8, "pp": 4}.)",
      py::arg("why_not") = py::none());
}

}  // namespace meshwright::python
