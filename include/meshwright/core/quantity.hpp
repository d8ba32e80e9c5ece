#pragma once
// A double that knows its dimension. One number inside (base units: byte, second, FLOP, joule, dollar),
// named factories and accessors as the only doors. Compiles to the same instructions as a plain double.
#include <compare>
#include <concepts>

#include "meshwright/core/namespaces.hpp"

namespace meshwright {

/// Exponents of the base units. Bandwidth is {1, -1, 0, 0, 0}, power {0, -1, 0, 1, 0}.
struct Dimension {
  int byte = 0, second = 0, flop = 0, joule = 0, dollar = 0;

  friend constexpr bool operator==(const Dimension&, const Dimension&) = default;
  friend constexpr Dimension operator+(Dimension a, Dimension b) {
    return {a.byte + b.byte, a.second + b.second, a.flop + b.flop, a.joule + b.joule, a.dollar + b.dollar};
  }
  friend constexpr Dimension operator-(Dimension a, Dimension b) {
    return {a.byte - b.byte, a.second - b.second, a.flop - b.flop, a.joule - b.joule, a.dollar - b.dollar};
  }
};

/// A value in base units with dimension `D`. Default-constructed is zero.
template <Dimension D>
class Quantity {
 public:
  static constexpr Dimension dimension = D;

  constexpr Quantity() = default;
  /// The only way in from a bare number; `value` is in base units (bytes, seconds, FLOP, joules, dollars).
  static constexpr Quantity base(double value) {
    Quantity q;
    q.value_ = value;
    return q;
  }
  /// The only way out to a bare number, in base units.
  constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  friend constexpr Quantity operator-(Quantity a) { return base(-a.value_); }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return base(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return base(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double b) { return base(a.value_ * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return base(a * b.value_); }
  friend constexpr Quantity operator/(Quantity a, double b) { return base(a.value_ / b); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0;
};

template <Dimension A, Dimension B>
constexpr auto operator*(Quantity<A> a, Quantity<B> b) {
  if constexpr (A + B == Dimension{}) {
    return a.value() * b.value();
  } else {
    return Quantity<A + B>::base(a.value() * b.value());
  }
}

template <Dimension A, Dimension B>
constexpr auto operator/(Quantity<A> a, Quantity<B> b) {
  if constexpr (A == B) {
    return a.value() / b.value();
  } else {
    return Quantity<A - B>::base(a.value() / b.value());
  }
}

using Bytes = Quantity<Dimension{.byte = 1}>;
using Seconds = Quantity<Dimension{.second = 1}>;
using Flops = Quantity<Dimension{.flop = 1}>;
using Joules = Quantity<Dimension{.joule = 1}>;
using Dollars = Quantity<Dimension{.dollar = 1}>;
using BytesPerSecond = Quantity<Dimension{.byte = 1, .second = -1}>;
using SecondsPerByte = Quantity<Dimension{.byte = -1, .second = 1}>;
using FlopsPerSecond = Quantity<Dimension{.second = -1, .flop = 1}>;
using Watts = Quantity<Dimension{.second = -1, .joule = 1}>;
using Hertz = Quantity<Dimension{.second = -1}>;
using DollarsPerSecond = Quantity<Dimension{.second = -1, .dollar = 1}>;
using DollarsPerJoule = Quantity<Dimension{.joule = -1, .dollar = 1}>;

/// Decimal prefixes throughout: GB = 10^9 bytes; GiB only when spelled out. Gb/s = 10^9 bits per second.
namespace literals {
constexpr Bytes operator""_B(long double v) { return Bytes::base(static_cast<double>(v)); }
constexpr Bytes operator""_B(unsigned long long v) { return Bytes::base(static_cast<double>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes::base(static_cast<double>(v) * 1024); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes::base(static_cast<double>(v) * 1048576); }
constexpr Bytes operator""_GiB(unsigned long long v) { return Bytes::base(static_cast<double>(v) * 1073741824); }
constexpr Bytes operator""_GB(unsigned long long v) { return Bytes::base(static_cast<double>(v) * 1e9); }
constexpr Bytes operator""_GB(long double v) { return Bytes::base(static_cast<double>(v) * 1e9); }
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return BytesPerSecond::base(static_cast<double>(v) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(long double v) { return BytesPerSecond::base(static_cast<double>(v) * 1e9); }
constexpr BytesPerSecond operator""_Gbps(unsigned long long v) {
  return BytesPerSecond::base(static_cast<double>(v) * 1e9 / 8);
}
constexpr FlopsPerSecond operator""_TFLOPps(unsigned long long v) {
  return FlopsPerSecond::base(static_cast<double>(v) * 1e12);
}
constexpr Seconds operator""_s(long double v) { return Seconds::base(static_cast<double>(v)); }
constexpr Seconds operator""_s(unsigned long long v) { return Seconds::base(static_cast<double>(v)); }
constexpr Seconds operator""_ms(long double v) { return Seconds::base(static_cast<double>(v) * 1e-3); }
constexpr Seconds operator""_ms(unsigned long long v) { return Seconds::base(static_cast<double>(v) * 1e-3); }
constexpr Seconds operator""_us(long double v) { return Seconds::base(static_cast<double>(v) * 1e-6); }
constexpr Seconds operator""_us(unsigned long long v) { return Seconds::base(static_cast<double>(v) * 1e-6); }
constexpr Seconds operator""_ns(unsigned long long v) { return Seconds::base(static_cast<double>(v) * 1e-9); }
}  // namespace literals

}  // namespace meshwright
