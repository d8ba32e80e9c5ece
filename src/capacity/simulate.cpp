#include "meshwright/capacity/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "capacity/random.hpp"

namespace meshwright::capacity {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct Snapshot {
  double progress = 0;  ///< useful work that it holds
  double durable = 0;   ///< wall time from which it can be restored
};

/// One run. `wall` and `progress` only grow between failures; a failure takes progress back.
class Player {
 public:
  Player(const Process& process, Random& random) : process_(process), random_(random) {
    rate_ = process.rate().value();
    saved_.resize(process.levels.size());
    pending_.resize(process.levels.size());
    due_.resize(process.levels.size());
    for (std::size_t l = 0; l < due_.size(); ++l) due_[l] = process.levels[l].interval.value();
    draw_failure();
  }

  void play(double work) {
    while (progress_ < work) {
      const std::size_t level = next_level();
      const double target = level < due_.size() ? std::min(work, due_[level]) : work;
      if (!advance(target - progress_)) continue;
      progress_ = target;
      if (target < work) save(level);
    }
  }

  double wall() const { return wall_; }
  int interruptions() const { return interruptions_; }

 private:
  /// The level whose snapshot comes next; of several at once the rarest, which stands for the others.
  std::size_t next_level() const {
    std::size_t best = due_.size();
    for (std::size_t l = 0; l < due_.size(); ++l) {
      if (best == due_.size() || due_[l] <= due_[best] + 1e-9) best = l;
    }
    return best;
  }

  /// Lets `span` of wall time pass; false where a failure came first, which is then dealt with.
  bool advance(double span) {
    if (wall_ + span <= failure_) {
      wall_ += span;
      return true;
    }
    wall_ = failure_;
    recover();
    return false;
  }

  void save(std::size_t level) {
    if (!advance(process_.levels[level].blocking.value())) return;
    for (std::size_t l = 0; l <= level; ++l) {
      if (due_[l] > progress_ + 1e-9) continue;
      due_[l] = progress_ + process_.levels[l].interval.value();
      if (l == level) pending_[l].push_back({progress_, wall_ + process_.levels[l].lag.value()});
    }
  }

  void settle() {
    for (std::size_t l = 0; l < pending_.size(); ++l) {
      for (const Snapshot& s : pending_[l]) {
        if (s.durable <= wall_) saved_[l] = std::max(saved_[l], s.progress);
      }
      pending_[l].clear();
    }
  }

  void recover() {
    settle();
    int level = 0;
    for (bool done = false; !done;) {
      const FailureClass& f = draw_class();
      ++interruptions_;
      level = std::max(level, std::clamp(f.level, 0, std::max(0, static_cast<int>(saved_.size()) - 1)));
      draw_failure();
      done = wall_ + f.down.value() <= failure_;
      wall_ = done ? wall_ + f.down.value() : failure_;
    }
    progress_ = 0;
    for (std::size_t l = static_cast<std::size_t>(level); l < saved_.size(); ++l)
      progress_ = std::max(progress_, saved_[l]);
    // What was saved after the point to which the run went back is of no use any more.
    for (std::size_t l = 0; l < saved_.size(); ++l) {
      saved_[l] = std::min(saved_[l], progress_);
      due_[l] = std::max(progress_, saved_[l] + process_.levels[l].interval.value());
    }
  }

  const FailureClass& draw_class() {
    double left = random_.uniform() * rate_;
    for (const FailureClass& f : process_.failures) {
      left -= f.rate.value();
      if (left < 0) return f;
    }
    return process_.failures.back();
  }

  void draw_failure() { failure_ = rate_ > 0 ? wall_ + random_.exponential() / rate_ : never; }

  const Process& process_;
  Random& random_;
  double rate_ = 0, wall_ = 0, progress_ = 0, failure_ = never;
  int interruptions_ = 0;
  std::vector<double> saved_, due_;
  std::vector<std::vector<Snapshot>> pending_;
};

Estimate estimate(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  const double mean = sum / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, 1.96 * std::sqrt(squares / (n - 1) / n)};
}

}  // namespace

SimulatedRun simulate(const Process& process, Seconds work, int replicas, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> goodput, wall, interruptions;
  for (int i = 0; i < std::max(2, replicas); ++i) {
    Player player(process, random);
    player.play(work.value());
    goodput.push_back(work.value() / player.wall());
    wall.push_back(player.wall());
    interruptions.push_back(player.interruptions());
  }
  return {estimate(goodput), estimate(wall), estimate(interruptions)};
}

}  // namespace meshwright::capacity
