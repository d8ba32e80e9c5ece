#include "meshwright/search/what_helps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "meshwright/hardware/platform.hpp"
#include "meshwright/search/counts.hpp"

namespace meshwright::search {
namespace {

constexpr double more = 1.1, less = 0.9;

void faster_matrices(Job& job) {
  for (FlopsPerSecond& rate : job.cluster.accelerator.peak_dense) rate *= more;
}
void faster_memory(Job& job) { job.cluster.accelerator.memory_bandwidth *= more; }
void faster_scale_up(Job& job) { job.cluster.node.scale_up_bandwidth *= more; }
void faster_network(Job& job) { job.cluster.node.nic_bandwidth *= more; }

void shorten(Rate& rate) { rate.step *= less; }
void shorten(Medium& medium) {
  medium.base *= less;
  for (Rate& rate : medium.ring) shorten(rate);
  medium.all_to_all.base *= less;
  for (Rate* rate : {&medium.in_switch, &medium.all_to_all.ll, &medium.all_to_all.simple, &medium.point_to_point}) {
    shorten(*rate);
  }
}
void shorter_latency(Job& job) {
  Platform platform = platform_of(job.cluster);
  for (Medium* medium : {&platform.scale_up, &platform.host, &platform.scale_out}) {
    shorten(*medium);
    std::erase_if(job.cluster.media, [&](const Medium& m) { return m.name == medium->name; });
    job.cluster.media.push_back(*medium);
  }
}

struct Lever {
  std::string_view what, change;
  void (*apply)(Job&);
};
constexpr std::array levers = {
    Lever{"compute", "+10 % matrix rate", faster_matrices}, Lever{"memory bandwidth", "+10 %", faster_memory},
    Lever{"scale-up bandwidth", "+10 %", faster_scale_up}, Lever{"network bandwidth", "+10 %", faster_network},
    Lever{"latency", "-10 % on every link", shorter_latency}};

Help larger_batch(const Job& job, const Layout& layout, Seconds now) {
  const int unit = layout.dp * layout.micro_batch * layout.pp;
  const int batch = std::max(1, static_cast<int>(more * job.global_batch / unit + 0.5)) * unit;
  const int larger = batch > job.global_batch ? batch : job.global_batch + unit;
  const Seconds then = predict(with_global_batch(job, larger), layout).step_time;
  return {"batch", fmt::format("global batch {} instead of {}", larger, job.global_batch), then,
          larger / then.value() / (job.global_batch / now.value()) - 1};
}

}  // namespace

std::vector<Help> what_helps(const Job& job, const Layout& layout) {
  const Seconds now = predict(job, layout).step_time;
  std::vector<Help> helps;
  for (const Lever& lever : levers) {
    Job better = job;
    lever.apply(better);
    const Seconds then = predict(better, layout).step_time;
    helps.push_back({std::string(lever.what), std::string(lever.change), then, now / then - 1});
  }
  helps.push_back(larger_batch(job, layout, now));
  std::stable_sort(helps.begin(), helps.end(), [](const Help& a, const Help& b) { return a.gain > b.gain; });
  return helps;
}

}  // namespace meshwright::search
