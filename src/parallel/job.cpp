#include "meshwright/parallel/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "meshwright/core/limits.hpp"
#include "meshwright/parallel/placement.hpp"
#include "parallel/complete_recipe.hpp"

namespace meshwright::parallel {

/// The one door to Job's constructor.
struct JobMaker {
  static Job make(JobParts parts) { return Job(std::make_shared<const JobParts>(std::move(parts))); }
  static JobParts parts(const Job& job) { return *job.parts_; }
};

namespace {

/// Makes the members of a job, collecting what had to be assumed.
class Making {
 public:
  Making(const JobSpec& spec, const Catalog& catalog) : spec_(spec), catalog_(catalog) { parts_.spec = spec; }

  JobParts run() {
    parts_.assumptions = spec_.assumptions;
    parts_.model = spec_.shape ? *spec_.shape : load_model(spec_.model, spec_.places.of("model"));
    check(parts_.model, spec_.places.of("model"));  // a program may have changed what a reader checked
    parts_.seq_len = count(spec_.seq_len, "seq_len");
    parts_.global_batch = count(spec_.global_batch, "global_batch");
    parts_.precision =
        workload::precision(or_usual(spec_.precision, "precision", "bf16"), spec_.places.of("precision"));
    choose_framework();
    choose_document();
    choose_imbalance();
    choose_cluster();
    check_precision();
    complete_recipe(parts_, spec_.recipe);
    choose_work_time();
    tell_of_offload();
    if (spec_.collectives) parts_.collectives = read_collective_choices(*spec_.collectives);
    if (spec_.layout) parts_.layout = complete_layout(*spec_.layout);
    return std::move(parts_);
  }

 private:
  void assume(std::string sentence) { parts_.assumptions.push_back(std::move(sentence)); }

  int count(int said, std::string_view member) const {
    if (said >= 1 && said <= largest_count) return said;
    throw Error(spec_.places.of(member), fmt::format("found {}, expected 1 to {}", said, largest_count));
  }

  std::string or_usual(const std::string& said, std::string_view member, std::string_view usual) {
    if (!said.empty()) return said;
    assume(fmt::format("{}: {} (default)", member, usual));
    return std::string(usual);
  }

  void choose_framework() {
    const std::string name = or_usual(spec_.framework, "framework", "megatron-core");
    ReleaseChoice choice;
    parts_.framework =
        parallel::framework(name, spec_.places.of("framework"), catalog_, spec_.framework_version, spec_.date, &choice);
    const std::string sentence =
        assumption(choice, parts_.framework.releases, parts_.framework.name, spec_.framework_version);
    if (!sentence.empty()) assume(sentence);
  }

  void choose_work_time() {
    const std::string trainable(trainable_names[static_cast<std::size_t>(parts_.recipe.trainable.kind)]);
    for (const WorkTime& work : parts_.framework.works) {
      if (work.model != parts_.model.name || work.seq_len != parts_.seq_len || work.trainable != trainable ||
          work.precision != parts_.precision.name)
        continue;
      parts_.framework.work_time = work.time;
      parts_.framework.work_memory = work.memory, parts_.framework.work_memory_spread = work.memory_spread;
      assume(fmt::format("steps of this model, sequence and format take {:.3g} times what their figures say (own runs)",
                         work.time));
      if (work.memory == 1 && work.memory_spread <= 0) continue;
      assume(
          fmt::format("activations, logits and buffers take {:.3g} times what operators keep (own runs)", work.memory));
    }
  }

  void tell_of_offload() {
    if (!parts_.recipe.offload.parameters && !parts_.recipe.offload.gradients) return;
    assume(
        "offload: shards of parameters and gradients cross the host link behind compute; the optimizer's update on the "
        "host has its time");
  }

  void choose_document() {
    const int documents = spec_.document_len.value_or(spec_.seq_len);
    if (documents < 1 || documents > spec_.seq_len) {
      throw Error(
          spec_.places.of("document_len"),
          fmt::format("found {}, expected tokens of a document, from 1 to seq_len {}", documents, spec_.seq_len));
    }
    parts_.document_len = documents;
  }

