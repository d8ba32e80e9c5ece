// What layouts alike share of what no figure explains.
#include "meshwright/parallel/discrepancy.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "meshwright/parallel/band.hpp"
#include "meshwright/parallel/spread.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright::parallel {
namespace {

using testing::HasSubstr;

Job job_of(const std::string& more = "") {
  return read_job(Reader::text(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 64, "seq_len": 8192,
                                   "global_batch": 128)" +
                                   more + "}",
                               "job.json"),
                  builtin_catalog());
}

Layout layout_of(int tp, int pp, int micro_batch, Recompute recompute = Recompute::none, int zero_stage = 1) {
  Layout l;
  l.tp = tp, l.pp = pp, l.dp = 64 / (tp * pp), l.micro_batch = micro_batch, l.recompute = recompute;
  l.zero_stage = zero_stage;
  return l;
}

/// Two runs of the job, one slower than its figures say, the other faster.
Discrepancy told(const Job& job) {
  Discrepancy d;
  d.likeness = published_spread().likeness;
  const double own = published_spread().sum(traits_of(job), &TraitSpread::own);
  const double spread = std::sqrt(1 - d.likeness.alone) * own;
  d.runs = {place_of(job, layout_of(2, 1, 1), spread), place_of(job, layout_of(4, 4, 2, Recompute::full, 3), spread)};
  d.weights = {6, -9};
  return d;
}

TEST(Discrepancy, ASearchMultipliesByWhatIsExpected) {
  const Job job = job_of();
  const Discrepancy d = told(job);
  const LayoutErrors errors(d, job);
  double least = 10, most = 0;
  for (const int tp : {1, 2, 8}) {
    for (const int pp : {1, 4}) {
      for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        for (const int zero_stage : {1, 3}) {
          const Layout l = layout_of(tp, pp, 2, recompute, zero_stage);
          const double expected_times = std::exp(expected(d, place_of(job, l, d.runs.front().spread)));
          EXPECT_NEAR(errors.times(l), expected_times, 1e-12) << describe_layout(l);
          least = std::min(least, errors.times(l)), most = std::max(most, errors.times(l));
        }
      }
    }
  }
  EXPECT_GE(least, errors.least());
  EXPECT_LT(least, 0.996);
  EXPECT_GT(most, 1.003 * least);
}

TEST(Discrepancy, FadesWithDistanceAndEndsAtTheSite) {
  const Job job = job_of();
  const Discrepancy d = told(job);
  const double spread = d.runs.front().spread;
  const auto with_first = [&](const Job& other, const Layout& l) {
    return covariance(d.runs.front(), place_of(other, l, spread), d.likeness);
  };
  const double itself = with_first(job, layout_of(2, 1, 1));
  EXPECT_NEAR(itself, spread * spread + d.likeness.common * d.likeness.common, 1e-15);
  EXPECT_LT(with_first(job, layout_of(4, 1, 1)), itself);
  EXPECT_LT(with_first(job, layout_of(8, 1, 1)), with_first(job, layout_of(4, 1, 1)));
  EXPECT_LT(with_first(job, layout_of(2, 1, 1, Recompute::full)), itself);
  EXPECT_EQ(with_first(job_of(R"(, "framework": "torchtitan")"), layout_of(2, 1, 1)), 0);
  EXPECT_EQ(LayoutErrors(d, job_of(R"(, "framework": "torchtitan")")).times(layout_of(2, 1, 1)), 1);
}

TEST(Discrepancy, EveryTermOfAStepTakesItsShare) {
  const Job job = job_of();
  const Discrepancy d = told(job);
  const LayoutErrors errors(d, job);
  Tables tables(job);
  const Layout l = layout_of(2, 1, 1);
  StepConstants constants = tables.constants();
  const Seconds plain = total(step_time(constants, tables.entries(l), l).time);
  constants.errors = &errors;
  EXPECT_NEAR(total(step_time(constants, tables.entries(l), l).time) / plain, errors.times(l), 1e-12);
  EXPECT_EQ(least_times(constants), errors.least());
}

// Errors of layouts alike go together: which of the two is faster is surer than where layouts have little in common.
TEST(Discrepancy, LayoutsAlikeAreToldApartMoreSurely) {
  const Job job = job_of();
  Uncertainty a = uncertainty(job, layout_of(2, 1, 1)), near = uncertainty(job, layout_of(2, 1, 1));
  near.place = place_of(job, layout_of(2, 2, 1), near.place.spread);
  Uncertainty far = near;
  far.place = place_of(job, layout_of(8, 2, 4, Recompute::full, 3), near.place.spread);
  EXPECT_LT(log_spread_of_ratio(a, near, {}), 0.9 * log_spread_of_ratio(a, far, {}));
}

std::string document(const std::string& runs, const std::string& inverse) {
  std::string apart;
  for (std::size_t i = 0; i < place_features; ++i)
    apart += (i > 0 ? ", \"" : "\"") + std::string(place_feature(i)) + "\": 0.1";
  return R"({"likeness": {"alone": 0.1, "common": 0.02, "apart": {)" + apart + R"(}}, "runs": [)" + runs +
         R"(], "inverse": )" + inverse + R"(, "cross": []})";
}

TEST(Discrepancy, IsRefusedWhereNumbersAreMissing) {
  const std::string run = R"({"site": "H100-SXM5-80GB megatron-core", "doublings": [0, 0, 0, 0, 0, 0, 0, 5, 12, 13],
                              "names": ["none", "1", "bf16", "all", "m", ""], "spread": 0.1, "weight": 1})";
  const auto read = [](const std::string& text) { return read_discrepancy(Reader::text(text, "own.json"), 0); };
  EXPECT_EQ(read(document(run, "[[2]]")).inverse, std::vector<double>{2});
  const auto refused = [&](const std::string& text, const char* words) {
    EXPECT_THAT([&] { read(text); }, testing::Throws<Error>(testing::Property(&Error::what_happened, HasSubstr(words))))
        << text;
  };
  refused(document(run, "[]"), "expected 1 rows of 1 numbers");
  refused(document(R"({"site": "x", "doublings": [1], "names": [], "spread": 0.1, "weight": 1})", "[[2]]"),
          "expected 10 numbers, found 1");
  std::string wide = run;
  wide.replace(wide.find("0.1"), 3, "-1");
  refused(document(wide, "[[2]]"), "expected a number from 0 to 10");
}

}  // namespace
}  // namespace meshwright::parallel
