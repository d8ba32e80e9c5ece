// The table of families: what the configuration class and the modelling code of each say about defaults, biases, norms.
#include "workload/huggingface.hpp"

namespace meshwright::workload {

const std::vector<Family>& families() {
  static const std::vector<Family> rows = [] {
    std::vector<Family> all;
    for (const auto& group : {llama_kin(), gemma_and_glm_kin(), gpt_kin(), mixture_kin()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return rows;
}

}  // namespace meshwright::workload
