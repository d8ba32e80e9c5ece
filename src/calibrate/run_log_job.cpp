// A log as a job file: what it states, what follows from it by arithmetic, and what is missing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/measured.hpp"
#include "calibrate/run_log_dialect.hpp"
#include "calibrate/run_log_pipeline.hpp"
#include "calibrate/run_log_settings.hpp"
#include "core/json_text.hpp"
#include "meshwright/calibrate/run_logs.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

const LogDialect& dialect_of(const RunLog& log) {
  for (const LogDialect& d : log_dialect_table()) {
    if (d.name == log.dialect) return d;
  }
  throw Error(log.path, "no log dialect of that name: " + log.dialect);
}

/// A configuration, of which nothing ran yet.
bool is_launch(const RunLog& log) { return log.figure.empty(); }

/// Members of the log by the dialect's rows.
class Stated {
 public:
  explicit Stated(const RunLog& log) : log_(log), dialect_(dialect_of(log)), complete_(is_launch(log)) {}
  Json json(std::string_view to) const {
    const std::string text = setting_json(dialect_, log_.settings, to, complete_);
    return text.empty() ? Json() : Json::parse(text);
  }
  /// How the stack spells a member in a configuration; "" where it has no argument for it.
  std::string key_of(std::string_view to) const {
    for (const LogSetting& row : dialect_.settings) {
      if (row.to == to && !row.keys.empty()) return row.keys.back();
    }
    return "";
  }
  /// A number above 0, or 0.
  double number(std::string_view to) const {
    const Json value = json(to);
    return value.is_number() && value.get<double>() > 0 ? value.get<double>() : 0;
  }
  /// Members "prefix.x" as an object: whole numbers as such. Those of parts ("prefix.part.x") on request, by their
  /// path.
  Json object(std::string_view prefix, bool parts = false) const {
    Json out = Json::object();
    for (const LogSetting& row : dialect_.settings) {
      if (!row.to.starts_with(prefix)) continue;
      const std::string key = row.to.substr(prefix.size());
      if (out.contains(key) || (!parts && key.find('.') != std::string::npos)) continue;
      if (Json value = json(row.to); !value.is_null()) out[key] = whole(std::move(value));
    }
    return out;
  }
  static Json whole(Json value) {
    if (!value.is_number_float()) return value;
    const double number = value.get<double>();
    if (std::abs(number) < 9e15 && number == std::floor(number)) return static_cast<long long>(number);
    return value;
  }

 private:
  const RunLog& log_;
  const LogDialect& dialect_;
  bool complete_;
};

struct Size {
  const char* key;
  const char* words;
};
/// Without these no model can be made.
constexpr Size least_sizes[] = {{"layers", "layers"}, {"hidden", "width"}, {"heads", "heads"}, {"vocab", "vocabulary"}};

/// Sizes that a log states as a model object, where they are enough for one.
Json model_of(const Stated& stated, const RunLog& log) {
  Json model = stated.object("model.");
  for (const Size& size : least_sizes) {
    if (!model.contains(size.key)) return {};
  }
  if (const Json latent = stated.object("model.latent."); !latent.empty()) model["latent"] = latent;
  model["name"] = log.dialect + " model";
  return model;
}

/// The Hugging Face config that the log prints, as our own model object.
Json printed_model(const RunLog& log) {
  const Reader config = Reader::text(log.model_config, log.path + " (model config)");
  return Json::parse(model_json(import_huggingface(config, config.string_or("model_type", "model"))));
}

/// What a model lacks of which most is said: "the model's vocabulary (vocab_size, or --model)"; "" otherwise.
std::string missing_sizes(const Stated& stated) {
  const Json model = stated.object("model.");
  std::vector<std::string> words, keys;
  for (const Size& size : least_sizes) {
    if (model.contains(size.key)) continue;
    words.emplace_back(size.words);
    if (std::string key = stated.key_of(std::string("model.") + size.key); !key.empty()) keys.push_back(std::move(key));
  }
  if (2 * words.size() > std::size(least_sizes)) return "";  // nobody spells out the rest
  keys.emplace_back("or --model");
  return fmt::format("the model's {} ({})", fmt::join(words, ", "), fmt::join(keys, ", "));
}

