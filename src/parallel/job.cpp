#include "meshwright/parallel/job.hpp"

#include <fmt/format.h>

#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::parallel {
namespace {

constexpr int largest_count = 1 << 24;

Transformer read_job_model(const Reader& reader) {
  return reader.is_object() ? read_model(reader) : load_model(reader.string(), reader.where());
}

/// Accelerators that "gpus" or else the layout asks for; 0 = not said.
int accelerators_asked(const Reader& reader, std::vector<std::string>& assumptions) {
  if (reader.has("gpus")) return reader.at("gpus").integer(1, largest_count);
  const auto layout = reader.find("layout");
  if (!layout || reader.has("nodes") || !layout->has("dp")) return 0;
  const int count = read_layout(*layout).accelerators();
  assumptions.push_back(fmt::format("gpus: {} (tp * cp * pp * dp of the layout)", count));
  return count;
}

void read_job_cluster(const Reader& reader, const Catalog& catalog, Job& job) {
  const Reader cluster = reader.at("cluster");
  const int nodes = reader.integer_or("nodes", 0, 1, largest_count);
  const int asked = accelerators_asked(reader, job.assumptions);
  ClusterSpec spec{.where = cluster.where()};
  if (cluster.is_object()) {
    spec = read_cluster_spec(cluster);
  } else {
    spec.of = cluster.string();
  }
  job.cluster = complete(narrowed(std::move(spec), nodes, asked, reader.where()), catalog);
  job.accelerators = job.cluster.accelerators();
  job.assumptions.insert(job.assumptions.end(), job.cluster.assumptions.begin(), job.cluster.assumptions.end());
}

template <class Value, class Lookup>
Value looked_up(const Reader& reader, std::string_view key, std::string_view fallback, Job& job, Lookup lookup) {
  if (const auto member = reader.find(key)) return lookup(member->string(), member->where());
  job.assumptions.push_back(fmt::format("{}: {} (default)", key, fallback));
  return lookup(fallback, reader.where());
}

}  // namespace

Job read_job(const Reader& reader, const Catalog& catalog) {
  reader.allow_only({"model", "cluster", "nodes", "gpus", "seq_len", "global_batch", "precision", "framework",
                     "framework_version", "recipe", "moe_imbalance", "layout"});
  Job job;
  job.model = read_job_model(reader.at("model"));
  job.seq_len = reader.at("seq_len").integer(1, largest_count);
  job.global_batch = reader.at("global_batch").integer(1, largest_count);
  job.precision = looked_up<Precision>(reader, "precision", "bf16", job, precision);
  const std::string version = reader.string_or("framework_version", "");
  ReleaseChoice release;
  const auto stack = [&](std::string_view name, const std::string& where) {
    return framework(name, where, catalog, version, "", &release);
  };
  job.framework = looked_up<Framework>(reader, "framework", "megatron-core", job, stack);
  const std::string assumed = assumption(release, job.framework.releases, job.framework.name, version);
  if (!assumed.empty()) job.assumptions.push_back(assumed);
  if (const auto imbalance = reader.find("moe_imbalance")) {
    job.moe_imbalance = moe_imbalance(job.model, imbalance->number(), imbalance->where());
  } else if (job.model.is_moe()) {
    job.assumptions.emplace_back("moe_imbalance: 1, tokens spread evenly over experts (default)");
  }
  read_job_cluster(reader, catalog, job);
  const auto recipe = reader.find("precision");
  check_precision(job, recipe ? recipe->where() : reader.where());
  complete_recipe(job, reader.find("recipe"));
  return job;
}

void check_precision(const Job& job, const std::string& where) {
  const Accelerator& device = job.cluster.accelerator;
  const auto runs = [&](const Precision& p) {
    return device.peak(p.gemm).value() > 0 && device.peak(p.rest).value() > 0;
  };
  if (runs(job.precision)) return;
  std::string valid;
  for (const Precision& p : precisions()) {
    if (runs(p)) valid += (valid.empty() ? "" : ", ") + std::string(p.name);
  }
  throw Error(where, fmt::format("found {}, {} has no such matrix units; expected one of {}", job.precision.name,
                                 device.name, valid));
}

double moe_imbalance(const Transformer& model, double value, const std::string& where) {
  constexpr double most = 1000;
  if (!(value >= 1 && value <= most)) {
    throw Error(where,
                fmt::format("found {:g}, expected the busiest expert rank over the mean, from 1 to {:g}", value, most));
  }
  if (!model.is_moe() && value > 1) throw Error(where, fmt::format("found {:g}, {} has no experts", value, model.name));
  return value;
}

Layout read_job_layout(const Reader& layout, Job& job) {
  Layout result = read_layout(layout);
  const auto assume = [&](std::string_view key, const std::string& value, std::string_view why) {
    job.assumptions.push_back(fmt::format("layout {}: {} ({})", key, value, why));
  };
  if (!layout.has("dp")) {
    const int model_parallel = result.tp * result.cp * result.pp;
    result.dp = job.accelerators / model_parallel < 1 ? 1 : job.accelerators / model_parallel;
    assume("dp", std::to_string(result.dp), "accelerators / (tp * cp * pp)");
  }
  if (!layout.has("etp") && job.model.is_moe()) {
    result.etp = expert_tensor_parallel(result, job.framework);
    assume("etp", std::to_string(result.etp),
           fmt::format("{}: {}", job.framework.name, job.framework.defaults.experts_cut_by_tp ? "tp" : "1"));
  }
  if (!layout.has("cp_kind") && result.cp > 1) {
    result.cp_kind = context_kind(result, job.framework);
    assume("cp_kind", std::string(result.cp_kind.name()), job.framework.name);
  }
  if (!layout.has("micro_batch")) assume("micro_batch", "1", "default");
  if (!layout.has("zero_stage")) {
    result.zero_stage = result.zero_stage > job.framework.rules.max_zero_stage ? job.framework.rules.max_zero_stage : 1;
    assume("zero_stage", std::to_string(result.zero_stage), "default");
  }
  if (!layout.has("recompute")) assume("recompute", std::string(name(result.recompute)), "default");
  const auto overlap = [&](std::string_view key, bool Layout::*field, bool usual) {
    if (layout.has(key)) return;
    result.*field = usual;
    assume(key, usual ? "true" : "false", job.framework.name);
  };
  overlap("overlap_grad_reduce", &Layout::overlap_grad_reduce, job.framework.defaults.overlap_grad_reduce);
  overlap("overlap_param_gather", &Layout::overlap_param_gather, job.framework.defaults.overlap_param_gather);
  overlap("tp_comm_overlap", &Layout::tp_comm_overlap, job.framework.defaults.tp_comm_overlap);
  return result;
}

}  // namespace meshwright::parallel
