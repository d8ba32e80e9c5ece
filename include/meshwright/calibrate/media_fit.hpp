#pragma once
// Fits the parameters of media to measured tables of collectives.
#include <string>
#include <vector>

#include "meshwright/calibrate/collective_records.hpp"

namespace meshwright::calibrate {

struct MediaFitOptions {
  int sweeps = 8;       ///< at most so many rounds over the media
  int steps = 8;        ///< of Levenberg-Marquardt on one medium in one round
  double noise = 0.08;  ///< relative scatter of one row; residuals beyond it count less and less (Cauchy weights)
  double prior = 1;     ///< strength of the prior: 1 = parameters stay within their table's widths of the start
};

/// How well one medium's tables are met after the fit.
struct MediumResidual {
  std::string medium;
  std::size_t tables = 0, rows = 0;
  double median = 0, p90 = 0;  ///< of the absolute relative error of rows whose slowest level it is
};

struct MediaFit {
  std::vector<Medium> media;  ///< every medium that a table used, fitted; evidence `calibrated`
  std::vector<MediumResidual> residuals;
  double before = 0, after = 0;  ///< median absolute relative error over all rows
  int sweeps = 0;
};

/// Levenberg-Marquardt on the logarithms of the parameters, medium by medium in rounds, minimising weighted squared log
/// ratios of predicted to measured time plus log-normal priors around `start`. Tables count by the square root of their
/// number of rows, so that one long sweep doesn't drown short ones. Parameters that no table touches keep their start.
/// `skipped` tables and rows that the forced algorithm can't price are passed over; an Error where nothing is left.
MediaFit fit_media(const std::vector<CollectiveTable>& tables, const std::vector<Medium>& start,
                   const MediaFitOptions& options = {});

/// Errors of tables that a fit had not seen.
struct MediaLeftOut {
  int folds = 0;
  ErrorSummary large, small;            ///< rows from 1 MiB, rows up to 64 KiB
  std::vector<CollectiveCheck> checks;  ///< of all tables, by fits that had not seen them
};
/// The sources of the tables dealt into `folds` by their titles; each fold predicted by the fit of all others.
MediaLeftOut cross_validate(const std::vector<CollectiveTable>& tables, const std::vector<Medium>& start, int folds = 3,
                            const MediaFitOptions& options = {});

}  // namespace meshwright::calibrate
