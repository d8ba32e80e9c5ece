// What is said of a job: read from a file, and written back.
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/hardware/cluster_file.hpp"
#include "meshwright/hardware/schema.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/schema.hpp"
#include "meshwright/workload/schema.hpp"

namespace meshwright::parallel {
namespace {

/// A name, a path (read at once, so that a file and its words are the same) or an object.
ClusterSpec read_cluster(const Reader& cluster) {
  return cluster.is_object() ? read_cluster_spec(cluster) : cluster_spec_of(cluster.string(), cluster.where());
}

const Members<JobSpec>& job_members() {
  static const Members<JobSpec> rows = {
      needed<JobSpec>(
          {"model", "a preset, a config.json, or a model's members", shape::either({shape::text(), model_shape()})}),
      needed<JobSpec>({"cluster", "a cluster or node of the catalogue, a cluster file, or its members",
                       shape::either({shape::text(), cluster_shape()})}),
      {"nodes", "of the cluster that are used", shape::whole(1, largest_count)},
      {"gpus", "accelerators that are used: 64, \"16k\"", shape::size(1, largest_count)},
      needed<JobSpec>({"seq_len", "tokens a sequence: 8192, \"8k\"", shape::size(1, largest_count)}),
      {"document_len", "tokens of a document in packed sequences; seq_len by default", shape::whole(1, largest_count),
       [](const Reader& r, JobSpec& spec) { spec.document_len = r.integer(1, largest_count); }},
      needed<JobSpec>({"global_batch", "sequences a step: 2048, \"2k\"", shape::size(1, largest_count)}),
      text_member<&JobSpec::precision>("precision", "bf16, fp8, mxfp8, ...; bf16 by default"),
      text_member<&JobSpec::framework>("framework", "training stack; megatron-core by default"),
      text_member<&JobSpec::framework_version>("framework_version", "its release; the newest by default"),
      text_member<&JobSpec::overlay>("overlay", "an overlay that ships"),
      {"recipe", "how the stack trains, over its own defaults", recipe_shape(),
       [](const Reader& recipe, JobSpec& spec) { spec.recipe = recipe; }},
      {"collectives", "algorithms that are forced", collectives_shape(),
       [](const Reader& choices, JobSpec& spec) { spec.collectives = choices; }},
      {"moe_imbalance", "tokens of the busiest expert rank over the mean", shape::number(1, 1000),
       [](const Reader& imbalance, JobSpec& spec) { spec.moe_imbalance = imbalance.number(); }},
      {"layout", "degrees of every axis; missing: plan searches the best", layout_shape(),
       [](const Reader& layout, JobSpec& spec) { spec.layout = layout; }}};
  return rows;
}

}  // namespace

JsonSchema job_shape() { return shape_of(job_members()); }

JobSpec read_job_spec(const Reader& r) {
  JobSpec spec;
  read_members(r, job_members(), spec);
  const Reader model = r.at("model");
  spec.places.prefix = model.where().substr(0, model.where().size() - std::string_view("model").size());
  if (model.is_object()) {
    spec.shape = read_model(model);
  } else {
    spec.model = model.string();
  }
  spec.seq_len = read_size(r.at("seq_len"), 1, largest_count);
  spec.global_batch = read_size(r.at("global_batch"), 1, largest_count);
  const auto gpus = r.find("gpus");
  spec.cluster = narrowed(read_cluster(r.at("cluster")), r.integer_or("nodes", 0, 1, largest_count),
                          gpus ? read_size(*gpus, 1, largest_count) : 0, r.where());
  return spec;
}

std::string to_json(const JobSpec& spec) {
  using Json = nlohmann::ordered_json;
  Json object = Json::object();
  object["model"] = spec.shape ? Json::parse(model_json(*spec.shape)) : Json(spec.model);
  object["cluster"] = Json::parse(to_json(spec.cluster));
  object["seq_len"] = spec.seq_len;
  if (spec.document_len) object["document_len"] = *spec.document_len;
  object["global_batch"] = spec.global_batch;
  const auto put = [&](const char* key, const std::string& said) {
    if (!said.empty()) object[key] = said;
  };
  put("precision", spec.precision);
  put("framework", spec.framework);
  put("framework_version", spec.framework_version);
  put("overlay", spec.overlay);
  if (spec.moe_imbalance) object["moe_imbalance"] = *spec.moe_imbalance;
  if (spec.recipe) object["recipe"] = Json::parse(spec.recipe->dump());
  if (spec.collectives) object["collectives"] = Json::parse(spec.collectives->dump());
  if (spec.layout) object["layout"] = Json::parse(spec.layout->dump());
  return json_text(object);
}

}  // namespace meshwright::parallel
