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

/// About a tenth more, which the layout can divide.
int more_sequences(const Job& job, const Layout& layout) {
  const long long unit = 1LL * layout.dp * layout.micro_batch * layout.pp;
  const int batch = std::max(1, static_cast<int>(more * job.global_batch / unit + 0.5)) * unit;
  return batch > job.global_batch ? batch : job.global_batch + unit;
}

Help of_batch(const Job& job, int batch, Seconds now, Seconds then) {
  return {"batch", fmt::format("global batch {} instead of {}", batch, job.global_batch), then,
          batch / then.value() / (job.global_batch / now.value()) - 1};
}

Help larger_batch(const Job& job, const Layout& layout, Seconds now) {
  const int batch = more_sequences(job, layout);
  return of_batch(job, batch, now, predict(with_global_batch(job, batch), layout).step_time);
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

std::optional<Help> larger_batch_anew(const Job& job, const Layout& layout, const SearchOptions& asked) {
  constexpr double worth_saying = 0.005;  // of the throughput
  const int batch = more_sequences(job, layout);
  const Job larger = with_global_batch(job, batch);
  const Seconds enough = (1 - worth_saying) * predict(larger, layout).step_time;
  SearchOptions options = best_only(asked);
  if (options.objective.is_step_time) options.below = enough.value();
  const SearchResult found = search(larger, options);
  if (found.best.empty() || found.interrupted) return std::nullopt;
  const Prediction& best = found.best.front().prediction;
  if (best.layout == layout || best.step_time > enough) return std::nullopt;
  Help help = of_batch(job, batch, predict(job, layout).step_time, best.step_time);
  help.what = "batch, layout anew";
  help.change += ": " + describe_layout(best.layout);
  help.layout = best.layout;
  return help;
}

}  // namespace meshwright::search
