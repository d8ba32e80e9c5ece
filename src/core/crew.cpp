#include "core/crew.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace meshwright {
namespace {

using namespace std::chrono_literals;

struct Shared {
  std::atomic<std::size_t> next = 0, done = 0;
  std::atomic<bool> ended = false;
  std::mutex mutex;
  std::condition_variable left;
  std::atomic<std::size_t> working = 0;
  std::exception_ptr error;

  void fail(std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    if (!error) error = std::move(why);
    ended = true;
  }
};

}  // namespace

bool share_work(std::size_t count, std::size_t workers, const std::function<void(std::size_t, std::size_t)>& body,
                const std::function<bool(std::size_t)>& poll) {
  Shared shared;
  const auto polled = [&] {
    if (!poll(shared.done)) shared.ended = true;
  };
  const auto work = [&](std::size_t worker) {
    try {
      while (!shared.ended) {
        const std::size_t index = shared.next++;
        if (index >= count) break;
        body(worker, index);
        ++shared.done;
        if (worker == 0) polled();
      }
    } catch (...) {
      shared.fail(std::current_exception());
    }
  };
  std::vector<std::jthread> threads;
  const auto leave = [&] {
    const std::lock_guard lock(shared.mutex);
    --shared.working;
    shared.left.notify_one();
  };
  threads.reserve(workers);
  for (std::size_t worker = 1; worker < workers && worker < count; ++worker) {
    ++shared.working;
    try {
      threads.emplace_back([&, worker] {
        work(worker);
        leave();
      });
    } catch (const std::system_error&) {
      leave();  // the others do its part
      break;
    }
  }
  work(0);
  std::unique_lock lock(shared.mutex);
  while (!shared.left.wait_for(lock, 50ms, [&] { return shared.working == 0; })) {
    lock.unlock();
    try {
      polled();
    } catch (...) {
      shared.fail(std::current_exception());
    }
    lock.lock();
  }
  lock.unlock();
  threads.clear();
  if (shared.error) std::rethrow_exception(shared.error);
  return shared.done == count;
}

}  // namespace meshwright