  void choose_imbalance() {
    constexpr double most = 1000;
    const std::string where = spec_.places.of("moe_imbalance");
    if (!spec_.moe_imbalance) {
      if (parts_.model.is_moe()) assume("moe_imbalance: 1, tokens spread evenly over experts (default)");
      return;
    }
    const double value = *spec_.moe_imbalance;
    if (!(value >= 1 && value <= most)) {
      throw Error(where, fmt::format("found {:g}, expected the busiest expert rank over the mean, from 1 to {:g}",
                                     value, most));
    }
    if (!parts_.model.is_moe() && value > 1)
      throw Error(where, fmt::format("found {:g}, {} has no experts", value, parts_.model.name));
    parts_.moe_imbalance = value;
  }

  void choose_cluster() {
    ClusterSpec cluster = spec_.cluster;
    if (cluster.nodes == 0 && cluster.accelerators == 0 && spec_.layout && spec_.layout->has("dp")) {
      cluster.accelerators = read_layout(*spec_.layout).accelerators();
      assume(fmt::format("gpus: {} (tp * cp * pp * dp of the layout)", cluster.accelerators));
    }
    parts_.cluster = complete(cluster, catalog_);
    parts_.accelerators = parts_.cluster.accelerators();
    const std::vector<std::string>& assumed = parts_.cluster.assumptions;
    parts_.assumptions.insert(parts_.assumptions.end(), assumed.begin(), assumed.end());
  }

  void check_precision() const {
    const Accelerator& device = parts_.cluster.accelerator;
    if (has_units_for(device, parts_.precision)) return;
    std::string valid;
    for (const Precision& p : precisions()) {
      if (has_units_for(device, p)) valid += (valid.empty() ? "" : ", ") + std::string(p.name);
    }
    throw Error(spec_.places.of("precision"), fmt::format("found {}, {} has no such matrix units; expected one of {}",
                                                          parts_.precision.name, device.name, valid));
  }

  /// A missing dp is what is left of the accelerators, missing overlaps are the stack's.
  Layout complete_layout(const Reader& layout) {
    Layout result = read_layout(layout);
    const auto assume_layout = [&](std::string_view key, const std::string& value, std::string_view why) {
      assume(fmt::format("layout {}: {} ({})", key, value, why));
    };
    if (!layout.has("dp")) {
      const long long others = static_cast<long long>(result.tp) * result.cp * result.pp;
      result.dp = static_cast<int>(std::max(1LL, parts_.accelerators / others));
      assume_layout("dp", std::to_string(result.dp), "accelerators / (tp * cp * pp)");
    }
    if (!layout.has("etp") && parts_.model.is_moe()) {
      result.etp = expert_tensor_parallel(result, parts_.framework);
      assume_layout(
          "etp", std::to_string(result.etp),
          fmt::format("{}: {}", parts_.framework.name, parts_.framework.defaults.experts_cut_by_tp ? "tp" : "1"));
    }
    if (!layout.has("cp_kind") && result.cp > 1) {
      result.cp_kind = context_kind(result, parts_.framework);
      assume_layout("cp_kind", std::string(result.cp_kind.name()), parts_.framework.name);
    }
    if (!layout.has("micro_batch")) assume_layout("micro_batch", "1", "default");
    if (!layout.has("zero_stage")) {
      result.zero_stage = std::min(result.zero_stage, parts_.framework.rules.max_zero_stage);
      assume_layout("zero_stage", std::to_string(result.zero_stage), "default");
    }
    if (!layout.has("recompute")) assume_layout("recompute", std::string(name(result.recompute)), "default");
    const auto overlap = [&](std::string_view key, bool Layout::*field, bool usual) {
      if (layout.has(key)) return;
      result.*field = usual;
      assume_layout(key, usual ? "true" : "false", parts_.framework.name);
    };
    overlap("overlap_grad_reduce", &Layout::overlap_grad_reduce,
            usual_grad_reduce(parts_.framework, result.zero_stage));
    overlap("overlap_param_gather", &Layout::overlap_param_gather,
            usual_param_gather(parts_.framework, result.zero_stage, result.overlap_grad_reduce));
    overlap("tp_comm_overlap", &Layout::tp_comm_overlap, parts_.framework.defaults.tp_comm_overlap);
    return result;
  }

