// What is lost by a layout that is not the fastest, in the mean over what its prediction may be wrong by.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "meshwright/parallel/band.hpp"

namespace meshwright::parallel {
namespace {

constexpr int pairs = 2048;         ///< of draws, each with its mirror image
constexpr double rounding = 1e-12;  ///< of variances: layouts alike make the covariance singular

using Rows = std::vector<std::vector<double>>;

/// The lower root of the covariance of the logs of step times (Cholesky).
Rows root_of_covariance(std::span<const Uncertainty> layouts, const Knowledge& known) {
  const std::size_t n = layouts.size();
  Rows root(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = covariance(layouts[i], layouts[j], known) + (i == j ? layouts[i].own * layouts[i].own : 0);
      for (std::size_t k = 0; k < j; ++k) rest -= root[i][k] * root[j][k];
      if (i == j) {
        root[i][i] = std::sqrt(std::max(rest, rounding));
      } else {
        root[i][j] = rest / root[j][j];
      }
    }
  }
  return root;
}

/// Normal numbers that are the same on every machine (Box and Muller, 1958).
class Normals {
 public:
  double next() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  std::mt19937_64 random_{20240607};
};

}  // namespace

std::vector<double> expected_regrets(std::span<const Uncertainty> layouts, const Knowledge& known) {
  const std::size_t n = layouts.size();
  std::vector<double> losses(n, 0), drawn(n), logs(n);
  if (n < 2) return losses;
  const Rows root = root_of_covariance(layouts, known);
  Normals normals;
  for (int pair = 0; pair < pairs; ++pair) {
    for (double& value : drawn) value = normals.next();
    for (const double sign : {1.0, -1.0}) {
      for (std::size_t i = 0; i < n; ++i) {
        logs[i] = layouts[i].log_time;
        for (std::size_t k = 0; k <= i; ++k) logs[i] += sign * root[i][k] * drawn[k];
      }
      const double least = *std::ranges::min_element(logs);
      for (std::size_t i = 0; i < n; ++i) losses[i] += std::expm1(logs[i] - least);
    }
  }
  for (double& loss : losses) loss /= 2 * pairs;
  return losses;
}

}  // namespace meshwright::parallel