/// Layers of a job's model, by itself or by its name; 0 where there is none of that name.
int layers_of(const Json& model) {
  constexpr double most = 1e6;
  if (model.is_string()) {
    try {
      return load_model(model.get<std::string>()).layers;
    } catch (const Error&) {
      return 0;  // refused with its place where the job is read
    }
  }
  const bool counts = model.is_object() && model.contains("layers") && model["layers"].is_number();
  return counts ? static_cast<int>(std::clamp(model["layers"].get<double>(), 0.0, most)) : 0;
}

/// Numbers that the rest follows from; 0 = not known.
struct Sizes {
  double gpus = 0, seq_len = 0, global_batch = 0, micro_batch = 0, accumulation = 0, model_parallel = 1, dp = 0;
  bool by_nodes = false;  ///< gpus follow from nodes, which the job says
};

/// Rounded, and within what a count can be.
long long whole_number(double value) { return std::llround(std::clamp(value, 0.0, 1e15)); }

double layout_number(const Json& layout, const char* key, double otherwise) {
  return layout.contains(key) && layout[key].is_number() ? layout[key].get<double>() : otherwise;
}

Sizes sizes_of(const Stated& stated, const RunLog& log, const LogCompletion& said, const Json& layout) {
  Sizes s;
  s.gpus = said.gpus > 0 ? said.gpus : stated.number("gpus");
  if (s.gpus == 0 && said.nodes == 0) s.gpus = log.processes;
  s.seq_len = said.seq_len > 0 ? said.seq_len : stated.number("seq_len");
  s.global_batch = log.global_batch > 0 ? log.global_batch : stated.number("global_batch");
  s.accumulation = stated.number("accumulation");
  s.model_parallel = layout_number(layout, "tp", 1) * layout_number(layout, "pp", 1) * layout_number(layout, "cp", 1);
  s.micro_batch = layout_number(layout, "micro_batch", 0);
  if (s.micro_batch == 0) s.micro_batch = stated.number("micro_batch");
  s.dp = layout_number(layout, "dp", 0);
  const double shard = stated.number("dp_shard"), replicate = stated.number("dp_replicate");
  if (s.dp == 0 && shard > 0) s.dp = shard * std::max(1.0, replicate);
  if (s.dp == 0) s.dp = std::floor(stated.number("dp_with_cp") / layout_number(layout, "cp", 1));
  const double tokens = stated.number("tokens_per_pass");
  if (s.micro_batch == 0 && tokens > 0 && s.seq_len > 0) s.micro_batch = tokens / s.seq_len;
  if (s.global_batch == 0 && s.seq_len > 0) s.global_batch = stated.number("tokens_per_step") / s.seq_len;
  const double a_pass = s.micro_batch * std::max(1.0, s.accumulation);
  if (s.gpus == 0 && s.dp > 0) s.gpus = s.dp * s.model_parallel;
  const bool accumulates = s.accumulation > 0 || !is_launch(log);  // else any number of passes may make the batch
  if (s.gpus == 0 && s.global_batch > 0 && a_pass > 0 && accumulates)
    s.gpus = s.global_batch / a_pass * s.model_parallel;
  if (s.gpus == 0) s.gpus = said.all_gpus, s.by_nodes = said.nodes > 0 || log.nodes > 0;
  if (s.dp == 0 && s.gpus > 0) s.dp = s.gpus / s.model_parallel;
  if (const double per_device = stated.number("per_device_batch"); per_device > 0 && s.gpus > 0) {
    s.micro_batch = per_device * s.gpus / std::max(1.0, s.dp);
    s.global_batch = per_device * s.gpus * std::max(1.0, s.accumulation);
  }
  if (s.global_batch == 0 && a_pass > 0) s.global_batch = a_pass * s.dp;
  return s;
}

