// From a prediction to a run: what the arithmetic of estimate.cpp needs of a step.
#include <fmt/format.h>

#include <algorithm>

#include "meshwright/capacity/estimate.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::capacity {

StepFacts step_facts(const parallel::Job& job, const Layout& layout, const parallel::StepTime& time,
                     const parallel::Hidden& hidden) {
  const parallel::Groups groups = parallel::groups(layout, job.framework);
  Seconds far{};
  for (const parallel::StepField& field : parallel::step_fields()) {
    if (!field.communication || !over_network(job.cluster, groups.*field.group)) continue;
    far += time.*field.value;
    if (field.hidden != nullptr) far += hidden.*field.hidden;
  }
  const Seconds step = total(time), busy = time.compute + time.recompute + time.optimizer;
  StepFacts facts;
  facts.step = step;
  facts.compute = std::clamp(busy / step, 0.0, 1.0);
  facts.scale_out = std::clamp(far / step, 0.0, 1.0);
  return facts;
}

StepFacts step_facts(const parallel::Job& job, const parallel::Prediction& p) {
  StepFacts facts = step_facts(job, p.layout, p.time, p.hidden);
  facts.step = p.step_time;
  if (p.p10.value() > 0) facts.p10 = p.p10 / p.step_time;
  if (p.p90.value() > 0) facts.p90 = p.p90 / p.step_time;
  facts.model_flops = p.model_flops;
  return facts;
}

parallel::Prediction predict_with(const parallel::Job& job, const Layout& layout, const std::string& where) {
  if (const auto refused = parallel::violation(job, layout)) {
    throw Error(where, fmt::format("the layout {} cannot run sequences of {} with a batch of {}: {}",
                                   describe_layout(layout), job.seq_len, job.global_batch, refused->text()));
  }
  return parallel::predict(job, layout);
}

RunCase make_run(const hardware::Catalog& catalog, const parallel::Job& job, const parallel::Prediction& prediction,
                 const RunSchedule& schedule, const CheckpointChoice& checkpoint, const std::string& where) {
  const auto same_layout = [&](int seq_len, int global_batch) {
    if (seq_len == job.seq_len && global_batch == job.global_batch) return prediction;
    const parallel::Job other =
        parallel::with(job, [&](parallel::JobSpec& spec) { spec.seq_len = seq_len, spec.global_batch = global_batch; });
    return predict_with(other, prediction.layout, where);
  };
  return make_run(catalog, job, same_layout, schedule, checkpoint, where);
}

RunCase make_run(const hardware::Catalog& catalog, const parallel::Job& job, const PredictionOf& prediction,
                 const RunSchedule& schedule, const CheckpointChoice& checkpoint, const std::string& where) {
  RunCase run;
  run.site = make_site(catalog, job.cluster, job.accelerators);
  run.state = checkpoint_bytes(job, checkpoint);
  std::vector<StepFacts> facts;
  const auto step_of = [&](int seq_len, int global_batch) {
    facts.push_back(step_facts(job, prediction(seq_len, global_batch)));
    return facts.back().step;
  };
  run.time = run_time(schedule, step_of, where);
  // Each segment asked once; the longest stands for the run.
  Seconds longest{};
  for (std::size_t i = 0; i < run.time.segments.size(); ++i) {
    const Segment& s = run.time.segments[i];
    run.model_flops += flops_per_token(job.model, s.seq_len, FlopsConvention::causal) * s.tokens;
    const Seconds span = s.step_time * static_cast<double>(s.steps);
    if (span <= longest) continue;
    longest = span;
    run.step = facts[i];
  }
  return run;
}

}  // namespace meshwright::capacity
