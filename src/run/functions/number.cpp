#include "run/functions/function.h"

#include <fmt/format.h>

#include <cmath>

namespace kawara::run {
namespace {
namespace of_number {

/// Calls f with a value of the C++ type of unsigned elements; false for other types.
template <class F> bool with_unsigned(DataType type, F f) {
  switch (type) {
  case DataType::U8:
    return f(uint8_t{}), true;
  case DataType::U16:
    return f(uint16_t{}), true;
  case DataType::U32:
    return f(uint32_t{}), true;
  case DataType::U64:
    return f(uint64_t{}), true;
  default:
    return false;
  }
}

/// Element of `x` that is stretched to the place `at` of the result.
int64_t stretched(const Tensor& x, const Shape& result, int64_t at) {
  int64_t element = 0, step = 1;
  for (size_t k = 0; k < result.size(); ++k) {
    const size_t d = result.size() - 1 - k;
    const int64_t coordinate = at % result[d];
    at /= result[d];
    if (k >= x.shape().size())
      continue;
    const int64_t extent = x.shape()[x.shape().size() - 1 - k];
    element += extent == 1 ? 0 : coordinate * step;
    step *= extent;
  }
  return element;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (const Shape* shape : {&a, &b})
    for (size_t k = 0; k < shape->size(); ++k) {
      const int64_t extent = (*shape)[shape->size() - 1 - k];
      int64_t& slot = out[out.size() - 1 - k];
      if (extent != 1 && slot != 1 && slot != extent)
        return std::nullopt;
      slot = extent == 1 ? slot : extent;
    }
  return out;
}

/// Calls f(element of the result, element of x, element of y).
template <class F> void for_each_pair(const Tensor& x, const Tensor& y, const Shape& result, F f) {
  const int64_t count = graph::elements_of(result).value_or(0);
  if (x.shape() == result && y.shape() == result) {
    for (int64_t k = 0; k < count; ++k)
      f(k, k, k);
    return;
  }
  for (int64_t k = 0; k < count; ++k)
    f(k, stretched(x, result, k), stretched(y, result, k));
}

Outputs bit_shift(const FunctionCall& call) {
  const Tensor &x = call.tensor(0), &y = call.tensor(1);
  const auto shape = broadcast(x.shape(), y.shape());
  if (!shape || x.type() != y.type())
    return fail(std::string("its inputs differ in type or do not fit in shape"));
  const std::string direction = call.word("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return fail(std::string("attribute `direction` must be LEFT or RIGHT"));
  Tensor out = call.result(0, x.type(), *shape);
  const bool is_known = with_unsigned(x.type(), [&](auto sample) {
    using T = decltype(sample);
    const auto each = [&](const auto& moved) {
      for_each_pair(x, y, *shape, [&](int64_t k, int64_t i, int64_t j) {
        const auto value = static_cast<uint64_t>(x.as<T>()[i]);
        const auto by = static_cast<uint64_t>(y.as<T>()[j]);
        out.as<T>()[k] = static_cast<T>(by > 63 ? 0 : moved(value, by));
      });
    };
    if (direction == "LEFT")
      each([](uint64_t value, uint64_t by) { return value << by; });
    else
      each([](uint64_t value, uint64_t by) { return value >> by; });
  });
  if (!is_known)
    return fail(std::string("only unsigned integers can be shifted"));
  return one(std::move(out));
}

/// std::fmod, where the whole part of the quotient has few digits without its loop: then the
/// product below is exact in f64.
float rest_of(float x, float y) {
  const double quotient = static_cast<double>(x) / static_cast<double>(y);
  constexpr double few = 1 << 29;
  if (!(std::abs(quotient) < few))
    return std::fmod(x, y);
  const auto whole = static_cast<double>(static_cast<int32_t>(quotient));
  if (whole == 0)
    return x;
  double rest = static_cast<double>(x) - whole * static_cast<double>(y);
  // The quotient may have been rounded up to a whole number.
  if (rest != 0 && (rest < 0) != (x < 0))
    rest += std::copysign(static_cast<double>(y), static_cast<double>(x));
  return std::copysign(static_cast<float>(rest), x);
}

/// Rest of a division of floats, with the sign of the dividend. Exact in f64, whichever of the
/// types they have.
Outputs mod(const FunctionCall& call) {
  const Tensor &x = call.tensor(0), &y = call.tensor(1);
  const auto shape = broadcast(x.shape(), y.shape());
  if (!shape || x.type() != y.type() || !graph::is_float(x.type()))
    return fail(std::string("its inputs differ in type or do not fit in shape"));
  if (call.integer("fmod", 0) == 0)
    return fail(std::string("floats need the attribute fmod = 1"));
  Tensor out = call.result(0, x.type(), *shape);
  if (x.type() == DataType::F32)
    for_each_pair(x, y, *shape, [&](int64_t k, int64_t i, int64_t j) {
      out.as<float>()[k] = rest_of(x.as<float>()[i], y.as<float>()[j]);
    });
  else
    for_each_pair(x, y, *shape, [&](int64_t k, int64_t i, int64_t j) {
      out.set_double(k, std::fmod(x.get_double(i), y.get_double(j)));
    });
  return one(std::move(out));
}

/// Determinant of each matrix, by elimination with the largest pivot.
Outputs det(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  if (x.rank() < 2 || x.shape().back() != x.shape()[x.shape().size() - 2])
    return fail("square matrices are needed, not " + graph::text_of(x.shape()));
  const int64_t n = x.shape().back();
  Tensor out(x.type(), Shape(x.shape().begin(), x.shape().end() - 2));
  std::vector<double> m(static_cast<size_t>(n * n));
  const auto element = [&](int64_t i, int64_t j) -> double& {
    return m[static_cast<size_t>(i * n + j)];
  };
  for (int64_t b = 0; b < out.elements(); ++b) {
    for (int64_t k = 0; k < n * n; ++k)
      m[static_cast<size_t>(k)] = x.get_double(b * n * n + k);
    double value = 1;
    for (int64_t p = 0; p < n; ++p) {
      int64_t best = p;
      for (int64_t i = p + 1; i < n; ++i)
        if (std::abs(element(i, p)) > std::abs(element(best, p)))
          best = i;
      if (best != p)
        value = -value;
      for (int64_t j = 0; j < n; ++j)
        std::swap(element(p, j), element(best, j));
      value *= element(p, p);
      for (int64_t i = p + 1; i < n && element(p, p) != 0; ++i) {
        const double factor = element(i, p) / element(p, p);
        for (int64_t j = p; j < n; ++j)
          element(i, j) -= factor * element(p, j);
      }
    }
    out.set_double(b, value);
  }
  return one(std::move(out));
}

/// Triangular filters that turn a spectrum into the mel scale.
Outputs mel_weight_matrix(const FunctionCall& call) {
  for (size_t k = 0; k < 5; ++k)
    if (call.tensor(k).elements() != 1)
      return fail(fmt::format("input {} must be one number", k));
  const int64_t bins = call.tensor(0).get_int(0), length = call.tensor(1).get_int(0),
                rate = call.tensor(2).get_int(0);
  const double low = call.tensor(3).get_double(0), high = call.tensor(4).get_double(0);
  const int64_t spectrum = length / 2 + 1;
  if (bins < 1 || length < 1 || rate < 1 || bins > (1 << 20) || spectrum > (1 << 20) ||
      high < low || low < 0)
    return fail(std::string("its sizes or edges are out of bounds"));
  const auto type = graph::data_type_with_number(call.integer("output_datatype", 1));
  if (!type)
    return fail(std::string("attribute `output_datatype` names no type that Kawara has"));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<int64_t> edges;
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  for (int64_t k = 0; k < bins + 2; ++k) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(k) * step + mel(low)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  Tensor out(*type, {spectrum, bins});
  const auto set = [&](int64_t at, int64_t bin, double value) {
    if (at >= 0 && at < spectrum)
      out.set_double(at * bins + bin, value);
  };
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t from = edges[static_cast<size_t>(b)], centre = edges[static_cast<size_t>(b + 1)],
                  to = edges[static_cast<size_t>(b + 2)];
    if (centre == from)
      set(centre, b, 1);
    for (int64_t k = from; k <= centre && centre != from; ++k)
      set(k, b, static_cast<double>(k - from) / static_cast<double>(centre - from));
    for (int64_t k = centre; k < to && to != centre; ++k)
      set(k, b, static_cast<double>(to - k) / static_cast<double>(to - centre));
  }
  return one(std::move(out));
}

/// Functions that programs do not have, by the C library.
template <double (*function)(double)> Outputs apply(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  if (!graph::is_float(x.type()))
    return fail(std::string("floats are needed"));
  Tensor out(x.type(), x.shape());
  for (int64_t k = 0; k < x.elements(); ++k)
    out.set_double(k, function(x.get_double(k)));
  return one(std::move(out));
}

constexpr Function kAll[] = {{"Acos", 1, apply<std::acos>},
                             {"Acosh", 1, apply<std::acosh>},
                             {"Asin", 1, apply<std::asin>},
                             {"Asinh", 1, apply<std::asinh>},
                             {"Atan", 1, apply<std::atan>},
                             {"Atanh", 1, apply<std::atanh>},
                             {"Cosh", 1, apply<std::cosh>},
                             {"Sinh", 1, apply<std::sinh>},
                             {"Tan", 1, apply<std::tan>},
                             {"BitShift", 2, bit_shift},
                             {"Det", 1, det},
                             {"MelWeightMatrix", 5, mel_weight_matrix},
                             {"Mod", 2, mod}};

} // namespace of_number
} // namespace

std::span<const Function> number_functions() { return of_number::kAll; }

} // namespace kawara::run
