#include "meshwright/search/standings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/normal.hpp"
#include "meshwright/parallel/band.hpp"
#include "meshwright/search/counts.hpp"

namespace meshwright::search {
namespace {

constexpr double as_well = 0.2;  ///< probability of being faster from which a layout counts as alike

/// The layouts whose errors are known together.
class Field {
 public:
  Field(const Job& job, const SearchResult& result) : known_(own_knowledge(job)) {
    for (const Ranked& ranked : result.best) {
      if (ranked.prediction.layout.accelerators() == job.accelerators)
        layouts_.push_back(uncertainty(job, ranked.prediction.layout));
    }
  }
  std::size_t size() const { return layouts_.size(); }
  std::vector<double> expected_regrets() const { return parallel::expected_regrets(layouts_, known_); }
  /// Of log(a / b).
  double mean(std::size_t a, std::size_t b) const { return layouts_[a].log_time - layouts_[b].log_time; }
  double spread(std::size_t a, std::size_t b) const { return log_spread_of_ratio(layouts_[a], layouts_[b], known_); }
  /// Variance of log(a / b) that a run of m takes away.
  double told(std::size_t m, std::size_t a, std::size_t b) const {
    const auto with = [&](std::size_t i) {
      const double own = m == i ? layouts_[m].own * layouts_[m].own : 0;
      return covariance(layouts_[m], layouts_[i], known_) + own;
    };
    return std::pow(with(a) - with(b), 2) / std::pow(log_spread(layouts_[m], known_), 2);
  }

 private:
  Knowledge known_;
  std::vector<Uncertainty> layouts_;
};

std::size_t most_telling(const Field& field, const std::vector<std::size_t>& alike) {
  const auto told = [&](std::size_t m) {
    double sum = 0;
    for (const std::size_t other : alike) sum += other == alike.front() ? 0 : field.told(m, alike.front(), other);
    return sum;
  };
  return *std::ranges::max_element(alike, {}, told);
}

std::string in_words(const SearchResult& result, const Standings& s) {
  const auto layout = [&](std::size_t i) { return describe_layout(result.best[i].prediction.layout); };
  std::string others;
  for (std::size_t i = 1; i < s.alike.size(); ++i)
    others += fmt::format("{}{} ({:.0f} % that it is faster)", i == 1 ? "" : ", ", layout(s.alike[i]),
                          100 * s.layouts[s.alike[i]].beats_best);
  return fmt::format(
      "The recommended layout and {} can't be told apart: measure {}, which would tell most, and give "
      "the run to `meshwright calibrate runs`.",
      others, s.measure == 0 ? "the recommended one" : layout(s.measure));
}

}  // namespace

Standings standings(const Job& job, const SearchResult& result) {
  Standings out;
  if (result.best.empty()) return out;
  const Job used = with_accelerators(job, result.best.front().prediction.layout.accelerators());
  const Field field(used, result);
  if (field.size() != result.best.size()) return out;  // layouts of different accelerator counts
  out.layouts.resize(field.size());
  out.alike.push_back(0);
  const std::vector<double> regrets = field.expected_regrets();
  for (std::size_t i = 0; i < field.size(); ++i) {
    out.layouts[i].expected_regret = regrets[i];
    if (i == 0) continue;
    const double sd = field.spread(i, 0);
    out.layouts[i].beats_best = sd > 0 ? normal_distribution(-field.mean(i, 0) / sd) : 0;
    if (out.layouts[i].beats_best >= as_well) out.alike.push_back(i);
  }
  if (out.alike.size() == 1) {
    out.alike.clear();
    return out;
  }
  out.measure = most_telling(field, out.alike);
  out.words = in_words(result, out);
  return out;
}

}  // namespace meshwright::search
