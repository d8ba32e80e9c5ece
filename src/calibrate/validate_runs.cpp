#include "meshwright/calibrate/validate_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "calibrate/record_stacks.hpp"
#include "calibrate/run_groups.hpp"
#include "meshwright/core/quantile.hpp"
#include "meshwright/parallel/memory.hpp"

namespace meshwright::calibrate {

namespace {

/// Sources call models of several shapes by one name.
std::string model_of(const Job& job) {
  const Transformer& m = job.model;
  return fmt::format("{}|{}|{}|{}|{}|{}", m.name, m.layers, m.hidden, m.ffn_hidden, m.heads, m.kv_heads);
}

std::string work_of(const RunRecord& run) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", run.framework, run.accelerator, model_of(run.job), run.job.seq_len,
                     run.job.global_batch, run.job.accelerators, run.job.precision.name);
}

/// All choices of a recipe: adapters and full training of one layout, or other modules of recompute, are no reruns.
std::string choices_of(const parallel::Recipe& recipe) {
  std::string text;
  describe(recipe, [&](std::string_view, const auto& part) {
    describe(part, [&](std::string_view, const auto& field) {
      using Field = std::remove_cvref_t<decltype(field)>;
      if constexpr (std::is_enum_v<Field>) {
        text += fmt::format("|{}", static_cast<int>(field));
      } else if constexpr (requires { field.bits; }) {
        text += fmt::format("|{}", field.bits);
      } else {
        text += fmt::format("|{}", field);
      }
    });
  });
  return text;
}

}  // namespace

std::string configuration_of(const RunRecord& run) {
  return fmt::format("{}|{}|{}{}", work_of(run), describe_layout(run.layout), name(run.layout.recompute),
                     choices_of(run.job.recipe));
}

std::string job_of(const RunRecord& run) {
  const JobSpec& said = run.job.spec;  // the record's own release: several share the figures of one
  return fmt::format("{}|{}|{}|{}|{}", work_of(run), run.task, said.framework_version, said.date,
                     trainable_names[static_cast<std::size_t>(run.job.recipe.trainable.kind)]);
}

RunCheck check_run(const RunRecord& run) {
  RunCheck check;
  check.id = run.id, check.set = run.set, check.tier = run.tier, check.task = run.task, check.state = run.state;
  check.framework = run.framework, check.family = run.family, check.accelerator = run.accelerator;
  check.unknown_stack = run.unknown_stack;
  check.skipped = run.skipped;
  check.measured = run.measured;
  if (run.skipped) return check;
  check.precision = run.job.precision.name;
  check.model = run.job.model.name, check.experts = run.job.model.is_moe();
  check.node_accelerators = run.job.cluster.node.accelerators;
  check.configuration = configuration_of(run);
  check.prediction = predict(run.job, run.layout);
  check.step_time_error = check.prediction->step_time / *run.measured.step_time - 1;
  if (run.measured.peak_memory) {
    check.logged_peak = logged_peak(run.job, run.layout);
    check.peak_memory_error = *check.logged_peak / *run.measured.peak_memory - 1;
  }
  check.fits_probability = fits_probability(run), check.memory_open = run.lightest.has_value();
  check.counted = run.task == pretraining && run.state.empty() && !run.unknown_stack;
  return check;
}

RunCheck check_run_record(const Reader& record, const Catalog& catalog) {
  return check_run(read_run_record(record, catalog));
}

namespace {

struct Errors {
  std::vector<double> absolute, baseline;
  double sum = 0;
  int skipped = 0;

  ErrorFigures figures() const {
    const auto mean = [](const std::vector<double>& v) {
      return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    };
    const auto count = static_cast<int>(absolute.size());
    return {.count = count,
            .skipped = skipped,
            .mean = mean(absolute),
            .median = interpolated_quantile(absolute, 0.5),
            .p90 = interpolated_quantile(absolute, 0.9),
            .bias = count > 0 ? sum / count : 0,
            .baseline = mean(baseline)};
  }
};

std::vector<std::string> groups_of(const RunCheck& c) {
  std::vector<std::string> groups = {"all", "framework:" + c.framework, "device:" + c.accelerator, "set:" + c.set,
                                     "tier:" + c.tier};
  if (!c.precision.empty()) groups.push_back("precision:" + c.precision);
  for (const RecordGroup& group : record_groups()) {
    if (group.has(c)) groups.push_back(group.name);
  }
  return groups;
}

}  // namespace

std::vector<std::optional<double>> constant_rate_errors(std::span<const RunCheck> checks) {
  std::map<std::string, std::vector<double>> rates;
  const auto key = [](const RunCheck& c) { return c.accelerator + " " + c.precision + " " + c.framework; };
  const auto per_device = [&](const RunCheck& c) {
    const Layout& l = c.prediction->layout;
    return c.prediction->model_flops / (c.measured.step_time->value() * l.accelerators());
  };
  for (const RunCheck& c : checks) {
    if (c.counted && c.step_time_error) rates[key(c)].push_back(per_device(c));
  }
  std::map<std::string, double> medians;
  for (const auto& [name, values] : rates) medians[name] = interpolated_quantile(values, 0.5);
  std::vector<std::optional<double>> errors(checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (checks[i].step_time_error && medians.contains(key(checks[i]))) {
      errors[i] = per_device(checks[i]) / medians[key(checks[i])] - 1;
    }
  }
  return errors;
}

std::map<std::string, FitFigures> fits_by_stack(std::span<const RunCheck> checks) {
  std::map<std::string, FitFigures> figures;
  for (const RunCheck& c : checks) {
    if (!c.prediction) continue;
    for (const std::string& stack : {std::string("all"), c.framework}) {
      FitFigures& f = figures[stack];
      ++f.ran;
      ++f.answers[static_cast<std::size_t>(fit(c.fits_probability))];
      f.open += c.memory_open ? 1 : 0;
      f.refused_as_resolved += c.prediction->fit == Fit::does_not_fit ? 1 : 0;
    }
  }
  return figures;
}

std::map<std::string, ErrorFigures> figures_by_group(std::span<const RunCheck> checks) {
  const auto baseline = constant_rate_errors(checks);
  std::map<std::string, Errors> groups;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const RunCheck& c = checks[i];
    const auto put = [&](const std::string& group) {
      Errors& e = groups[group];
      if (!c.step_time_error) {
        ++e.skipped;
        return;
      }
      e.absolute.push_back(std::abs(*c.step_time_error));
      e.sum += *c.step_time_error;
      if (baseline[i]) e.baseline.push_back(std::abs(*baseline[i]));
    };
    if (c.unknown_stack && !c.skipped) {
      put("unknown stack:" + c.framework);
      continue;
    }
    if (c.task != pretraining && !c.skipped) {
      put("task:" + c.task);
      continue;
    }
    for (const std::string& group : groups_of(c)) {
      if (c.state.empty()) put(group);
      if (!c.state.empty() || has_sick_jobs(c.set)) {
        if (group.starts_with("set:")) put(group + " with sick jobs");
      }
    }
  }
  std::map<std::string, ErrorFigures> figures;
  for (const auto& [name, errors] : groups) figures[name] = errors.figures();
  return figures;
}

}  // namespace meshwright::calibrate
