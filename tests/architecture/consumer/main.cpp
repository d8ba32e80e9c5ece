// What a user's own program looks like: the step time of one layout.
#include <cstdio>

#include "meshwright/parallel/prediction.hpp"

int main() {
  using namespace meshwright;
  using namespace meshwright::everything;
  JobSpec spec{.model = "llama-3.1-8b", .seq_len = 8192, .global_batch = 128};
  spec.cluster = {.of = "dgx-h100", .nodes = 8};
  const Job job = make_job(spec, builtin_catalog());
  const Prediction p = predict(job, Layout{.tp = 2, .dp = 32});
  std::printf("%.3f s\n", p.step_time.value());
  return p.step_time.value() > 0.1 && p.step_time.value() < 100 ? 0 : 1;
}
