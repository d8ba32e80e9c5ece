#pragma once
// Exact rational arithmetic for the coefficients of collective algorithms.
#include <cstdint>
#include <numeric>

#include "meshwright/core/namespaces.hpp"

namespace meshwright {

/// A reduced fraction with positive denominator. Overflow is undefined: coefficients stay far below 2^31.
class Ratio {
 public:
  constexpr Ratio(std::int64_t numerator = 0, std::int64_t denominator = 1) {  // NOLINT: implicit from integers
    const std::int64_t divisor = std::gcd(numerator, denominator);
    const std::int64_t sign = denominator < 0 ? -1 : 1;
    numerator_ = divisor == 0 ? 0 : sign * numerator / divisor;
    denominator_ = divisor == 0 ? 1 : sign * denominator / divisor;
  }
  constexpr std::int64_t numerator() const { return numerator_; }
  constexpr std::int64_t denominator() const { return denominator_; }
  constexpr double value() const { return static_cast<double>(numerator_) / static_cast<double>(denominator_); }

  friend constexpr Ratio operator+(Ratio a, Ratio b) {
    const std::int64_t g = std::gcd(a.denominator_, b.denominator_);
    return {a.numerator_ * (b.denominator_ / g) + b.numerator_ * (a.denominator_ / g),
            a.denominator_ / g * b.denominator_};
  }
  friend constexpr Ratio operator-(Ratio a, Ratio b) { return a + Ratio(-b.numerator_, b.denominator_); }
  friend constexpr Ratio operator*(Ratio a, Ratio b) {
    const Ratio x(a.numerator_, b.denominator_), y(b.numerator_, a.denominator_);
    return {x.numerator_ * y.numerator_, x.denominator_ * y.denominator_};
  }
  friend constexpr Ratio operator/(Ratio a, Ratio b) { return a * Ratio(b.denominator_, b.numerator_); }
  constexpr Ratio& operator+=(Ratio b) { return *this = *this + b; }
  friend constexpr bool operator==(Ratio, Ratio) = default;
  friend constexpr bool operator<(Ratio a, Ratio b) { return (a - b).numerator_ < 0; }
  friend constexpr bool operator<=(Ratio a, Ratio b) { return !(b < a); }

 private:
  std::int64_t numerator_ = 0, denominator_ = 1;
};

}  // namespace meshwright
