#pragma once

#include "support/check.h"

#include <cstdint>
#include <numeric>

namespace kawara::estimate {

/// An exact fraction of 64-bit numbers, in lowest terms; one that does not fit is a bug.
class Rational {
public:
  __extension__ typedef __int128 Wide; ///< products of two numbers

  Rational(int64_t number = 0) : above_(number) {}
  Rational(int64_t above, int64_t below) : Rational(wide(above, below)) {}

  int64_t above() const { return above_; }
  int64_t below() const { return below_; } ///< positive
  double value() const { return static_cast<double>(above_) / static_cast<double>(below_); }

  friend Rational operator+(const Rational& a, const Rational& b) {
    return wide(static_cast<Wide>(a.above_) * b.below_ + static_cast<Wide>(b.above_) * a.below_,
                static_cast<Wide>(a.below_) * b.below_);
  }
  friend Rational operator-(const Rational& a, const Rational& b) { return a + b * Rational(-1); }
  friend Rational operator*(const Rational& a, const Rational& b) {
    return wide(static_cast<Wide>(a.above_) * b.above_, static_cast<Wide>(a.below_) * b.below_);
  }
  friend Rational operator/(const Rational& a, const Rational& b) {
    return wide(static_cast<Wide>(a.above_) * b.below_, static_cast<Wide>(a.below_) * b.above_);
  }
  friend bool operator==(const Rational&, const Rational&) = default;
  friend bool operator<(const Rational& a, const Rational& b) {
    return static_cast<Wide>(a.above_) * b.below_ < static_cast<Wide>(b.above_) * a.below_;
  }
  bool is_zero() const { return above_ == 0; }

private:
  static Rational wide(Wide above, Wide below) {
    KAWARA_CHECK(below != 0, "division by zero");
    if (below < 0) {
      above = -above;
      below = -below;
    }
    Wide a = above < 0 ? -above : above, b = below;
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    above /= a;
    below /= a;
    KAWARA_CHECK(above <= INT64_MAX && above >= -INT64_MAX && below <= INT64_MAX,
                 "a fraction is too large");
    Rational made;
    made.above_ = static_cast<int64_t>(above);
    made.below_ = static_cast<int64_t>(below);
    return made;
  }

  int64_t above_ = 0, below_ = 1;
};

} // namespace kawara::estimate
