#include "meshwright/parallel/groups.hpp"

#include <algorithm>

namespace meshwright::parallel {

Groups groups(const Layout& l) noexcept {
  const int replicas = l.dp * l.cp;
  const int experts = std::max(1, l.ep) * std::max(1, l.etp);
  const int shard = l.zero_stage == 3 && l.hsdp_shard > 0 ? std::min(l.hsdp_shard, replicas) : replicas;
  return {.tensor = {l.tp, 1},
          .context = {l.cp, l.tp},
          .expert = {l.ep, std::max(1, l.etp)},
          .pipeline = {l.pp, l.tp * replicas},
          .data = {replicas, l.tp},
          .expert_data = {std::max(1, replicas * l.tp / experts), experts},
          .shard = {shard, l.tp},
          .replica = {std::max(1, replicas / shard), l.tp * shard}};
}

}  // namespace meshwright::parallel
