#include "run/functions/function.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>

namespace kawara::run {
namespace {
namespace of_fourier {

using Complex = std::complex<double>;

/// Of a*b by its definition: that of the standard looks for infinities.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Discrete Fourier transforms of one length: sum over t of x[t] * exp(-+2 pi i f t / n), from the
/// transforms of the parts that every p-th number is, p the least prime factor of what is left (4
/// where it divides that).
class Transform {
public:
  Transform(int64_t n, bool is_inverse) : n_(n), is_inverse_(is_inverse) {
    turns_.reserve(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) {
      const double angle = 2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
      turns_.emplace_back(std::cos(angle), is_inverse ? std::sin(angle) : -std::sin(angle));
    }
    for (int64_t left = n; left > 1; left /= factors_.back())
      factors_.push_back(least_factor(left));
  }

  /// `x` and `y` have n numbers each and do not overlap.
  void operator()(const Complex* x, Complex* y) { part(x, 1, n_, 0, y); }

private:
  static int64_t least_factor(int64_t n) {
    if (n % 4 == 0)
      return 4;
    for (int64_t p = 2; p * p <= n; ++p)
      if (n % p == 0)
        return p;
    return n;
  }

  /// Of the `n` numbers x[0], x[step], ...; step * n is the whole length.
  void part(const Complex* x, int64_t step, int64_t n, size_t depth, Complex* y) {
    if (n == 1) {
      *y = *x;
      return;
    }
    const int64_t p = factors_[depth], m = n / p;
    for (int64_t r = 0; r < p; ++r)
      part(x + r * step, step * p, m, depth + 1, y + r * m);
    if (p == 4)
      join_four(y, m, step);
    else
      join(y, p, m, step);
  }

  void join_four(Complex* y, int64_t m, int64_t step) const {
    const double sign = is_inverse_ ? 1 : -1;
    for (int64_t k = 0; k < m; ++k) {
      const Complex a = y[k], b = product(y[k + m], turn(k * step)),
                    c = product(y[k + 2 * m], turn(2 * k * step)),
                    d = product(y[k + 3 * m], turn(3 * k * step));
      const Complex ac = a + c, without = a - c, bd = b + d;
      const Complex quarter{-sign * (b.imag() - d.imag()), sign * (b.real() - d.real())};
      y[k] = ac + bd;
      y[k + m] = without + quarter;
      y[k + 2 * m] = ac - bd;
      y[k + 3 * m] = without - quarter;
    }
  }

  void join(Complex* y, int64_t p, int64_t m, int64_t step) {
    terms_.resize(static_cast<size_t>(p));
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t r = 0; r < p; ++r)
        terms_[static_cast<size_t>(r)] = product(y[k + r * m], turn(r * k * step));
      for (int64_t q = 0; q < p; ++q) {
        Complex sum = terms_[0];
        for (int64_t r = 1; r < p; ++r)
          sum += product(terms_[static_cast<size_t>(r)], turn(r * q % p * m * step));
        y[k + q * m] = sum;
      }
    }
  }

  const Complex& turn(int64_t k) const { return turns_[static_cast<size_t>(k)]; }

