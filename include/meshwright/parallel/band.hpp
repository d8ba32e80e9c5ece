#pragma once
// How far a prediction is to be trusted: its evidence, the band that follows from how far measured steps lie from
// predicted ones, and how the errors of two layouts go together.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/spread.hpp"

namespace meshwright::parallel {

/// Multiples of the predicted time that 10 % and 90 % of measured runs lie under.
struct Band {
  double low = 1, high = 1;
};

/// The weakest evidence among what the job's time rests on: GEMM, attention and memory rates of the device, and the
/// media of its links.
Evidence evidence_of(const Job& job);

/// What own runs told of figures ("device H100-SXM5-80GB gemm.bf16.sustained"), the covariance of their logs, row by
/// row, and of layouts like those that ran.
struct Knowledge {
  std::vector<std::string> figures;
  std::vector<double> covariance;
  Discrepancy discrepancy{};
  bool empty() const { return figures.empty(); }
};
/// What the overlay that the job was made with says of own runs (`own_runs` of the last entry of its "frameworks" that
/// has some); nothing without one.
std::optional<Reader> own_runs_of(const Job& job);
/// The knowledge in it; empty without one.
Knowledge own_knowledge(const Job& job);
Knowledge read_knowledge(const Reader& own_runs);

/// A figure that a step time rests on.
struct Doubt {
  std::string owner, field;
  double slope = 0;     ///< d log(step time) / d log(figure)
  double error = 0;     ///< standard error of the figure's log in the fit to published runs
  double variance = 0;  ///< of the figure's log without own runs: that error, and how far sites lie apart
  std::string figure() const { return owner + " " + field; }
};

/// What a step time may be wrong by, figure by figure.
struct Uncertainty {
  std::vector<Doubt> doubts;
  double own = 0;       ///< standard deviation of what no figure explains, of one layout alone
  double log_time = 0;  ///< log of the step time in seconds
  Place place{};        ///< whose errors layouts alike share, by
  Likeness likeness{};
};

/// Slopes by predicting again with each figure moved; variances of figures whose fit has an error by that, of others by
/// their row in run_fields(), and by how far sites lie apart. What is common to all layouts of a job is a figure too.
Uncertainty uncertainty(const Job& job, const Layout& layout, const Spread& spread = published_spread());
/// The same with traits that the job does not say.
Uncertainty uncertainty(const Job& job, const Layout& layout, const Spread& spread, const Traits& traits);

/// Covariance of the logs of two step times by the figures that both rest on, and by how alike their layouts are.
double covariance(const Uncertainty& a, const Uncertainty& b, const Knowledge& known);
/// Standard deviation of the log of a step time.
double log_spread(const Uncertainty& u, const Knowledge& known);
/// Of the log of the ratio of two step times of one job: what both share cancels.
double log_spread_of_ratio(const Uncertainty& a, const Uncertainty& b, const Knowledge& known);

/// What is lost in the mean by each of several layouts of one job against the fastest of them, E[t / least t] - 1, with
/// errors that go together as above. By 4,096 draws that are the same every time.
std::vector<double> expected_regrets(std::span<const Uncertainty> layouts, const Knowledge& known);

/// Without own runs by what holds of the job (published_spread()), with them by the figures that they told.
Band band_of(const Job& job, const Layout& layout);
Band band_of(double log_spread, const Tails& tails);
/// Multiples of the predicted peak of device memory, by what holds of the job.
Band memory_band(const Job& job);
/// The probability that what is measured stays below so many times the prediction: a normal distribution of the log on
/// either side, of which the band says how wide.
double below(const Band& band, double times) noexcept;

}  // namespace meshwright::parallel
