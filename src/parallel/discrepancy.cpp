#include "meshwright/parallel/discrepancy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/parallel/spread.hpp"

namespace meshwright::parallel {
namespace {

constexpr std::size_t most_runs = 1000;
constexpr int most_zero_stage = 3;

using Degrees = std::array<double, 7>;

/// The layout's own of place_numbers.
Degrees degrees_of(const Layout& l, int global_batch) noexcept {
  return {std::log2(l.tp),
          std::log2(l.pp),
          std::log2(l.dp),
          std::log2(l.cp),
          std::log2(l.ep),
          std::log2(l.micro_batch),
          std::log2(std::max(1, micro_batches(global_batch, l)))};
}

double weighed(const Apart& between, const Likeness& likeness) {
  double sum = 0;
  for (std::size_t i = 0; i < place_features; ++i) sum += likeness.apart[i] * between[i];
  return sum;
}

std::string site_of(const Job& job) { return job.cluster.accelerator.name + " " + job.framework.name; }

double shared_spread(const Job& job, const Likeness& likeness) {
  const Spread& spread = published_spread();
  return std::sqrt(1 - likeness.alone) * spread.sum(traits_of(job, spread), &TraitSpread::own);
}

template <std::size_t N>
std::array<double, N> read_numbers(const Reader& list) {
  const std::vector<Reader> items = list.items();
  if (items.size() != N) list.fail(fmt::format("expected {} numbers, found {}", N, items.size()));
  std::array<double, N> numbers{};
  for (std::size_t i = 0; i < N; ++i) numbers[i] = items[i].number();
  return numbers;
}

/// `rows` rows of as many numbers as `columns`.
std::vector<double> read_matrix(const Reader& list, std::size_t rows, std::size_t columns) {
  std::vector<double> numbers;
  for (const Reader& row : list.items()) {
    for (const Reader& value : row.items()) numbers.push_back(value.number());
  }
  if (numbers.size() != rows * columns) list.fail(fmt::format("expected {} rows of {} numbers", rows, columns));
  return numbers;
}

double within(const Reader& object, std::string_view key, double most) {
  const double value = object.at(key).number();
  if (value < 0 || value > most) object.at(key).fail(fmt::format("expected a number from 0 to {:g}", most));
  return value;
}

Discrepancy read_runs(const Reader& document) {
  document.allow_only({"likeness", "runs", "inverse", "cross"});
  Discrepancy d{.likeness = read_likeness(document.at("likeness"))};
  const Reader list = document.at("runs");
  const std::vector<Reader> runs = list.items();
  if (runs.size() > most_runs) list.fail(fmt::format("expected at most {} runs, found {}", most_runs, runs.size()));
  for (const Reader& run : runs) {
    run.allow_only({"site", "doublings", "names", "spread", "weight"});
    Place place{.site = run.at("site").string(),
                .doublings = read_numbers<place_numbers.size()>(run.at("doublings")),
                .names = {},
                .spread = within(run, "spread", 10)};
    const std::vector<Reader> names = run.at("names").items();
    if (names.size() != place_names.size())
      run.at("names").fail(fmt::format("expected {} names, found {}", place_names.size(), names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) place.names[i] = names[i].string();
    d.runs.push_back(std::move(place));
    d.weights.push_back(run.at("weight").number());
  }
  return d;
}

}  // namespace

std::string_view place_feature(std::size_t i) {
  return i < place_numbers.size() ? place_numbers[i] : place_names[i - place_numbers.size()];
}

Place place_of(const Job& job, const Layout& layout, double spread) {
  const Degrees degrees = degrees_of(layout, job.global_batch);
  Place place{.site = site_of(job), .doublings = {}, .names = {}, .spread = spread};
  const auto rest = std::ranges::copy(degrees, place.doublings.begin()).out;
  const std::array<int, 3> sizes = {job.model.layers, job.model.hidden, job.seq_len};
  std::ranges::transform(sizes, rest, [](int size) { return std::log2(std::max(1, size)); });
  place.names = {std::string(name(layout.recompute)),
                 fmt::format("{}", layout.zero_stage),
                 std::string(job.precision.name),
                 std::string(trainable_names[static_cast<std::size_t>(job.recipe.trainable.kind)]),
                 job.model.name,
                 job.framework.version};
  return place;
}

Apart between(const Place& a, const Place& b) {
  Apart apart{};
  for (std::size_t i = 0; i < place_numbers.size(); ++i) apart[i] = std::pow(a.doublings[i] - b.doublings[i], 2);
  for (std::size_t i = 0; i < place_names.size(); ++i)
    apart[place_numbers.size() + i] = a.names[i] != b.names[i] ? 1 : 0;
  return apart;
}

double covariance(const Place& a, const Place& b, const Likeness& likeness) {
  if (a.site != b.site) return 0;
  return likeness.common * likeness.common + a.spread * b.spread * std::exp(-weighed(between(a, b), likeness) / 2);
}

double expected(const Discrepancy& d, const Place& place) {
  double sum = 0;
  for (std::size_t i = 0; i < d.runs.size(); ++i) sum += d.weights[i] * covariance(d.runs[i], place, d.likeness);
  return sum;
}

Likeness read_likeness(const Reader& document) {
  document.allow_only({"alone", "common", "apart"});
  Likeness likeness{.alone = within(document, "alone", 1), .common = within(document, "common", 10), .apart = {}};
  const Reader apart = document.at("apart");
  for (std::size_t i = 0; i < place_features; ++i) likeness.apart[i] = within(apart, place_feature(i), 1000);
  return likeness;
}

Discrepancy read_discrepancy(const Reader& document, std::size_t figures) {
  Discrepancy d = read_runs(document);
  d.inverse = read_matrix(document.at("inverse"), d.runs.size(), d.runs.size());
  d.cross = read_matrix(document.at("cross"), figures, d.runs.size());
  return d;
}

LayoutErrors::LayoutErrors(const Reader& document, const Job& job) { take(read_runs(document), job); }
LayoutErrors::LayoutErrors(const Discrepancy& discrepancy, const Job& job) { take(discrepancy, job); }

void LayoutErrors::take(const Discrepancy& d, const Job& job) {
  const Likeness& likeness = d.likeness;
  const Place here = place_of(job, Layout{}, shared_spread(job, likeness));
  const auto weight_of = [&](std::string_view name) {
    const auto at = std::ranges::find(place_names, name) - place_names.begin();
    return likeness.apart[place_numbers.size() + static_cast<std::size_t>(at)];
  };
  global_batch_ = job.global_batch;
  std::copy_n(likeness.apart.begin(), degrees, apart_.begin());
  double least = 0;
  for (std::size_t i = 0; i < d.runs.size(); ++i) {
    const Place& place = d.runs[i];
    if (place.site != here.site) continue;
    Apart jobs = between(place, here);
    std::fill_n(jobs.begin(), degrees, 0.0);
    jobs[place_numbers.size()] = jobs[place_numbers.size() + 1] = 0;  // of the layout too
    Run run{.weight = d.weights[i] * place.spread * here.spread, .job = weighed(jobs, likeness)};
    std::copy_n(place.doublings.begin(), degrees, run.doublings.begin());
    for (std::size_t mode = 0; mode < run.recompute.size(); ++mode)
      run.recompute[mode] = place.names[0] != recompute_names[mode] ? weight_of("recompute") : 0;
    for (int stage = 0; stage <= most_zero_stage; ++stage)
      run.zero_stage[static_cast<std::size_t>(stage)] =
          place.names[1] != fmt::format("{}", stage) ? weight_of("zero_stage") : 0;
    common_ += d.weights[i] * likeness.common * likeness.common;
    least += std::min(0.0, run.weight);
    runs_.push_back(run);
  }
  least_ = std::exp(common_ + least);
}

double LayoutErrors::times(const Layout& layout) const noexcept {
  const Degrees here = degrees_of(layout, global_batch_);
  double sum = common_;
  for (const Run& run : runs_) {
    double apart = run.job + run.recompute[static_cast<std::size_t>(layout.recompute)] +
                   run.zero_stage[static_cast<std::size_t>(layout.zero_stage)];
    for (std::size_t i = 0; i < degrees; ++i) {
      const double doublings = here[i] - run.doublings[i];
      apart += apart_[i] * doublings * doublings;
    }
    sum += run.weight * std::exp(-apart / 2);
  }
  return std::exp(sum);
}

}  // namespace meshwright::parallel
