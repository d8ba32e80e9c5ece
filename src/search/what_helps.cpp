#include "meshwright/search/what_helps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "meshwright/search/counts.hpp"

namespace meshwright::search {
namespace {

constexpr double more = 1.1, less = 0.9;

struct Lever {
  std::string_view what, change;
  Resource resource;
  double factor;
};
constexpr std::array levers = {Lever{"compute", "+10 % matrix rate", Resource::compute, more},
                               Lever{"memory bandwidth", "+10 %", Resource::memory_bandwidth, more},
                               Lever{"scale-up bandwidth", "+10 %", Resource::scale_up_bandwidth, more},
                               Lever{"network bandwidth", "+10 %", Resource::nic_bandwidth, more},
                               Lever{"latency", "-10 % on every link", Resource::latency, less}};

Help larger_batch(const Job& job, const Layout& layout, Seconds now) {
  const long long unit = 1LL * layout.dp * layout.micro_batch * layout.pp;
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
    const Seconds then = predict(scaled(job, lever.resource, lever.factor), layout).step_time;
    helps.push_back({std::string(lever.what), std::string(lever.change), then, now / then - 1});
  }
  helps.push_back(larger_batch(job, layout, now));
  std::stable_sort(helps.begin(), helps.end(), [](const Help& a, const Help& b) { return a.gain > b.gain; });
  return helps;
}

}  // namespace meshwright::search
