#include "meshwright/search/counts.hpp"

#include <fmt/format.h>

#include <set>

#include "meshwright/core/error.hpp"

namespace meshwright::search {

std::vector<int> accelerator_counts(const Job& job) {
  const Node& node = job.cluster.node;
  std::set<int> counts = {job.accelerators};
  const auto add_multiples = [&](long long unit) {
    for (const long long odd : {1, 3, 5, 7}) {
      for (long long count = odd * unit; unit > 0 && count <= job.accelerators; count *= 2) {
        counts.insert(static_cast<int>(count));
      }
    }
  };
  add_multiples(node.accelerators);
  add_multiples(node.scale_up_domain);
  for (int count = 1; count < node.accelerators && count <= job.accelerators; count *= 2) counts.insert(count);
  return {counts.begin(), counts.end()};
}

Job with_accelerators(const Job& job, int accelerators) {
  if (accelerators < 1 || accelerators > job.cluster.accelerators()) {
    throw Error("accelerators", fmt::format("found {}, expected 1 to {}", accelerators, job.cluster.accelerators()));
  }
  return with(job, [&](JobSpec& spec) { spec.cluster.accelerators = accelerators; });
}

Job with_more_nodes(const Job& job, int times) {
  const int node = job.cluster.node.accelerators, used = (job.accelerators + node - 1) / node;
  return with(job, [&](JobSpec& spec) { spec.cluster.nodes = used * times, spec.cluster.accelerators = 0; });
}

Job with_global_batch(const Job& job, int global_batch) {
  return with(job, [&](JobSpec& spec) { spec.global_batch = global_batch; });
}

}  // namespace meshwright::search
