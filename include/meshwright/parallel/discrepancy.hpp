#pragma once
// What no figure explains of a step time, and how far layouts alike share it: a Gaussian process over the layouts of a
// site, beside the figures (Kennedy and O'Hagan, Bayesian calibration of computer models, 2001).
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {

/// What tells the layouts of a site apart: numbers by how often they double, names by whether they differ. Those of the
/// layout stand before those of the job.
inline constexpr std::array<std::string_view, 10> place_numbers = {
    "tp", "pp", "dp", "cp", "ep", "micro_batch", "micro_batches", "layers", "hidden", "seq_len"};
inline constexpr std::array<std::string_view, 6> place_names = {"recompute", "zero_stage", "precision",
                                                                "trainable", "model",      "release"};
inline constexpr std::size_t place_features = place_numbers.size() + place_names.size();
using Apart = std::array<double, place_features>;
/// Name of a feature, numbers first.
std::string_view place_feature(std::size_t i);

/// How far errors go together, of any site (data/fitted/spread.json).
struct Likeness {
  double alone = 1;   ///< share of the variance of what no figure explains that a configuration has for itself
  double common = 0;  ///< standard deviation of what all runs of a site have in common
  Apart apart{};      ///< by feature: weight of a doubling, or of another name
};

/// A layout of a job among others.
struct Place {
  std::string site{};  ///< device and stack: elsewhere nothing is alike
  std::array<double, place_numbers.size()> doublings{};
  std::array<std::string, place_names.size()> names{};
  double spread = 0;  ///< standard deviation of what layouts alike share
};
Place place_of(const Job& job, const Layout& layout, double spread);
/// By feature: the square of the doublings between two places, or 1 for another name.
Apart between(const Place& a, const Place& b);
/// Covariance of what no figure explains of two runs, but for what each has for itself.
double covariance(const Place& a, const Place& b, const Likeness& likeness);

/// What own runs are off by once their figures are known.
struct Discrepancy {
  Likeness likeness{};
  std::vector<Place> runs{};
  std::vector<double> weights{};  ///< of each run in what is expected elsewhere
  std::vector<double> inverse{};  ///< of the covariance of what the runs were off by before they told, row by row
  std::vector<double> cross{};    ///< covariance of the figures with the same, times `inverse`: a row a figure
  bool empty() const { return runs.empty(); }
};
/// What the log of a step is expected to lie above what its figures say.
double expected(const Discrepancy& discrepancy, const Place& place);

/// {"alone", "common", "apart" {feature: weight}}
Likeness read_likeness(const Reader& document);
/// {"likeness", "runs" [{"site", "doublings", "names", "spread", "weight"}], "inverse", "cross"}; for so many figures.
Discrepancy read_discrepancy(const Reader& document, std::size_t figures);

/// The same for any layout of one job, without allocation: what a search multiplies its steps by.
class LayoutErrors {
 public:
  /// Of the runs alone: "inverse" and "cross" of the document are not read.
  LayoutErrors(const Reader& document, const Job& job);
  LayoutErrors(const Discrepancy& discrepancy, const Job& job);
  double times(const Layout& layout) const noexcept;
  double least() const noexcept { return least_; }  ///< of any layout

 private:
  static constexpr std::size_t degrees = 7;  ///< of place_numbers, the layout's own
  struct Run {
    double weight = 0, job = 0;  ///< `job`: what the jobs differ by
    std::array<double, degrees> doublings{};
    std::array<double, 3> recompute{};   ///< by mode: what the runs differ by
    std::array<double, 4> zero_stage{};  ///< the same
  };
  void take(const Discrepancy& discrepancy, const Job& job);
  std::vector<Run> runs_;
  std::array<double, degrees> apart_{};
  double common_ = 0, least_ = 1;
  int global_batch_ = 1;
};

}  // namespace meshwright::parallel
