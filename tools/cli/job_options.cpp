#include "job_options.hpp"

#include <type_traits>

#include "command.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/hardware/cluster_file.hpp"

namespace meshwright::cli {
namespace {

/// The "collectives" object of a job file; nothing where nothing is forced.
std::optional<Reader> collectives_of(const JobOptions& o) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  if (o.nvls_off) object["nvls"] = false;
  if (o.sharp) object["sharp"] = true;
  for (std::string_view rest = o.algorithm; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    nlohmann::ordered_json& algorithm = object["algorithm"];
    if (equals == std::string_view::npos)
      algorithm = part;
    else if (algorithm.is_string())
      throw Error("--algo", "found a name for all collectives and one for one of them, expected either");
    else
      algorithm[std::string(part.substr(0, equals))] = part.substr(equals + 1);
  }
  if (object.empty()) return std::nullopt;
  return Reader::text(json_text(object), "--algo");
}

/// Without a file every job needs these.
void require_all(const JobOptions& o) {
  const auto require = [](bool said, const char* flag) {
    if (!said) throw Error(flag, "is missing; expected it, or a job file (see 'meshwright plan --help')");
  };
  require(!o.model.empty(), "--model");
  require(!o.cluster.empty(), "--cluster");
  require(o.global_batch > 0, "--global-batch");
  require(o.seq_len > 0, "--seq-len");
}

/// How many nodes or accelerators: what options say of either replaces both of the file.
struct Counts {
  int nodes = 0, gpus = 0;
  bool any() const { return nodes > 0 || gpus > 0; }
};

Counts counts_of(const Reader& job) {
  const auto gpus = job.find("gpus");
  return {job.integer_or("nodes", 0, 1, largest_count), gpus ? read_size(*gpus, 1, largest_count) : 0};
}

Reader without_counts(const Reader& job, const std::string& name) {
  if (!job.is_object()) return job;
  auto members = nlohmann::ordered_json::parse(job.dump());
  members.erase("nodes"), members.erase("gpus");
  return Reader::text(json_text(members), name);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& o) {
  command.add_option("job", o.job, "A job file; its layout is left open, and options replace its members")
      ->type_name("JOB.json")
      ->check(some_text());
  command.add_option("--model", o.model, "A preset (see 'model list') or a Hugging Face config.json")
      ->type_name("MODEL")
      ->check(some_text());
  command.add_option("--cluster", o.cluster, "A reference cluster, a cluster file, or a node name")
      ->type_name("CLUSTER")
      ->check(some_text());
  command.add_option("--nodes", o.nodes, "Nodes, with a node name")->check(whole_number(1, largest_count));
  command.add_option("--gpus", o.gpus, "Accelerators to use; all of the cluster by default")
      ->transform(whole_size(1, largest_count));
  command.add_option("--global-batch", o.global_batch, "Sequences a step: 2048, 2k")
      ->transform(whole_size(1, largest_count));
  command.add_option("--seq-len", o.seq_len, "Tokens a sequence: 8192, 8k")->transform(whole_size(1, largest_count));
  command.add_option("--document-len", o.document_len, "Tokens of a document in packed sequences; seq-len by default")
      ->transform(whole_size(1, largest_count));
  command.add_option("--precision", o.precision, "bf16, fp8, mxfp8, ...; bf16 by default")
      ->type_name("RECIPE")
      ->check(some_text());
  command.add_option("--framework", o.framework, "Training stack; megatron-core by default")
      ->type_name("NAME")
      ->check(some_text());
  command.add_option("--framework-version", o.framework_version, "Its release; the newest by default")
      ->type_name("VERSION")
      ->check(some_text());
  command
      .add_option("--moe-imbalance", o.moe_imbalance, "Tokens of the busiest expert rank over the mean; 1 by default")
      ->check(decimal_number(1, 1000));
  command.add_option("--algo", o.algorithm, "Collective algorithm: ring, or all_reduce=tree,all_gather=ring")
      ->check(some_text());
  command.add_flag("--no-nvls", o.nvls_off, "As with NCCL_NVLS_ENABLE=0");
  command.add_flag("--sharp", o.sharp, "As with NCCL_COLLNET_ENABLE=1: reduction in the network's switches");
}

JobSpec job_spec(const JobOptions& o) {
  JobSpec spec{.places = {"--", Places::Spelling::flag}};
  Counts counts{o.nodes, o.gpus};
  if (o.job.empty()) {
    require_all(o);
  } else {
    const Reader file = Reader::file(o.job);
    spec = read_job_spec(counts.any() ? without_counts(file, o.job) : file);
    if (!counts.any() && !o.cluster.empty()) counts = counts_of(file);  // as many of another cluster
  }
  const auto put = [](const auto& said, auto& member) {
    if (said != std::remove_cvref_t<decltype(said)>{}) member = said;
  };
  if (!o.model.empty()) spec.model = o.model, spec.shape.reset();
  if (!o.cluster.empty()) spec.cluster = cluster_spec_of(o.cluster, "--cluster");
  const std::string of_file = o.cluster.empty() ? o.job : o.cluster;
  spec.cluster = narrowed(std::move(spec.cluster), counts.nodes, counts.gpus, of_file);
  put(o.seq_len, spec.seq_len), put(o.global_batch, spec.global_batch);
  put(o.precision, spec.precision), put(o.framework, spec.framework);
  if (!o.framework.empty()) spec.framework_version.clear();
  put(o.framework_version, spec.framework_version);
  if (std::optional<Reader> forced = collectives_of(o)) spec.collectives = std::move(forced);
  if (o.document_len > 0) spec.document_len = o.document_len;
  if (o.moe_imbalance > 0) spec.moe_imbalance = o.moe_imbalance;
  return spec;
}

}  // namespace meshwright::cli
