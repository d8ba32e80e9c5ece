// What is said of a job: read from a file, and written back.
#include <nlohmann/json.hpp>

#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {
namespace {

constexpr int largest_count = 1 << 24;

/// A name, a path (read at once, so that a file and its words are the same) or an object.
ClusterSpec read_cluster(const Reader& cluster) {
  if (cluster.is_object()) return read_cluster_spec(cluster);
  const std::string name = cluster.string();
  if (name.ends_with(".json")) return read_cluster_spec(Reader::file(name));
  return {.of = name, .where = cluster.where()};
}

}  // namespace

JobSpec read_job_spec(const Reader& r) {
  r.allow_only({"model", "cluster", "nodes", "gpus", "seq_len", "document_len", "global_batch", "precision",
                "framework", "framework_version", "overlay", "recipe", "collectives", "moe_imbalance", "layout"});
  JobSpec spec;
  const Reader model = r.at("model");
  spec.places.prefix = model.where().substr(0, model.where().size() - std::string_view("model").size());
  if (model.is_object()) {
    spec.shape = read_model(model);
  } else {
    spec.model = model.string();
  }
  spec.seq_len = r.at("seq_len").integer(1, largest_count);
  if (const auto documents = r.find("document_len")) spec.document_len = documents->integer(1, largest_count);
  spec.global_batch = r.at("global_batch").integer(1, largest_count);
  spec.precision = r.string_or("precision", "");
  spec.framework = r.string_or("framework", "");
  spec.framework_version = r.string_or("framework_version", "");
  spec.overlay = r.string_or("overlay", "");
  if (const auto imbalance = r.find("moe_imbalance")) spec.moe_imbalance = imbalance->number();
  spec.cluster = narrowed(read_cluster(r.at("cluster")), r.integer_or("nodes", 0, 1, largest_count),
                          r.integer_or("gpus", 0, 1, largest_count), r.where());
  spec.recipe = r.find("recipe");
  spec.collectives = r.find("collectives");
  spec.layout = r.find("layout");
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
  return object.dump();
}

}  // namespace meshwright::parallel
