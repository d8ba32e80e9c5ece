// The table of assumptions: ranges, sources, reading over defaults.
#include "meshwright/capacity/inputs.hpp"
#include "core/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/normal.hpp"
#include "meshwright/core/error.hpp"
#include "source_dir.hpp"

namespace meshwright::tests {
namespace {
using namespace capacity;
using testing::HasSubstr;

std::string refusal(const char* json) {
  Inputs inputs;
  return meshwright::refusal([&] { inputs.take(Reader::text(json, "s.json"), "prices"); });
}

TEST(Inputs, EveryDefaultHasARangeADateAndASource) {
  const Inputs inputs;
  for (const Input& input : inputs.rows()) {
    EXPECT_FALSE(input.source.empty()) << input.name;
    EXPECT_FALSE(input.what.empty()) << input.name;
    EXPECT_THAT(input.date, testing::MatchesRegex("20[0-9][0-9](-[01][0-9])?")) << input.name;
    EXPECT_LE(input.low, input.value) << input.name;
    EXPECT_GE(input.high, input.value) << input.name;
  }
}

TEST(Inputs, TakeUnitsOverDefaults) {
  Inputs inputs;
  inputs.take(
      Reader::text(R"({"energy": "0.05 USD/kWh", "pue": 1.1, "depreciation": "4 years", "residual": "20 %"})", "s"),
      "prices");
  EXPECT_DOUBLE_EQ(inputs("prices.energy") * 3.6e6, 0.05);
  EXPECT_DOUBLE_EQ(inputs("prices.pue"), 1.1);
  EXPECT_DOUBLE_EQ(inputs("prices.depreciation"), 4 * 31557600.0);
  EXPECT_DOUBLE_EQ(inputs("prices.residual"), 0.2);
  EXPECT_TRUE(inputs.row("prices.energy").stated);
  EXPECT_FALSE(inputs.row("prices.interest").stated);
  // The default's relative range: 0.05 / 0.081 to 0.15 / 0.081.
  EXPECT_NEAR(inputs.row("prices.energy").high / inputs("prices.energy"), 0.15 / 0.081, 1e-9);
}

TEST(Inputs, ARangeMayBeStated) {
  Inputs inputs;
  inputs.take(Reader::text(R"({"energy": {"value": "0.06 $/kWh", "low": "0.05 $/kWh", "high": "0.09 $/kWh",
                                           "source": "offer of 3 March"}})",
                           "s"),
              "prices");
  EXPECT_DOUBLE_EQ(inputs.row("prices.energy").low * 3.6e6, 0.05);
  EXPECT_EQ(inputs.row("prices.energy").source, "offer of 3 March");
  EXPECT_THROW(inputs.take_range(Reader::text(R"(["0.07 $/kWh", "0.09 $/kWh"])", "s"), "prices.energy"), Error);
}

TEST(Inputs, RefuseWhatTheyCannotBe) {
  EXPECT_THAT(refusal(R"({"energy": 0.08})"), HasSubstr("s.json:/energy"));
  EXPECT_THAT(refusal(R"({"energy": "0.08 USD"})"), HasSubstr("$/kWh"));
  EXPECT_THAT(refusal(R"({"enrgy": "0.08 $/kWh"})"), HasSubstr("energy"));
  EXPECT_THAT(refusal(R"({"pue": 0.5})"), HasSubstr("from 1 to 5"));
  EXPECT_THAT(refusal(R"({"residual": "120 %"})"), HasSubstr("/residual"));
  EXPECT_THAT(refusal(R"({"node": "1e300 $"})"), HasSubstr("/node"));
  EXPECT_THAT(refusal(R"({"carbon": "367"})"), HasSubstr("g/kWh"));
  EXPECT_THROW(Inputs().named("energie", "--vary"), Error);
  EXPECT_EQ(Inputs().named("energy", "x").name, "prices.energy");
}

TEST(Inputs, DrawsMeetTheirDeciles) {
  const Inputs inputs;
  for (const Input& input : inputs.rows()) {
    const double scale = std::max(1e-12, input.high);
    EXPECT_NEAR(input.at(0.5) / scale, input.value / scale, 1e-9) << input.name;
    EXPECT_NEAR(input.at(0.9) / scale, input.high / scale, 1e-9) << input.name;
    EXPECT_NEAR(input.at(0.1) / scale, input.low / scale, 1e-9) << input.name;
    EXPECT_GE(input.at(1e-6), input.least) << input.name;
    EXPECT_LE(input.at(1 - 1e-6), input.most) << input.name;
  }
}

// Abramowitz and Stegun, table 26.1.
TEST(Normal, QuantilesAreExact) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
}

// Candidates state it as a share, tornado and break-even show it so.
TEST(Inputs, APremiumReadsAsWhatItAdds) {
  Inputs inputs;
  inputs.set(network_premium, 0.2);
  const Input& premium = inputs.row(network_premium);
  EXPECT_EQ(format_value(0.2, premium), "+20.0 %");
  EXPECT_THAT(describe(premium), HasSubstr("prices.network_premium: +20.0 %"));
}

// The accelerators of the runs that the step time is calibrated on.
TEST(Inputs, ReferenceRanksAreTheMedianOfThePublishedRuns) {
  std::vector<int> counts;
  for (const Reader& run : Reader::lines(source_dir() / "data/runs/published.jsonl"))
    counts.push_back(run.at("cluster").integer_or("count", 0));
  std::erase(counts, 0);
  std::ranges::nth_element(counts, counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2));
  EXPECT_EQ(Inputs()("stragglers.reference_ranks"), counts[counts.size() / 2]);
}

}  // namespace
}  // namespace meshwright::tests
