// Own runs: what they move, how sure figures and steps are then, and what holds over all published sites.
#include "meshwright/calibrate/own_fit.hpp"
#include "meshwright/parallel/memory.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "meshwright/calibrate/nearest_run.hpp"
#include "meshwright/calibrate/spread_fit.hpp"

namespace meshwright::calibrate {
namespace {

using testing::HasSubstr;

/// A job of Llama 3.1 8B on 64 H100 in the layout.
Job job_of(const std::string& layout, const Catalog& catalog = builtin_catalog()) {
  return read_job(Reader::text(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 64, "seq_len": 8192,
                                   "global_batch": 128, "layout": )" +
                                   layout + "}",
                               "job.json"),
                  catalog);
}

const std::vector<std::string>& layouts() {
  static const std::vector<std::string> all = {
      R"({"tp": 1, "pp": 1, "micro_batch": 1})", R"({"tp": 2, "pp": 1, "micro_batch": 1})",
      R"({"tp": 8, "pp": 1, "micro_batch": 2})", R"({"tp": 4, "pp": 2, "micro_batch": 1})",
      R"({"tp": 2, "pp": 4, "micro_batch": 1, "recompute": "full"})"};
  return all;
}

/// The site whose GEMMs and NVLink are slower than the shipped figures.
Job slow_site(const Job& job) {
  return with_figures(job, [](Figures& f) {
    f.accelerator.efficiency.of(DType::bf16).sustained *= 0.85;
    f.platform.scale_up.in_step *= 0.6;
  });
}

OwnRun measured(const std::string& layout) {
  const Job job = job_of(layout);
  return {job, *job.layout, predict(slow_site(job), *job.layout).step_time, traits_of(job)};
}

double error(const Job& job, const Layout& layout, Seconds time) {
  return std::abs(std::log(predict(job, layout).step_time / time));
}

TEST(OwnFit, RunsOfOneSiteMakeItsOtherLayoutsRight) {
  double before = 0, one = 0, three = 0;
  const std::vector<OwnRun> own = {measured(layouts()[0]), measured(layouts()[2]), measured(layouts()[3])};
  const OwnFit after_one = fit_own(std::span(own).first(1)), after_three = fit_own(own);
  for (const std::size_t other : {1, 4}) {
    const OwnRun truth = measured(layouts()[other]);
    before += error(truth.job, truth.layout, truth.measured);
    one += error(with_own(truth.job, after_one), truth.layout, truth.measured);
    three += error(with_own(truth.job, after_three), truth.layout, truth.measured);
  }
  EXPECT_GT(before / 2, 0.1);
  EXPECT_LT(one, 0.5 * before);
  EXPECT_LT(three, 0.25 * before);
  EXPECT_LT(after_three.error_after, 0.3 * after_three.error_before);
}

TEST(OwnFit, WhatRunsDontTellStaysAtThePrior) {
  const std::vector<OwnRun> own = {measured(layouts()[0])};  // no tensor parallelism, hardly a byte over NVLink
  const OwnFit fit = fit_own(own);
  const auto figure = [&](std::string_view field) { return *std::ranges::find(fit.figures, field, &OwnFigure::field); };
  EXPECT_GT(figure("gemm.bf16.sustained").told(), 0.2);
  EXPECT_LT(figure("gemm.bf16.sustained").after, 0.95 * figure("gemm.bf16.sustained").before);
  EXPECT_LT(figure("scale_up.in_step").told(), 0.1);
  EXPECT_NEAR(figure("scale_up.in_step").after / figure("scale_up.in_step").before, 1, 0.1);
  for (const OwnFigure& f : fit.figures) EXPECT_LE(f.spread_after, f.spread_before * (1 + 1e-9)) << f.field;
}

TEST(OwnFit, ARunThatFitsNothingMovesLess) {
  std::vector<OwnRun> own = {measured(layouts()[0]), measured(layouts()[1]), measured(layouts()[3])};
  const OwnFit clean = fit_own(own);
  own[1].measured *= 6;
  const OwnFit spoilt = fit_own(own);
  const OwnRun truth = measured(layouts()[4]);
  const double off = error(with_own(truth.job, spoilt), truth.layout, truth.measured);
  EXPECT_LT(off, std::log(6.0) / 4) << "the others hold against it";
  EXPECT_LT(error(with_own(truth.job, clean), truth.layout, truth.measured), off);
}

/// A job whose steps take so many times what its figures say: nothing of device, links or stack explains it.
OwnRun unexplained(const std::string& layout, double times) {
  const Job job = job_of(layout);
  return {job, *job.layout, times * predict(job, *job.layout).step_time, traits_of(job)};
}

// Two layouts that share little but the job: what both are off by, by the same share, is mostly the job's.
TEST(OwnFit, WhatNoFigureExplainsGoesToTheOtherLayoutsOfThatJobAlone) {
  Spread spread = published_spread();
  spread.traits[static_cast<std::size_t>(Trait::any)].shared = 0.3;
  const std::vector<OwnRun> own = {unexplained(layouts()[0], 1.3), unexplained(layouts()[2], 1.3)};
  const OwnFit fit = fit_own(own, spread);
  const auto work = std::ranges::find(fit.figures, "work.time", &OwnFigure::field);
  ASSERT_NE(work, fit.figures.end());
  EXPECT_EQ(work->before, 1);
  EXPECT_GT(work->after, 1.12);
  EXPECT_LT(work->after, 1.3);
  const OwnRun same = unexplained(layouts()[4], 1.3);
  EXPECT_LT(error(with_own(same.job, fit), same.layout, same.measured), 0.3 * std::log(1.3));
  const Job other = with(same.job, [](JobSpec& spec) { spec.seq_len = 4096; });
  EXPECT_EQ(with_own(other, fit).framework.work_time, 1) << "another sequence is another job";
}

/// The peak where what comes and goes takes so many times what operators keep.
OwnRun with_peak(const std::string& layout, double times) {
  OwnRun run = measured(layout);
  run.peak = logged_peak(with_figures(run.job, [times](Figures& f) { f.framework.work_memory = times; }), run.layout);
  return run;
}

double peak_error(const Job& job, const OwnRun& run) {
  return std::abs(std::log(logged_peak(job, run.layout) / *run.peak));
}

TEST(OwnFit, PeaksMoveWhatComesAndGoesOfThatJobAlone) {
  const std::vector<OwnRun> own = {with_peak(layouts()[0], 1.3), with_peak(layouts()[2], 1.3),
                                   with_peak(layouts()[3], 1.3)};
  OwnFit fit;
  fit.memory = fit_own_memory(own);
  ASSERT_EQ(fit.memory.size(), 1U);
  const OwnMemory& m = fit.memory.front();
  EXPECT_GT(m.after, 1.01);
  EXPECT_LT(m.after, 1.3);
  EXPECT_LT(m.error_after, m.error_before);
  EXPECT_LT(m.spread_after, m.spread_before);
  EXPECT_LT(fit_own_memory(std::span(own).first(1)).front().after, m.after) << "one run tells less";
  const OwnRun other = with_peak(layouts()[1], 1.3);
  const Job now = with_own(other.job, fit);
  EXPECT_LT(peak_error(now, other), peak_error(other.job, other));
  EXPECT_LT(memory_band(now).high / memory_band(now).low, memory_band(other.job).high / memory_band(other.job).low);
  EXPECT_EQ(predict(now, other.layout).step_time, predict(other.job, other.layout).step_time);
  const Job longer = with(other.job, [](JobSpec& spec) { spec.seq_len = 4096; });
  EXPECT_EQ(with_own(longer, fit).framework.work_memory, 1) << "another sequence is another job";
  EXPECT_TRUE(fit_own_memory(std::vector<OwnRun>{measured(layouts()[0])}).empty()) << "no peak, nothing told";
}

// Peaks that the fit cannot follow make no one surer of the next.
TEST(OwnFit, PeaksAreNoSurerThanTheRunsThemselves) {
  OwnRun high = with_peak(layouts()[0], 1);
  high.peak = 1.6 * *high.peak;
  const OwnMemory m = fit_own_memory(std::vector{high}).front();
  EXPECT_GT(m.error_after, 0.2);
  EXPECT_GT(m.spread_after, m.error_after);
}

TEST(OwnFit, TheOverlayCarriesWhatPeaksTold) {
  const std::vector<OwnRun> own = {with_peak(layouts()[0], 1.3), with_peak(layouts()[2], 1.3)};
  OwnFit fit = fit_own(own);
  fit.memory = fit_own_memory(own);
  const auto folder = std::filesystem::path(testing::TempDir()) / "own-peaks";
  std::filesystem::create_directories(folder);
  write_file(folder / "own-runs.json", own_overlay_json(fit, own, builtin_catalog(), "test"));
  const Job job = job_of(layouts()[1], overlay(builtin_catalog(), folder));
  EXPECT_NEAR(job.framework.work_memory, fit.memory.front().after, 2e-3);
  EXPECT_NEAR(job.framework.work_memory_spread, fit.memory.front().spread_after, 1e-3);
  EXPECT_GT(memory(job, *job.layout).activations, memory(job_of(layouts()[1]), *job.layout).activations);
}

TEST(OwnFit, AnOverlayGivesEachStackTheWorksThatItRan) {
  const OwnRun core = with_peak(layouts()[0], 1.3);
  OwnRun titan = core;
  titan.job = with(core.job, [](JobSpec& spec) { spec.framework = "torchtitan", spec.seq_len = 4096; });
  titan.measured = predict(titan.job, titan.layout).step_time;
  titan.traits = traits_of(titan.job);
  titan.peak = logged_peak(titan.job, titan.layout);
  for (const std::vector<OwnRun>& own : {std::vector{core, titan}, std::vector{titan, core}}) {
    OwnFit fit = fit_own(own);
    fit.memory = fit_own_memory(own);
    const Reader document = Reader::text(own_overlay_json(fit, own, builtin_catalog(), "test"), "own.json");
    std::map<std::string, std::vector<double>> works;
    for (const Reader& stack : document.at("frameworks").items()) {
      for (const Reader& work : stack.at("works").items()) {
        works[stack.at("name").string()].push_back(work.at("seq_len").number());
        EXPECT_TRUE(work.has("memory"));
      }
    }
    EXPECT_EQ(works["megatron-core"], std::vector<double>{8192});
    EXPECT_EQ(works["torchtitan"], std::vector<double>{4096});
  }
}

// Off by half of the variance that no figure explains: what moved would move others the wrong way as often.
TEST(OwnFit, RunsWithinTheNoiseMoveNothingAndNarrowBands) {
  const double noise = published_spread().sum(traits_of(job_of(layouts()[0])), &TraitSpread::own);
  const std::vector<OwnRun> near = {unexplained(layouts()[0], std::exp(0.65 * noise))};
  const OwnFit fit = fit_own(near);
  EXPECT_TRUE(fit.within_noise);
  EXPECT_EQ(fit.error_after, fit.error_before);
  for (const OwnFigure& f : fit.figures) EXPECT_EQ(f.after, f.before) << f.field;
  const Uncertainty u = uncertainty(near[0].job, near[0].layout);
  EXPECT_LT(log_spread(u, fit.known), log_spread(u, {}));
  const std::vector<OwnRun> far = {unexplained(layouts()[0], std::exp(1.1 * noise))};
  EXPECT_FALSE(fit_own(far).within_noise);
  EXPECT_LT(fit_own(far).error_after, fit_own(far).error_before);
}

// The device cannot pass its peak: what remains is told of figures that can still move.
TEST(OwnFit, FiguresAtTheirLimitLeaveTheRestToOthers) {
  const std::vector<OwnRun> own = {unexplained(layouts()[0], 0.6), unexplained(layouts()[1], 0.6)};
  const OwnFit fit = fit_own(own);
  const auto gemm = std::ranges::find(fit.figures, "gemm.bf16.sustained", &OwnFigure::field);
  EXPECT_LE(gemm->after, 1 + 1e-9);
  const OwnRun truth = unexplained(layouts()[1], 0.6);
  const double before = error(truth.job, truth.layout, truth.measured);
  EXPECT_LT(error(with_own(truth.job, fit), truth.layout, truth.measured), 0.75 * before);
}

TEST(OwnFit, ItsOverlayServesAnyJob) {
  const std::vector<OwnRun> own = {measured(layouts()[0]), measured(layouts()[2])};
  const OwnFit fit = fit_own(own);
  const auto folder = std::filesystem::path(testing::TempDir()) / "own-runs";
  std::filesystem::create_directories(folder);
  write_file(folder / "own-runs.json", own_overlay_json(fit, own, builtin_catalog(), "test"));
  const Catalog mine = overlay(builtin_catalog(), folder);
  for (const std::string& layout : layouts()) {
    const Job plain = job_of(layout), job = job_of(layout, mine);
    const Place place = uncertainty(plain, *plain.layout).place;
    const double expected = predict(with_own(plain, fit), *plain.layout).step_time.value() *
                            std::exp(parallel::expected(fit.known.discrepancy, place));
    const Prediction p = predict(job, *job.layout), without = predict(plain, *plain.layout);
    EXPECT_NEAR(p.step_time.value() / expected, 1, 2e-3) << layout;  // figures are written with four digits
    EXPECT_LT(p.p90 / p.p10, without.p90 / without.p10) << layout;
    EXPECT_FALSE(own_knowledge(job).empty());
    EXPECT_NEAR(job.framework.work_time, with_own(plain, fit).framework.work_time, 1e-3);
    const bool measured_so = layout == layouts()[0] || layout == layouts()[2];
    const auto nearest = nearest_own_run(job, *job.layout);
    ASSERT_TRUE(nearest);
    EXPECT_EQ(nearest->distance == 0, measured_so) << nearest->words;
    EXPECT_THAT(nearest->words, HasSubstr("the same device and stack"));
  }
  EXPECT_FALSE(nearest_own_run(job_of(layouts()[0]), *job_of(layouts()[0]).layout));
  EXPECT_TRUE(own_knowledge(job_of(layouts()[0])).empty());
}

// What figures can't follow serves the layouts next to it, and fades with distance.
TEST(OwnFit, WhatFiguresLeaveGoesToLayoutsAlike) {
  Spread spread = published_spread();
  for (FigureSpread& figure : spread.figures) figure.spread = 0.001;
  for (TraitSpread& trait : spread.traits) trait.shared = 0.001;
  spread.errors.clear();
  const std::vector<OwnRun> own = {unexplained(layouts()[3], 1.2)};
  const OwnFit fit = fit_own(own, spread);
  const auto told_of = [&](const std::string& layout) {
    const Job job = job_of(layout);
    return expected(fit.known.discrepancy, uncertainty(job, *job.layout, spread).place);
  };
  const double itself = told_of(layouts()[3]);
  const double near = told_of(R"({"tp": 4, "pp": 4, "micro_batch": 1})"), far = told_of(layouts()[0]);
  EXPECT_GT(itself, 0.35 * std::log(1.2));
  EXPECT_LT(itself, std::log(1.2));
  EXPECT_LT(near, itself);
  EXPECT_GT(near, 0.5 * itself);
  EXPECT_LT(far, near);
  EXPECT_LT(far, 0.65 * itself);
  const Job job = job_of(layouts()[3]);
  EXPECT_LT(log_spread(uncertainty(job, *job.layout, spread), fit.known),
            0.5 * log_spread(uncertainty(job, *job.layout, spread), {}));
}

TEST(OwnFit, TheRatioOfTwoLayoutsIsSurerThanEach) {
  const Job job = job_of(layouts()[1]);
  const Uncertainty a = uncertainty(job, *job.layout), b = uncertainty(job, *job_of(layouts()[4]).layout);
  const double ratio = log_spread_of_ratio(a, b, {});
  EXPECT_LT(ratio, log_spread(a, {}));
  EXPECT_LT(ratio, log_spread(b, {}));
  EXPECT_GT(ratio, 0);
}

TEST(ExpectedRegrets, GrowWithTheLagAndVanishWhereNothingIsInDoubt) {
  const auto sure = [](double log_time) { return Uncertainty{{}, 0, log_time}; };
  const std::vector<Uncertainty> certain = {sure(0), sure(0.1)};
  const std::vector<double> none = expected_regrets(certain, {});
  EXPECT_NEAR(none[0], 0, 1e-6);
  EXPECT_NEAR(none[1], std::expm1(0.1), 1e-5);
  // Two alike that err by 10 % each on their own: E[max(0, e^X - 1)], X normal of 0.1 sqrt 2, is 6.2 % (by
  // integration).
  const std::vector<Uncertainty> doubtful = {{{}, 0.1, 0}, {{}, 0.1, 0}};
  for (const double loss : expected_regrets(doubtful, {})) EXPECT_NEAR(loss, 0.062, 0.003);
  // What both rest on costs neither against the other.
  const Doubt common{"device x", "gemm.bf16.sustained", -1, 0.5, 0.25};
  const std::vector<Uncertainty> together = {{{common}, 0, 0}, {{common}, 0, 0}};
  for (const double loss : expected_regrets(together, {})) EXPECT_NEAR(loss, 0, 1e-4);
}

TEST(Bands, SayHowProbableAShareIs) {
  const Band band{0.8, 1.3};
  EXPECT_NEAR(below(band, 0.8), 0.1, 1e-9);
  EXPECT_NEAR(below(band, 1), 0.5, 1e-12);
  EXPECT_NEAR(below(band, 1.3), 0.9, 1e-9);
  EXPECT_EQ(below({1, 1}, 0.99), 0);
  EXPECT_EQ(below({1, 1}, 1), 1);
}

TEST(OwnFit, SaysWhichRunWouldTellMost) {
  const std::vector<OwnRun> own = {measured(layouts()[0])};
  const OwnFit fit = fit_own(own);
  std::vector<Layout> candidates;
  for (const std::string& layout : layouts()) candidates.push_back(*job_of(layout).layout);
  const std::vector<NextRun> next = next_runs(job_of(layouts()[0]), candidates, fit, 5);
  ASSERT_EQ(next.size(), 5U);
  for (std::size_t i = 1; i < next.size(); ++i) EXPECT_GE(next[i - 1].reduction, next[i].reduction);
  EXPECT_GT(next.front().layout.tp, 1) << "NVLink is what the run left open";
  EXPECT_GT(next.front().reduction, 0);
  EXPECT_LT(next.front().reduction, 1);
}

TEST(OwnFit, RunsAreMergedByConfigurationAndSickOnesLeftOut) {
  std::vector<RunRecord> records;
  for (const Reader& record : published_runs()) {
    records.push_back(read_run_record(record, builtin_catalog()));
    if (records.size() == 3) break;
  }
  records.push_back(records[0]);
  records.back().measured.step_time = *records[0].measured.step_time * 1.21;
  records.push_back(records[1]);
  records.back().state = "wait";
  records.push_back(records[2]);
  records.back().job = with(records[2].job, [](JobSpec& spec) {
    spec.recipe = Reader::text(R"({"trainable": {"kind": "lora"}})", "recipe.json");
  });
  const std::vector<OwnRun> runs = own_runs(records);
  ASSERT_EQ(runs.size(), 4U) << "adapters are no rerun";
  const double geometric = records[0].measured.step_time->value() * 1.1;
  EXPECT_TRUE(
      std::ranges::any_of(runs, [&](const OwnRun& r) { return std::abs(r.measured.value() / geometric - 1) < 1e-9; }));
}

TEST(NearestRun, OfAPublishedJobIsItself) {
  int checked = 0;
  for (const Reader& record : published_runs()) {
    const RunRecord run = read_run_record(record, builtin_catalog());
    const bool sized = record.at("model").has("params_total_b");  // else it is nobody's nearest
    if (run.skipped || !sized || run.tier != "A" || run.task != "pretrain") continue;
    if (++checked % 200 != 0) continue;
    const auto nearest = nearest_run(run.job, run.layout);
    ASSERT_TRUE(nearest);
    EXPECT_LT(nearest->distance, 0.2) << run.id << " -> " << nearest->words;  // the record's parameters are rounded
    EXPECT_THAT(nearest->words, HasSubstr("the same device and stack"));
  }
  EXPECT_GT(checked, 1000);
  const Job far = with(job_of(layouts()[2]), [](JobSpec& spec) {
    spec.seq_len = 131072;
    spec.cluster.accelerators = 0, spec.cluster.nodes = 512;
  });
  const auto nearest = nearest_run(far, *job_of(layouts()[2]).layout);
  EXPECT_GT(nearest->distance, 3);
  EXPECT_THAT(nearest->words, HasSubstr("4096 here"));
}

TEST(Knowledge, IsRefusedWhereRowsAreMissing) {
  EXPECT_THAT([] { read_knowledge(Reader::text(R"({"figures": ["a", "b"], "covariance": [[1, 0]]})", "own.json")); },
              testing::Throws<Error>(testing::Property(&Error::what_happened, HasSubstr("a row and a column"))));
}

TEST(Spread, SurvivesItsFile) {
  const Spread& spread = published_spread();
  const Spread again = read_spread(Reader::text(to_json(spread, "test"), "spread.json"));
  ASSERT_EQ(again.figures.size(), spread.figures.size());
  for (std::size_t i = 0; i < spread.figures.size(); ++i)
    EXPECT_NEAR(again.figures[i].spread, spread.figures[i].spread, 1e-4);
  for (std::size_t t = 0; t < trait_count; ++t) EXPECT_NEAR(again.traits[t].total, spread.traits[t].total, 1e-4);
  EXPECT_EQ(again.devices, spread.devices);
  EXPECT_NEAR(again.likeness.alone, spread.likeness.alone, 1e-4);
  for (std::size_t i = 0; i < again.likeness.apart.size(); ++i)
    EXPECT_NEAR(again.likeness.apart[i], spread.likeness.apart[i], 1e-4);
  EXPECT_LT(spread.without_own_runs.low, 0);
  EXPECT_GT(spread.without_own_runs.high, 0);
}

// Every published site left out in turn: what docs/accuracy.md shows, and that the spreads that ship are those fitted.
TEST(OwnRunsCheck, KeepsItsPromise) {
  std::vector<RunRecord> runs;
  for (const Reader& record : published_runs()) runs.push_back(read_run_record(record, benchmark_catalog()));
  const OwnRunsCheck check = check_own_runs(runs);
  for (const Coverage& c : check.coverage) {
    EXPECT_GT(c.inside, 0.70) << c.left_out;
    EXPECT_LT(c.inside, 0.90) << c.left_out;
    EXPECT_GT(c.holding, 0.70) << c.left_out;
    EXPECT_LT(c.holding, 0.90) << c.left_out;
    EXPECT_GT(c.peaks, 200) << c.left_out;
  }
  for (const SiteCheck& mean : own_runs_means(check)) {
    const OwnRunsGain &one = mean.gains[0], &three = mean.gains[1];
    EXPECT_LT(one.after, 0.12) << mean.site;
    EXPECT_LT(one.after, 0.85 * one.before) << mean.site;
    EXPECT_LT(three.after, 0.8 * three.before) << mean.site;
    EXPECT_LT(three.after, 0.11) << mean.site;
    for (const double inside : {one.inside_before, one.inside_after, three.inside_after}) {
      EXPECT_GT(inside, 0.70) << mean.site;
      EXPECT_LT(inside, 0.90) << mean.site;
    }
  }
  EXPECT_LT(own_runs_means(check).front().gains[0].regret_after, 0.025);
  for (const SiteCheck& s : check.sites) {
    EXPECT_EQ(s.gains[0].judged, s.configurations - 1) << s.site;
    EXPECT_LT(s.gains[0].after, s.gains[0].before + 0.03) << s.site << ": one own run makes it worse";
  }
  // A new source's peaks may lie on either side of the prediction.
  EXPECT_LT(check.spread.of_memory.low, -0.8);
  EXPECT_GT(check.spread.of_memory.high, 0.8);
  const Spread& shipped = published_spread();
  for (std::size_t t = 0; t < trait_count; ++t)
    EXPECT_NEAR(check.spread.traits[t].total, shipped.traits[t].total, 0.05) << trait_names[t];
}

}  // namespace
}  // namespace meshwright::calibrate