/// Sequences of a pass: a pipeline's are stated by their size or by their number, where the stack has keys of them.
double micro_batch_of(const Stated& stated, const Sizes& sizes, bool piped) {
  const double size = stated.number("pipeline_micro_batch"), number = stated.number("pipeline_micro_batches");
  if (piped && size > 0) return size;
  const double passes = number * std::max(1.0, sizes.dp) * std::max(1.0, sizes.accumulation);
  return piped && passes > 0 && sizes.global_batch > 0 ? sizes.global_batch / passes : sizes.micro_batch;
}

/// What the rows give as a layout, with what only the sizes tell.
Json layout_of(const Stated& stated, const RunLog& log, const LogCompletion& said, const Json& model, Sizes& sizes) {
  Json layout = stated.object("layout.");
  complete_pipeline(layout, stated.object("pipeline."), layers_of(model), log.path);
  sizes = sizes_of(stated, log, said, layout);
  const double micro = micro_batch_of(stated, sizes, layout_number(layout, "pp", 1) > 1);
  if (micro >= 1) layout["micro_batch"] = whole_number(micro);
  const double shard = stated.number("dp_shard"), replicate = stated.number("dp_replicate");
  const double ranks = hsdp_shard_of(shard, layout_number(layout, "cp", 1));
  if (ranks > 1 && replicate > 1 && layout_number(layout, "zero_stage", 3) == 3)
    layout["hsdp_shard"] = whole_number(ranks);
  if (const double copies = stated.number("optimizer_copies"); copies > 1 && sizes.dp > 0)
    layout["hsdp_shard"] = whole_number(sizes.dp * layout_number(layout, "cp", 1) / copies);
  if (layout.empty()) return layout;
  layout.erase("dp");  // follows from the accelerators
  return layout;
}

/// "offload.optimizer": true and its like as nested parts.
Json recipe_of(const Stated& stated) {
  Json recipe = Json::object();
  const Json fields = stated.object("recipe.", true);
  for (const auto& [path, value] : fields.items()) {
    const std::size_t dot = path.find('.');
    recipe[path.substr(0, dot)][path.substr(dot + 1)] = value;
  }
  return recipe;
}

/// Members of `over` replace or join those of `base`; the layout and the recipe's parts member by member.
void merge(Json& base, const Json& over) {
  for (const auto& [key, value] : over.items()) {
    const bool joined = value.is_object() && base.contains(key) && key != "model" && key != "cluster";
    joined ? merge(base[key], value) : void(base[key] = value);
  }
}

struct Needed {
  const char* key;
  const char* words;
};
constexpr Needed needed[] = {{"model", "the model (--model)"},
                             {"cluster", "the cluster (--cluster, with --nodes where it names a node)"},
                             {"seq_len", "the sequence length (--seq-len)"},
                             {"global_batch", "the sequences a step (\"global_batch\" in a file for --job)"},
                             {"layout", "the layout (\"layout\" in a file for --job)"}};

bool says_how_many(const Json& job) {
  const auto says = [](const Json& object) { return object.contains("gpus") || object.contains("nodes"); };
  return says(job) || (job.contains("cluster") && job["cluster"].is_object() &&
                       (says(job["cluster"]) || job["cluster"].contains("accelerators")));
}

void require_all(const Json& job, const RunLog& log, const Stated& stated) {
  std::vector<std::string> missing;
  for (const Needed& n : needed) {
    if (job.contains(n.key)) continue;
    const std::string sizes = std::string_view(n.key) == "model" ? missing_sizes(stated) : "";
    missing.push_back(sizes.empty() ? n.words : sizes);
  }
  if (is_launch(log) && !says_how_many(job)) {
    missing.emplace_back(
        "how many GPUs it runs on (--gpus, or --nodes where --cluster names a node, or a cluster that says how many it "
        "has; the nodes and processes of torchrun, deepspeed, accelerate, srun and #SBATCH are read where they stand)");
  }
  if (missing.empty()) return;
  const Json device = stated.json("device");
  throw Error(log.path, fmt::format("the {} {} does not say {}{}", log.dialect,
                                    is_launch(log) ? "configuration" : "log", fmt::join(missing, "; "),
                                    device.is_string() ? "; its device is " + device.get<std::string>() : ""));
}

