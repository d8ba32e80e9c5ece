#include "capacity/sweep.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/crew.hpp"
#include "meshwright/capacity/store.hpp"

namespace meshwright::capacity {
namespace {

/// Results as they come from any thread, in the store too; on disk when the caller's thread commits.
class Collected {
 public:
  Collected(const Scenario& scenario, const hardware::Catalog& catalog, const std::string& path) : scenario_(scenario) {
    if (path.empty()) return;
    store_.emplace(path, store_key(scenario, catalog));
    store_->each([&](std::uint64_t, const std::string& line) { results_.push_back(read_result(line, scenario)); });
  }

  std::vector<std::uint64_t> missing() const {
    std::vector<bool> there(scenario_.point_count(), false);
    for (const Result& r : results_) there[r.index] = true;
    std::vector<std::uint64_t> open;
    for (std::uint64_t i = 0; i < there.size(); ++i) {
      if (!there[i]) open.push_back(i);
    }
    return open;
  }
  void add(Result result) {
    const std::lock_guard lock(mutex_);
    if (store_) store_->add(result.index, to_json(result, scenario_));
    results_.push_back(std::move(result));
  }
  /// How many there are, all of them kept.
  std::uint64_t commit() {
    const std::lock_guard lock(mutex_);
    if (store_) store_->commit();
    return results_.size();
  }
  /// What there is, if the store still takes it: the error that ended the sweep is the one to tell.
  void keep() noexcept {
    try {
      commit();
    } catch (...) {
      return;
    }
  }
  std::vector<Result> in_order() {
    std::ranges::sort(results_, {}, &Result::index);
    return std::move(results_);
  }

 private:
  const Scenario& scenario_;
  std::optional<Store> store_;
  std::vector<Result> results_;
  std::mutex mutex_;
};

}  // namespace

Swept sweep(const Scenario& scenario, const hardware::Catalog& catalog, const WhatIfOptions& options,
            const std::shared_ptr<PlanCache>& plans) {
  const std::uint64_t total = scenario.point_count();
  Collected collected(scenario, catalog, options.store);
  const std::vector<std::uint64_t> open = collected.missing();
  const int cores =
      options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int workers = std::max(1, std::min<int>(cores, static_cast<int>(open.size())));
  const int each = std::max(1, cores / workers);  // few points: their searches share what cores are left
  std::vector<std::unique_ptr<Planner>> planners(static_cast<std::size_t>(workers));
  const auto plan = [&](std::size_t worker, std::size_t index) {
    if (!planners[worker]) planners[worker] = std::make_unique<Planner>(scenario, catalog, plans);
    collected.add(result_of(scenario, planners[worker]->plan(open[index], each)));
  };
  const auto poll = [&](std::size_t) {
    const std::uint64_t done = collected.commit();
    return !options.progress || options.progress(done, total);
  };
  Swept swept;
  try {
    swept.interrupted = !share_work(open.size(), planners.size(), plan, poll);
  } catch (...) {
    collected.keep();
    throw;
  }
  collected.commit();
  swept.results = collected.in_order();
  return swept;
}

}  // namespace meshwright::capacity
