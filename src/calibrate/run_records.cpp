#include "meshwright/calibrate/run_records.hpp"

#include <algorithm>

#include "calibrate/measured.hpp"
#include "calibrate/record_flags.hpp"
#include "calibrate/run_layout.hpp"
#include "core/embedded.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/memory.hpp"

namespace meshwright::calibrate {
namespace {

void read_measured(const Reader& record, RunRecord& run) {
  const Reader measured = record.at("measured");
  run.measured.step_time = measured_step_time(measured, run.job);
  run.measured.peak_memory = measured_peak(measured);
  if (const auto mfu = measured.find("mfu")) run.measured.mfu = measured_number(*mfu, most_mfu);
  if (!run.measured.step_time) run.skipped = "nothing measured that a step time follows from";
}

/// "cluster" of a record as what it says; zero or null = not said.
ClusterSpec cluster_of_record(const Reader& r, const Catalog& catalog) {
  ClusterSpec spec{.accelerators = r.at("count").integer(1, largest_data_degree), .where = r.where()};
  NodeSpec& node = spec.node;
  node.where = spec.where;
  node.accelerator = r.at("accelerator").string();
  const auto say = [&](std::optional<int>& field, std::string_view key, int most) {
    if (const int value = r.integer_or(key, 0, 0, most); value > 0) field = value;
  };
  say(node.accelerators, "node_size", 4096);
  say(node.scale_up_domain, "scale_up_domain", largest_domain);
  say(node.nics, "nics_per_node", 1024);
  constexpr double most_gbps = 1e6;
  if (const auto gbps = r.find("nic_gbps"); gbps && gbps->number() != 0)
    node.nic_bandwidth = BytesPerSecond::base(measured_number(*gbps, most_gbps) * 1.25e8);
  if (const std::string words = r.string_or("fabric", ""); !words.empty()) {
    const FabricKind* kind = catalog.fabric_in(words);
    node.fabric = kind != nullptr ? kind->name : words;
  }
  return spec;
}

/// The profile of the record's stack; of any stack where no profile knows it.
std::string known_profile(RunRecord& run, JobSpec& spec, const Catalog& catalog) {
  const std::string profile = profile_of(run.framework, spec.framework_version, spec.date);
  try {
    return parallel::framework(profile, spec.places.of("framework"), catalog).name;
  } catch (const UnknownName&) {
    run.unknown_stack = true;
    spec.assumptions.push_back("framework: '" + profile + "' is known to no profile; figures of any stack");
    return "generic";
  }
}

/// The job of a record. What its source does not say was recomputed, of a job that ran: everything where less does not
/// fit.
Job job_of(JobSpec& spec, const Catalog& catalog, bool recompute_open, Layout& layout) {
  Job job = make_job(spec, catalog);
  if (!recompute_open || plannable(parallel::memory_constants(job), parallel::memory(job, layout))) return job;
  layout.recompute = Recompute::full;
  std::erase_if(spec.assumptions, [](const std::string& sentence) { return sentence.starts_with("recompute: "); });
  spec.assumptions.emplace_back("recompute: full (not recorded; less does not fit)");
  return make_job(spec, catalog);
}

void read_job_of_record(const Reader& record, const Catalog& catalog, RunRecord& run) {
  std::string why;
  const auto model = model_of_record(record.at("model"), why);
  if (!model) {
    run.skipped = why;
    return;
  }
  const Reader cluster = record.at("cluster"), layout = record.at("layout");
  if (!cluster.has("count")) {
    run.skipped = "number of accelerators not published";
    return;
  }
  JobSpec spec{.shape = *model, .cluster = cluster_of_record(cluster, catalog)};
  spec.places.prefix = layout.where() + "/";
  spec.seq_len = record.at("seq_len").integer(1, largest_data_degree);
  RecordedStack said = recorded_stack(record);
  spec.framework_version = said.version, spec.date = said.date;
  spec.framework = known_profile(run, spec, catalog);
  spec.precision = said.precision;
  spec.overlay = record.string_or("overlay", overlay_of_set(run.set));
  if (const auto documents = documents_of(run.set, said.task, said.version)) {
    spec.document_len = std::min(*documents, spec.seq_len);
  }
  const RecordFlags flags = flags_of_record(record);
  spec.recipe = flags.recipe;
  said.name = run.framework;
  const UsualChoices& usual = usual_choices(said);
  run.family = usual.family;
  if (why = resolve_degrees(record, usual, spec, run.layout); !why.empty()) {
    run.skipped = why;
    return;
  }
  resolve_choices(record, usual, flags.layout, spec, run.layout);
  try {
    run.job = job_of(spec, catalog, usual.recompute_to_fit && !layout.has("recompute"), run.layout);
  } catch (const Error& error) {
    run.skipped = error.what_happened();  // a device, fabric or format that is not known, or lacking
    return;
  }
  run.layout.stage_split = usual_stage_split(run.job.model.layers, run.job.framework, run.layout.pp, run.layout.vp);
  run.lightest = lightest_layout(record, flags.layout, run.layout);
}

void read_into(const Reader& record, const Catalog& catalog, RunRecord& run) {
  run.id = record.at("id").string();
  run.set = record.string_or("set", "");
  run.tuned = tuned_by_vendor(run.set);
  run.tier = record.string_or("tier", "");
  const RecordedStack said = recorded_stack(record);
  run.task = said.task, run.framework = said.name;
  run.accelerator = record.at("cluster").at("accelerator").string();
  if (const auto extra = record.find("extra")) run.state = extra->string_or("state", "");
  read_job_of_record(record, catalog, run);
  if (!run.skipped) read_measured(record, run);
}

}  // namespace

std::vector<Reader> published_runs() {
  std::vector<Reader> records;
  for (const EmbeddedFile& file : embedded_runs()) {
    std::string_view text = file.content;
    for (int line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string name = "data/runs/" + std::string(file.name) + ":" + std::to_string(line);
      if (end > 0) records.push_back(Reader::text(text.substr(0, end), name));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  return records;
}

double fits_probability(const RunRecord& run) {
  const double resolved = parallel::fits_probability(run.job, memory(run.job, run.layout));
  if (!run.lightest) return resolved;
  return (resolved + parallel::fits_probability(run.job, memory(run.job, *run.lightest))) / 2;
}

bool is_run_record(const Reader& record) {
  // A job file states its batch beside its layout, a record in it.
  return record.is_object() && record.has("model") && record.has("cluster") && record.has("layout") &&
         record.has("measured") && !record.has("global_batch");
}

RunRecord read_run_record(const Reader& record, const Catalog& catalog) {
  RunRecord run;
  try {
    read_into(record, catalog, run);
  } catch (const UnknownName& unknown) {
    run.skipped = unknown.what_happened();
  }
  return run;
}

}  // namespace meshwright::calibrate
