#include "meshwright/calibrate/collective_bands.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "core/embedded.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t sizes = 3;  ///< classes of sizes

/// An error with its weight: a table's rows share one.
struct Weighed {
  double log = 0, weight = 1;  ///< log(measured / predicted)
};

double quantile(std::vector<Weighed>& errors, double share) {
  std::ranges::sort(errors, {}, &Weighed::log);
  double all = 0, below = 0;
  for (const Weighed& e : errors) all += e.weight;
  for (const Weighed& e : errors) {
    below += e.weight;
    if (below >= share * all) return e.log;
  }
  return 0;
}

template <class Visit>
void each_row(const std::vector<CollectiveCheck>& checks, Visit&& visit) {
  for (const CollectiveCheck& c : checks) {
    std::array<double, collective_classes.size()> counts{};
    for (const CheckedRow& row : c.rows) ++counts[collective_class(c.leaves_domain, row.bytes)];
    for (const CheckedRow& row : c.rows) {
      const std::size_t at = collective_class(c.leaves_domain, row.bytes);
      visit(c, at, Weighed{std::log(row.measured / row.predicted), 1 / counts[at]});
    }
  }
}

using Kind = std::string (*)(const CollectiveCheck&);
struct Way {
  const char* name;
  Kind kind;
};
constexpr std::array ways = {
    Way{"source", [](const CollectiveCheck& c) { return c.source; }},
    Way{"platform", [](const CollectiveCheck& c) { return c.platform; }},
    Way{"collective", [](const CollectiveCheck& c) { return std::string(name(c.collective)); }}};

CollectiveCoverage covered(const std::vector<CollectiveCheck>& checks, const Way& way) {
  CollectiveCoverage out{.left_out = way.name};
  std::set<std::string> names;
  for (const CollectiveCheck& c : checks) names.insert(way.kind(c));
  double weights = 0;
  for (const std::string& left_out : names) {
    std::vector<CollectiveCheck> seen, unseen;
    for (const CollectiveCheck& c : checks) (way.kind(c) == left_out ? unseen : seen).push_back(c);
    const CollectiveBands bands = collective_bands(seen);
    each_row(unseen, [&](const CollectiveCheck&, std::size_t at, const Weighed& e) {
      const double times = std::exp(e.log);
      ++out.rows, weights += e.weight;
      out.inside += times >= bands[at].low && times <= bands[at].high ? e.weight : 0;
    });
  }
  if (weights > 0) out.inside /= weights;
  return out;
}

}  // namespace

std::size_t collective_class(bool leaves_domain, Bytes bytes) noexcept {
  const std::size_t size = bytes <= small_to ? 0 : bytes < large_from ? 1 : 2;
  return (leaves_domain ? sizes : 0) + size;
}

CollectiveBands collective_bands(const std::vector<CollectiveCheck>& checks) {
  std::array<std::vector<Weighed>, collective_classes.size()> errors;
  each_row(checks, [&](const CollectiveCheck&, std::size_t at, const Weighed& e) { errors[at].push_back(e); });
  CollectiveBands bands;
  for (std::size_t at = 0; at < bands.size(); ++at) {
    bands[at] = {errors[at].size(), std::exp(std::min(0.0, quantile(errors[at], 0.1))),
                 std::exp(std::max(0.0, quantile(errors[at], 0.9)))};
  }
  return bands;
}

std::vector<CollectiveCoverage> collective_coverage(const std::vector<CollectiveCheck>& checks) {
  std::vector<CollectiveCoverage> rows;
  rows.reserve(std::size(ways));
  for (const Way& way : ways) rows.push_back(covered(checks, way));
  return rows;
}

std::string to_json(const CollectiveBands& bands) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  const auto rounded = [](double value) { return std::round(value * 1e3) / 1e3; };
  for (std::size_t at = 0; at < bands.size(); ++at) {
    out[std::string(collective_classes[at])] = {
        {"rows", bands[at].rows}, {"low", rounded(bands[at].low)}, {"high", rounded(bands[at].high)}};
  }
  return out.dump();
}

CollectiveBands read_collective_bands(const Reader& object) {
  CollectiveBands bands;
  for (std::size_t at = 0; at < bands.size(); ++at) {
    const Reader row = object.at(collective_classes[at]);
    bands[at] = {static_cast<std::size_t>(row.at("rows").integer()), row.at("low").number(), row.at("high").number()};
  }
  return bands;
}

const CollectiveBands& published_collective_bands() {
  static const CollectiveBands bands = [] {
    for (const EmbeddedFile& file : embedded_platforms()) {
      const auto fit = Reader::text(file.content, "data/hardware/platforms/" + std::string(file.name)).find("fit");
      if (fit) return read_collective_bands(fit->at("sources_left_out").at("bands"));
    }
    return CollectiveBands{};
  }();
  return bands;
}

}  // namespace meshwright::calibrate