  const JobSpec& spec_;
  const Catalog& catalog_;
  JobParts parts_;
};

void apply_figures(const FigureEdit& edit, JobParts& parts) {
  Figures figures{parts.cluster.accelerator, parts.cluster.node, parts.cluster.platform, parts.framework,
                  parts.collectives};
  edit(figures);
  parts.cluster.accelerator = std::move(figures.accelerator);
  parts.cluster.node = std::move(figures.node);
  parts.cluster.platform = std::move(figures.platform);
  parts.framework = std::move(figures.framework);
  parts.collectives = std::move(figures.collectives);
  parts.figure_edits.push_back(edit);
}

void slow_down(Medium& m, double factor) {
  m.base *= factor;
  for (Rate* rate :
       {&m.ring[0], &m.ring[1], &m.ring[2], &m.in_switch, &m.all_to_all.ll, &m.all_to_all.simple, &m.point_to_point})
    rate->step *= factor;
  m.all_to_all.base *= factor;
  m.all_to_all.fence *= factor;
}

}  // namespace

std::string Places::of(std::string_view member) const {
  std::string text = prefix + std::string(member);
  if (spelling == Spelling::flag) std::ranges::replace(text, '_', '-');
  return text;
}

Job::Job() : Job(std::make_shared<const JobParts>()) {}
Job::Job(std::shared_ptr<const JobParts> parts)
    : model(parts->model),
      cluster(parts->cluster),
      accelerators(parts->accelerators),
      seq_len(parts->seq_len),
      document_len(parts->document_len),
      global_batch(parts->global_batch),
      precision(parts->precision),
      framework(parts->framework),
      recipe(parts->recipe),
      collectives(parts->collectives),
      moe_imbalance(parts->moe_imbalance),
      assumptions(parts->assumptions),
      layout(parts->layout),
      spec(parts->spec),
      parts_(std::move(parts)) {}

Job& Job::operator=(const Job& other) {
  if (this == &other) return *this;
  const Job kept = other;  // `other` may live inside what is let go
  std::destroy_at(this);
  return *std::construct_at(this, kept);  // references can't be set anew
}

Job make_job(const JobSpec& spec, const Catalog& catalog) {
  if (spec.overlay.empty()) return JobMaker::make(Making(spec, catalog).run());
  return JobMaker::make(Making(spec, shipped_overlay(catalog, spec.overlay, spec.places.of("overlay"))).run());
}

Job read_job(const Reader& reader, const Catalog& catalog) { return make_job(read_job_spec(reader), catalog); }

Job with(const Job& job, const std::function<void(JobSpec&)>& edit) {
  JobSpec spec = job.spec;
  edit(spec);
  const Catalog own(job.cluster.catalog);  // with the overlay of `job`, if it has one
  const bool other = spec.overlay != job.spec.overlay && !spec.overlay.empty();
  JobParts parts = Making(spec, other ? shipped_overlay(own, spec.overlay, spec.places.of("overlay")) : own).run();
  for (const FigureEdit& figures : JobMaker::parts(job).figure_edits) apply_figures(figures, parts);
  return JobMaker::make(std::move(parts));
}

Job with_figures(const Job& job, FigureEdit edit) {
  JobParts parts = JobMaker::parts(job);
  apply_figures(edit, parts);
  return JobMaker::make(std::move(parts));
}

Job scaled(const Job& job, Resource resource, double factor) {
  return with_figures(job, [resource, factor](Figures& figures) {
    Accelerator& device = figures.accelerator;
    if (resource == Resource::compute) {
      for (FlopsPerSecond& peak : device.peak_dense) peak *= factor;
      for (AttentionEfficiency* a : {&device.efficiency.attention, &device.efficiency.attention_v2})
        a->softmax *= factor;
    }
    if (resource == Resource::nic_bandwidth) figures.node.nic_bandwidth *= factor;
    if (resource == Resource::scale_up_bandwidth) figures.node.scale_up_bandwidth *= factor;
    if (resource == Resource::memory_bandwidth) device.memory_bandwidth *= factor;
    if (resource == Resource::memory_capacity) device.memory_capacity *= factor;
    if (resource == Resource::latency) {
      for (Medium* m : {&figures.platform.scale_up, &figures.platform.host, &figures.platform.scale_out})
        slow_down(*m, factor);
    }
  });
}

}  // namespace meshwright::parallel
