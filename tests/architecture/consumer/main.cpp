// What a user's own program looks like: the step time of one layout.
#include <cstdio>

#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/prediction.hpp"

int main() {
  using namespace meshwright;
  using namespace meshwright::everything;
  const Catalog& catalog = builtin_catalog();
  Job job;
  job.model = load_model("llama-3.1-8b");
  job.cluster = make_cluster(catalog, "dgx-h100", 8);
  job.accelerators = 64;
  job.seq_len = 8192;
  job.global_batch = 128;
  job.precision = precision("bf16", "precision");
  job.framework = framework("megatron-core", "framework");
  complete_recipe(job);
  const Prediction p = predict(job, Layout{.tp = 2, .dp = 32});
  std::printf("%.3f s\n", p.step_time.value());
  return p.step_time.value() > 0.1 && p.step_time.value() < 100 ? 0 : 1;
}
