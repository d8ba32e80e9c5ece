// Spare hosts against a simulation, and what was published.
#include "meshwright/capacity/spares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "capacity/random.hpp"

namespace meshwright::tests {
namespace {
using namespace capacity;

/// Share of failures that find no spare, with exponential repairs: hosts come back one by one.
double simulated_shortage(double rate, double repair, int spares, int failures) {
  Random random(3);
  std::vector<double> back;
  double now = 0;
  int found_none = 0;
  for (int i = 0; i < failures; ++i) {
    now += random.exponential() / rate;
    std::erase_if(back, [&](double t) { return t <= now; });
    found_none += static_cast<int>(back.size()) >= spares ? 1 : 0;
    back.push_back(now + repair * random.exponential());
  }
  return static_cast<double>(found_none) / failures;
}

TEST(Spares, ShortageIsPoisson) {
  for (const int spares : {0, 1, 4, 8}) {
    EXPECT_NEAR(shortage(4.0, spares), simulated_shortage(1.0 / 3, 12, spares, 200000), 0.005) << spares;
  }
  EXPECT_EQ(shortage(0, 1), 0);
}

TEST(Spares, AreTheFewestThatSuffice) {
  for (const double in_repair : {0.1, 1.0, 6.6, 50.0, 400.0}) {
    const int spares = spares_for(in_repair, 0.01);
    EXPECT_LE(shortage(in_repair, spares), 0.01);
    EXPECT_GT(shortage(in_repair, spares - 1), 0.01);
  }
}

// ByteRobust (SOSP 2025, section 6.2): two standby machines for 128, three for 512, at the ninety-ninth percentile of
// simultaneous failures. Its machines (16 GPUs) fail 3 to 8 times in 1,000 days and are replaced within the hour.
TEST(Spares, ByteRobustStandbyMachines) {
  EXPECT_LE(spares_for(128 * 8e-3 / 24, 0.01), 2);
  EXPECT_LE(spares_for(512 * 8e-3 / 24, 0.01), 3);
  EXPECT_GE(spares_for(512 * 8e-3 / 24, 0.01), 1);
}

}  // namespace
}  // namespace meshwright::tests
