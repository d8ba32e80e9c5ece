#pragma once
// How far a prediction is to be trusted: its evidence, the band that follows from how far measured steps lie from
// predicted ones, and how the errors of two layouts go together.
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

/// What own runs told of figures ("device H100-SXM5-80GB gemm.bf16.sustained"): the covariance of their logs, row by
/// row.
struct Knowledge {
  std::vector<std::string> figures;
  std::vector<double> covariance;
  bool empty() const { return figures.empty(); }
};
/// That of the overlay that the job was made with (`own_runs` of an entry of its "frameworks"); empty without one.
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
  double own = 0, shared = 0;  ///< standard deviations of what no figure explains: of one layout, of all of the job
  double log_time = 0;         ///< log of the step time in seconds
};

/// Slopes by predicting again with each figure moved; variances of figures whose fit has an error by that, of others by
/// their row in run_fields(), and by how far sites lie apart.
Uncertainty uncertainty(const Job& job, const Layout& layout, const Spread& spread = published_spread());
/// The same with traits that the job does not say.
Uncertainty uncertainty(const Job& job, const Layout& layout, const Spread& spread, const Traits& traits);

/// Covariance of the logs of two step times by the figures that both rest on.
double covariance(const Uncertainty& a, const Uncertainty& b, const Knowledge& known);
/// Standard deviation of the log of a step time.
double log_spread(const Uncertainty& u, const Knowledge& known);
/// Of the log of the ratio of two step times of one job: what both share cancels.
double log_spread_of_ratio(const Uncertainty& a, const Uncertainty& b, const Knowledge& known);

/// Without own runs by what holds of the job (published_spread()), with them by the figures that they told.
Band band_of(const Job& job, const Layout& layout);
Band band_of(double log_spread, const Tails& tails);

}  // namespace meshwright::parallel
