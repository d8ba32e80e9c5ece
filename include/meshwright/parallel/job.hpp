#pragma once
// A job, and the way there: what a file, an option, a record or a program says of one (JobSpec) becomes everything that
// a prediction needs besides the layout (Job), by make_job() and by nothing else. A Job never changes; a variation is
// another description, made anew.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/collective_choices.hpp"
#include "meshwright/parallel/framework.hpp"
#include "meshwright/parallel/layout.hpp"
#include "meshwright/workload/precision.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::parallel {

/// How the members of a description are called in messages: "job.json:/seq_len", "--seq-len", "seq_len".
struct Places {
  enum class Spelling { member, flag };
  std::string prefix{};
  Spelling spelling = Spelling::member;
  std::string of(std::string_view member) const;
};

/// What is said of a job. What is left out gets a default, which is then among the job's assumptions.
struct JobSpec {
  std::string model{};                 ///< a preset or a path
  std::optional<Transformer> shape{};  ///< a model spelled out, in place of a name
  ClusterSpec cluster{};
  int seq_len = 0, global_batch = 0;  ///< tokens a sequence; sequences a step. No defaults
  /// Tokens of a document where sequences are packed: attention stays inside it. 1 to seq_len; nothing = seq_len.
  std::optional<int> document_len{};
  std::string precision{};                  ///< "" = bf16
  std::string framework{};                  ///< "" = megatron-core
  std::string framework_version{}, date{};  ///< the release, or when it ran; both "" = the newest
  std::string overlay{};                    ///< one that ships (data/overlays), over the catalogue; "" = none
  std::optional<Reader> recipe{};           ///< a "recipe" object, over that of the stack's release
  std::optional<Reader> collectives{};      ///< a "collectives" object: what is forced of the collective library
  std::optional<double> moe_imbalance{};    ///< busiest expert rank over the mean, 1 to 1000; nothing = 1
  std::optional<Reader> layout{};           ///< a "layout" object, whose defaults follow from the job
  std::vector<std::string> assumptions{};   ///< what whoever describes the job had to assume
  Places places{};
};

/// The figures of a job that fits move and what-ifs scale: what its device, its media and its stack are like, and the
/// rates of its nodes. What was chosen by them (switches, media) stays.
struct Figures {
  Accelerator accelerator;
  Node node;
  Platform platform;
  Framework framework;
  CollectiveChoices collectives;
};
using FigureEdit = std::function<void(Figures&)>;

/// The members of a job.
struct JobParts {
  Transformer model;
  Cluster cluster;
  int accelerators = 0;  ///< used: all of `cluster`
  int seq_len = 0;
  int document_len = 0;  ///< tokens that attend to one another: of a document in a packed sequence, else seq_len
  int global_batch = 0;  ///< sequences a step
  Precision precision;
  Framework framework;
  Recipe recipe;                         ///< complete: every part from the stack or said
  CollectiveChoices collectives;         ///< forced; nothing by default
  double moe_imbalance = 1;              ///< busiest expert rank over the mean
  std::vector<std::string> assumptions;  ///< every default that entered, the layout's included
  std::optional<Layout> layout;          ///< where one was described
  JobSpec spec;                          ///< what was said
  std::vector<FigureEdit> figure_edits;  ///< figures that stand in no catalogue, in the order of with_figures()
};

/// A job: cheap to copy, never changed.
class Job {
 public:
  Job();  ///< stands for no job
  Job(const Job&) = default;
  Job& operator=(const Job& other);
  ~Job() = default;

  const Transformer& model;
  const Cluster& cluster;
  const int& accelerators;
  const int& seq_len;
  const int& document_len;
  const int& global_batch;
  const Precision& precision;
  const Framework& framework;
  const Recipe& recipe;
  const CollectiveChoices& collectives;
  const double& moe_imbalance;
  const std::vector<std::string>& assumptions;
  const std::optional<Layout>& layout;
  const JobSpec& spec;

 private:
  explicit Job(std::shared_ptr<const JobParts> parts);
  friend struct JobMaker;
  std::shared_ptr<const JobParts> parts_;
};

/// {"model", "cluster", "nodes", "gpus", "seq_len", "document_len", "global_batch", "precision", "framework",
/// "framework_version", "overlay", "recipe", "collectives", "moe_imbalance", "layout"}; unknown keys are refused.
/// "model" and "cluster" are names, paths or objects.
JobSpec read_job_spec(const Reader& reader);
/// The object that read_job_spec() reads: what was said, and nothing else.
std::string to_json(const JobSpec& spec);

/// The job of which `spec` speaks. Where neither nodes nor accelerators are said, the layout's degrees say how many are
/// used; without a layout it is the whole cluster. Throws UnknownName for names that nothing is known of, Error for
/// numbers outside their range, more accelerators than there are, and formats or kernels that the accelerator lacks.
Job make_job(const JobSpec& spec, const Catalog& catalog);
/// make_job(read_job_spec(reader), catalog).
Job read_job(const Reader& reader, const Catalog& catalog);
/// The same job with something else said of it, made anew from the same catalogue.
Job with(const Job& job, const std::function<void(JobSpec&)>& edit);

/// The same job on figures that stand in no catalogue. The edit is kept and done again by with(): it must own what it
/// needs.
Job with_figures(const Job& job, FigureEdit edit);

/// What a machine has more or less of.
enum class Resource { compute, memory_bandwidth, memory_capacity, scale_up_bandwidth, nic_bandwidth, latency };
inline constexpr std::array<std::string_view, 6> resource_names = {
    "compute", "memory bandwidth", "memory capacity", "scale-up bandwidth", "NIC bandwidth", "latency"};
constexpr std::string_view name(Resource r) { return resource_names[static_cast<std::size_t>(r)]; }
/// The same job with so many times of a resource (latency: every start and hop of a collective takes so many times as
/// long). `factor` > 0.
Job scaled(const Job& job, Resource resource, double factor);

}  // namespace meshwright::parallel