  int64_t n_;
  bool is_inverse_;
  std::vector<Complex> turns_, terms_;
  std::vector<int64_t> factors_;
};

/// What is around the axis that is transformed, and how many numbers an element has.
struct Signals {
  int64_t outer = 1, length = 1, inner = 1, parts = 1;
};

void transform_all(const Tensor& x, const Signals& s, int64_t n, int64_t kept, bool is_inverse,
                   Tensor& out) {
  Transform transform(n, is_inverse);
  std::vector<Complex> signal(static_cast<size_t>(n)), spectrum(static_cast<size_t>(n));
  const double scale = is_inverse ? 1 / static_cast<double>(n) : 1;
  for (int64_t a = 0; a < s.outer; ++a)
    for (int64_t c = 0; c < s.inner; ++c) {
      for (int64_t t = 0; t < std::min(n, s.length); ++t) {
        const int64_t at = ((a * s.length + t) * s.inner + c) * s.parts;
        signal[static_cast<size_t>(t)] = {x.get_double(at),
                                          s.parts == 2 ? x.get_double(at + 1) : 0};
      }
      transform(signal.data(), spectrum.data());
      for (int64_t f = 0; f < kept; ++f) {
        const int64_t to = ((a * kept + f) * s.inner + c) * 2;
        out.set_double(to, spectrum[static_cast<size_t>(f)].real() * scale);
        out.set_double(to + 1, spectrum[static_cast<size_t>(f)].imag() * scale);
      }
    }
}

/// Sums of waves along an axis: forward or inverse, of real or complex values (last dimension 1 or
/// 2).
Outputs dft(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  const bool is_operand = call.opset >= 20; // an attribute before
  const int64_t given = !is_operand                                     ? call.integer("axis", 1)
                        : call.has(2) && call.tensor(2).elements() == 1 ? call.tensor(2).get_int(0)
                                                                        : -2;
  const int64_t axis = axis_of(given, x.rank());
  if (axis < 0 || axis == x.rank() - 1 || x.rank() < 2 ||
      (x.shape().back() != 1 && x.shape().back() != 2))
    return fail(
        std::string("signals with a last dimension of 1 or 2, and another axis, are needed"));
  const bool is_inverse = call.integer("inverse", 0) != 0,
             is_half = call.integer("onesided", 0) != 0;
  const int64_t parts = x.shape().back(), length = x.shape()[static_cast<size_t>(axis)];
  const int64_t n =
      call.has(1) && call.tensor(1).elements() == 1 ? call.tensor(1).get_int(0) : length;
  if (n < 1 || n > (1 << 24))
    return fail(fmt::format("its length is {}", n));
  const int64_t kept = is_half ? n / 2 + 1 : n;
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = kept;
  shape.back() = 2;
  Tensor out(x.type(), shape);
  Signals s;
  s.length = length;
  s.parts = parts;
  for (int64_t k = 0; k < x.rank() - 1; ++k)
    (k < axis ? s.outer : s.inner) *= k == axis ? 1 : x.shape()[static_cast<size_t>(k)];
  transform_all(x, s, n, kept, is_inverse, out);
  return one(std::move(out));
}

/// Spectra of overlapping frames of real signals [batch, length, 1].
Outputs stft(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  const int64_t step = call.tensor(1).elements() == 1 ? call.tensor(1).get_int(0) : 0;
  const int64_t n = call.has(3)   ? call.tensor(3).get_int(0)
                    : call.has(2) ? call.tensor(2).elements()
                                  : 0;
  if (x.rank() != 3 || x.shape()[2] != 1 || step < 1 || n < 1 || n > x.shape()[1] ||
      (call.has(2) && call.tensor(2).elements() != n))
    return fail(
        std::string("real signals [batch, length, 1], a step, and a frame that fits are needed"));
  const int64_t frames = (x.shape()[1] - n) / step + 1;
  const int64_t kept = call.integer("onesided", 1) != 0 ? n / 2 + 1 : n;
  Tensor out(x.type(), {x.shape()[0], frames, kept, 2});
  Transform transform(n, false);
  std::vector<Complex> signal(static_cast<size_t>(n)), spectrum(static_cast<size_t>(n));
  for (int64_t b = 0; b < x.shape()[0]; ++b)
    for (int64_t s = 0; s < frames; ++s) {
      for (int64_t t = 0; t < n; ++t)
        signal[static_cast<size_t>(t)] = x.get_double(b * x.shape()[1] + s * step + t) *
                                         (call.has(2) ? call.tensor(2).get_double(t) : 1);
      transform(signal.data(), spectrum.data());
      for (int64_t f = 0; f < kept; ++f) {
        const int64_t to = ((b * frames + s) * kept + f) * 2;
        out.set_double(to, spectrum[static_cast<size_t>(f)].real());
        out.set_double(to + 1, spectrum[static_cast<size_t>(f)].imag());
      }
    }
  return one(std::move(out));
}

constexpr Function kAll[] = {{"DFT", 1, dft}, {"STFT", 2, stft}};

} // namespace of_fourier
} // namespace

std::span<const Function> fourier_functions() { return of_fourier::kAll; }

} // namespace kawara::run