/// A number that a file for --job may have replaced by anything.
double number_in(const Json& job, const char* key, const RunLog& log) {
  if (!job[key].is_number()) throw Error(log.path, fmt::format("'{}' of the job is no number", key));
  return job[key].get<double>();
}

double seconds_of_step(const RunLog& log, const Json& job, double gpus) {
  if (log.figure == "step_time") return log.steps.median;
  const double sequences = number_in(job, "global_batch", log);
  if (log.figure == "sequences_per_s") return sequences / log.steps.median;
  if (gpus <= 0)
    throw Error(log.path,
                "the log tells tokens a second and GPU, but not how many GPUs: \"gpus\" in a "
                "file for --job");
  return sequences * number_in(job, "seq_len", log) / (log.steps.median * gpus);
}

Json measured_of(const RunLog& log, double seconds) {
  Json measured = {{"step_time_s", seconds},
                   {"step_time_spread", log.steps.spread},
                   {"steps", log.steps.read - log.steps.warm_up - log.steps.sick_count},
                   {"warm_up_steps", log.steps.warm_up},
                   {"sick_steps", log.steps.sick_count}};
  if (log.peak_memory) measured["peak_mem_gib"] = log.peak_memory->value() / gibibyte;
  if (!log.notes.empty()) measured["notes"] = log.notes;
  return measured;
}

/// The model that a log or a configuration states: by its sizes or its name; null where it states neither.
Json stated_model(const Stated& stated, const RunLog& log) {
  if (!log.model_config.empty()) return printed_model(log);
  if (Json model = model_of(stated, log); !model.is_null()) return model;
  Json name = stated.json("model");
  return name.is_string() ? name : Json();
}

/// The file of --job; an empty object where there is none.
Json completing_job(const LogCompletion& completion) {
  if (completion.job.empty()) return Json::object();
  const Reader file = Reader::file(completion.job);
  if (!file.is_object()) file.fail("expected an object: a job file, whole or in part");
  return Json::parse(file.dump());
}

}  // namespace

std::string job_of_log(const RunLog& log, const LogCompletion& completion) {
  const Stated stated(log);
  Sizes sizes;
  Json job = Json::object();
  const Json filled = completing_job(completion);
  if (Json model = stated_model(stated, log); !model.is_null()) job["model"] = std::move(model);
  Json model = filled.contains("model") ? filled["model"] : job.value("model", Json());
  if (!completion.model.empty()) model = completion.model;
  const Json layout = layout_of(stated, log, completion, model, sizes);
  const Json framework = stated.json("framework");
  job["framework"] = framework.is_string() ? framework : Json(log.framework);
  if (const Json format = stated.json("precision"); format.is_string()) job["precision"] = format;
  if (sizes.seq_len >= 1) job["seq_len"] = whole_number(sizes.seq_len);
  if (sizes.global_batch >= 1) job["global_batch"] = whole_number(sizes.global_batch);
  if (sizes.gpus >= 1 && !sizes.by_nodes) job["gpus"] = whole_number(sizes.gpus);
  if (!layout.empty()) job["layout"] = layout;
  if (const Json recipe = recipe_of(stated); !recipe.empty()) job["recipe"] = recipe;
  if (const Json version = stated.json("framework_version"); version.is_string()) job["framework_version"] = version;
  merge(job, filled);
  if (!completion.model.empty()) job["model"] = completion.model;
  if (!completion.cluster.empty()) job["cluster"] = completion.cluster;
  if (completion.nodes > 0) job["nodes"] = completion.nodes;
  if (!job.contains("nodes") && !job.contains("gpus") && log.nodes > 0) job["nodes"] = whole_number(log.nodes);
  if (completion.gpus > 0) job["gpus"] = completion.gpus;
  if (completion.seq_len > 0) job["seq_len"] = completion.seq_len;
  require_all(job, log, stated);
  if (is_launch(log)) return json_text(job, 2);
  const double gpus = job.contains("gpus") && job["gpus"].is_number() ? job["gpus"].get<double>() : 0;
  job["measured"] = measured_of(log, seconds_of_step(log, job, gpus));
  return json_text(job, 2);
}

}  // namespace meshwright::calibrate
