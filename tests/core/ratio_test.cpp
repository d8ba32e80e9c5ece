#include "meshwright/core/ratio.hpp"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(Ratio, IsReducedWithPositiveDenominator) {
  EXPECT_EQ(Ratio(6, -8), Ratio(-3, 4));
  EXPECT_EQ(Ratio(0, 5), Ratio(0));
  EXPECT_EQ(Ratio(-3, 4).denominator(), 4);
}

TEST(Ratio, ArithmeticAgreesWithExactFractions) {
  for (int a = -6; a <= 6; ++a) {
    for (int b = 1; b <= 6; ++b) {
      for (int c = -6; c <= 6; ++c) {
        const Ratio x(a, b), y(c, 5);
        EXPECT_EQ(x + y, Ratio(a * 5 + c * b, b * 5));
        EXPECT_EQ(x - y, Ratio(a * 5 - c * b, b * 5));
        EXPECT_EQ(x < y, a * 5 < c * b);
        EXPECT_EQ(x * y, Ratio(a * c, b * 5));
        if (c == 0) continue;
        EXPECT_EQ(x / y, Ratio(a * 5, b * c));
      }
    }
  }
}

}  // namespace
}  // namespace meshwright
