#include "meshwright/core/quantity.hpp"

#include <gtest/gtest.h>

namespace meshwright {
namespace {
using namespace literals;

TEST(Quantity, DimensionsFollowTheArithmetic) {
  constexpr Seconds time = 80_GB / 400_Gbps;
  EXPECT_DOUBLE_EQ(time.value(), 1.6);
  constexpr double ratio = 80_GB / 40_GB;
  EXPECT_DOUBLE_EQ(ratio, 2);
  constexpr Bytes moved = 450_GBps * 2_us;
  EXPECT_DOUBLE_EQ(moved.value(), 900e3);
  static_assert(std::is_same_v<decltype(Flops{} / Seconds{}), FlopsPerSecond>);
}

TEST(Quantity, GigabytesAreDecimalAndGibibytesAreNot) {
  EXPECT_DOUBLE_EQ((1_GB).value(), 1e9);
  EXPECT_DOUBLE_EQ((1_GiB).value(), 1073741824.0);
  EXPECT_DOUBLE_EQ((400_Gbps).value(), 50e9);
}

TEST(Quantity, ComparesAndAccumulates) {
  Seconds sum;
  sum += 3_ms;
  sum -= 1_ms;
  EXPECT_EQ(sum, 2_ms);
  EXPECT_LT(1_us, 1_ms);
}

}  // namespace
}  // namespace meshwright
