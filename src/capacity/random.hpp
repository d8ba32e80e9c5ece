#pragma once
// Random numbers that are the same on every machine: the standard fixes the engine, not the distributions.
#include <cmath>
#include <cstdint>
#include <random>

namespace meshwright::capacity {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// Exponential with mean 1.
  double exponential() { return -std::log1p(-uniform()); }
  /// Standard normal (Box and Muller 1958).
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace meshwright::capacity
