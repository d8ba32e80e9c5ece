#include "capacity/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "meshwright/capacity/store.hpp"

namespace meshwright::capacity {
namespace {

/// What the threads share: the next point to take, results that wait to be collected, the first error.
class Queue {
 public:
  explicit Queue(std::vector<std::uint64_t> points) : points_(std::move(points)) {}

  std::optional<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    if (stopped_ || next_ >= points_.size()) return {};
    return points_[next_++];
  }
  void done(Result result) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(result));
    changed_.notify_one();
  }
  void failed(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    stopped_ = true;
    changed_.notify_one();
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --workers_;
    changed_.notify_one();
  }
  void enter() { ++workers_; }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  /// Results that came since the last call, waiting a little for the first; `over` once no worker is left.
  std::deque<Result> collect(bool& over) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return !ready_.empty() || workers_ == 0; });
    over = workers_ == 0;
    return std::exchange(ready_, {});
  }
  std::exception_ptr error() const { return error_; }

 private:
  std::vector<std::uint64_t> points_;
  std::size_t next_ = 0;
  int workers_ = 0;
  bool stopped_ = false;
  std::deque<Result> ready_;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// Whatever ends the sweep: points that wait are not taken any more.
class Stopped {
 public:
  explicit Stopped(Queue& queue) : queue_(queue) {}
  ~Stopped() { queue_.stop(); }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

 private:
  Queue& queue_;
};

void work(const Scenario& scenario, const hardware::Catalog& catalog, const std::shared_ptr<PlanCache>& plans,
          int threads_each, Queue& queue) {
  try {
    Planner planner(scenario, catalog, plans);
    while (const auto point = queue.take()) queue.done(result_of(scenario, planner.plan(*point, threads_each)));
  } catch (...) {
    queue.failed(std::current_exception());
  }
  queue.leave();
}

}  // namespace

Swept sweep(const Scenario& scenario, const hardware::Catalog& catalog, const WhatIfOptions& options,
            const std::shared_ptr<PlanCache>& plans) {
  const std::uint64_t total = scenario.point_count();
  std::optional<Store> store;
  Swept swept;
  if (!options.store.empty()) {
    store.emplace(options.store, store_key(scenario, catalog));
    store->each([&](std::uint64_t, const std::string& line) { swept.results.push_back(read_result(line, scenario)); });
  }
  std::vector<bool> there(total, false);
  for (const Result& r : swept.results) there[r.index] = true;
  std::vector<std::uint64_t> open;
  for (std::uint64_t i = 0; i < total; ++i) {
    if (!there[i]) open.push_back(i);
  }
  const int cores =
      options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int workers = std::max(1, std::min<int>(cores, static_cast<int>(open.size())));
  Queue queue(std::move(open));
  std::vector<std::jthread> threads;
  const Stopped at_the_end(queue);
  for (int i = 0; i < workers; ++i) {
    queue.enter();
    // Few points: their searches share what cores are left.
    threads.emplace_back([&, each = std::max(1, cores / workers)] { work(scenario, catalog, plans, each, queue); });
  }
  for (bool over = false; !over;) {
    for (Result& result : queue.collect(over)) {
      if (store) store->add(result.index, to_json(result, scenario));
      swept.results.push_back(std::move(result));
    }
    if (store) store->commit();
    if (options.progress && !options.progress(swept.results.size(), total)) {
      queue.stop();
      swept.interrupted = true;
    }
  }
  threads.clear();
  if (queue.error()) std::rethrow_exception(queue.error());
  std::ranges::sort(swept.results, {}, &Result::index);
  return swept;
}

}  // namespace meshwright::capacity
