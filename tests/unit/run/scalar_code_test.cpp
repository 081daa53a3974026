#include "unit/run/hand_kernel.h"

#include "scalar/eval.h"
#include "scalar/float8.h"
#include "scalar/half.h"

#include <cmath>
#include <cstring>
#include <limits>

// Compiled expressions against scalar/eval, for every operation and element type.

namespace kawara::run {
namespace {

using scalar::BinaryOp;
using scalar::UnaryOp;
using scalar::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

std::vector<double> float_samples() {
  return {0.0,  -0.0, 1.0,     -1.0,  0.5,   -0.5,      1.5,  2.5,        -2.5, 3.25,
          1e-3, 1e3,  65504.0, 1e-30, 1e300, kInfinity, 7.75, -kInfinity, kNan, 0.1};
}

std::vector<int64_t> integer_samples(Elem elem) {
  std::vector<int64_t> result{0, 1, -1, 2, -2, 3, 7, -7, 100, -100, 12345, -4096};
  if (scalar::bytes_of(elem) == 8)
    result.insert(result.end(), {std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max(), int64_t{1} << 53});
  else
    result.insert(result.end(),
                  {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()});
  return result;
}

void put(Elem elem, void* base, size_t at, Value v) {
  const auto write = [&](auto element) {
    std::memcpy(static_cast<char*>(base) + at * sizeof element, &element, sizeof element);
  };
  switch (elem) {
  case Elem::F64:
    return write(v.f);
  case Elem::F32:
    return write(static_cast<float>(v.f));
  case Elem::F16:
    return write(scalar::f16_bits(v.f));
  case Elem::BF16:
    return write(scalar::bf16_bits(v.f));
  case Elem::I64:
    return write(v.i);
  case Elem::I32:
    return write(static_cast<int32_t>(v.i));
  case Elem::U64:
    return write(v.i);
  case Elem::U32:
    return write(static_cast<uint32_t>(v.i));
  case Elem::I16:
  case Elem::U16:
    return write(static_cast<int16_t>(v.i));
  case Elem::F8E4M3:
  case Elem::F8E5M2:
    return write(scalar::float8_bits(elem, v.f));
  default:
    return write(static_cast<int8_t>(v.i));
  }
}

template <class T> T element_at(const void* base, size_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + at * sizeof(T), sizeof(T));
  return value;
}

Value get(Elem elem, const void* base, size_t at) {
  switch (elem) {
  case Elem::F64:
    return scalar::float_value(element_at<double>(base, at));
  case Elem::F32:
    return scalar::float_value(static_cast<double>(element_at<float>(base, at)));
  case Elem::F16:
    return scalar::float_value(scalar::f16_value(element_at<uint16_t>(base, at)));
  case Elem::BF16:
    return scalar::float_value(scalar::bf16_value(element_at<uint16_t>(base, at)));
  case Elem::I64:
    return scalar::int_value(element_at<int64_t>(base, at));
  case Elem::I32:
    return scalar::int_value(element_at<int32_t>(base, at));
  case Elem::I16:
    return scalar::int_value(element_at<int16_t>(base, at));
  case Elem::U64:
    return scalar::int_value(element_at<int64_t>(base, at));
  case Elem::U32:
    return scalar::int_value(element_at<uint32_t>(base, at));
  case Elem::U16:
    return scalar::int_value(element_at<uint16_t>(base, at));
  case Elem::I8:
    return scalar::int_value(element_at<int8_t>(base, at));
  case Elem::F8E4M3:
  case Elem::F8E5M2:
    return scalar::float_value(scalar::float8_value(elem, element_at<uint8_t>(base, at)));
  default:
    return scalar::int_value(element_at<uint8_t>(base, at));
  }
}

/// Values that an element of that type can hold.
std::vector<Value> samples(Elem elem) {
  std::vector<Value> result;
  if (scalar::is_float(elem)) {
    for (const double d : float_samples())
      result.push_back(scalar::float_value(scalar::round_to(elem, d)));
  } else {
    for (const int64_t i : integer_samples(scalar::compute_type(elem)))
      result.push_back(scalar::int_value(scalar::wrap_to(elem, i)));
  }
  return result;
}

void expect_same(Elem elem, Value want, Value got, double ulps, const std::string& what) {
  if (!scalar::is_float(elem)) {
    EXPECT_EQ(want.i, got.i) << what;
  } else if (std::isnan(want.f)) {
    EXPECT_TRUE(std::isnan(got.f)) << what << " gives " << got.f;
  } else if (ulps == 0 || std::isinf(want.f) || std::isinf(got.f)) {
    EXPECT_EQ(want.f, got.f) << what;
  } else {
    const double unit = elem == Elem::F64 ? 0x1p-52 : 0x1p-23;
    const double tiny = elem == Elem::F64 ? 1e-307 : 1e-37;
    EXPECT_NEAR(want.f, got.f, std::max(std::fabs(want.f) * unit * ulps, tiny)) << what;
  }
}

/// out[i] = f(a[i], b[i]) for all pairs of samples, scalar and in vectors of `lanes`.
void check(const std::function<Expr(Expr, Expr)>& f, Elem in, double ulps, const std::string& what,
           bool zero_divides = true) {
  std::vector<Value> a, b;
  for (const Value x : samples(in))
    for (const Value y : samples(in))
      if (zero_divides || y.i != 0) {
        a.push_back(x);
        b.push_back(y);
      }
  while (a.size() % 4 != 0) {
    a.push_back(a.back());
    b.push_back(b.back());
  }
  const auto n = static_cast<int64_t>(a.size());
  for (const uint16_t lanes : {uint16_t{1}, uint16_t{4}}) {
    HandKernel h;
    h.kernel.numerics = program::Numerics::Exact;
    const uint32_t A = h.buffer("A", in, {int_lit(n)}), B = h.buffer("B", in, {int_lit(n)});
    const uint32_t i = h.variable("i");
    const Expr at = scalar::ramp(h.var(i), 1, lanes);
    const Expr value = f(h.load(A, {at}), h.load(B, {at}));
    const Elem out = value.type().elem;
    const uint32_t C = h.buffer("C", out, {int_lit(n)});
    h.kernel.body = {loop(i, int_lit(0), int_lit(n), {store(C, {at}, value)}, lanes)};
    std::vector<double> x(a.size()), y(a.size()), z(a.size());
    for (size_t k = 0; k < a.size(); ++k) {
      put(in, x.data(), k, a[k]);
      put(in, y.data(), k, b[k]);
    }
    call(loaded(h.kernel), {x.data(), y.data(), z.data()});
    for (size_t k = 0; k < a.size(); ++k) {
      scalar::Leaves leaves;
      leaves.load = [&](const scalar::Load& l, const std::vector<int64_t>&, Elem) {
        return std::optional(l.tensor == A ? a[k] : b[k]);
      };
      leaves.var = [&](uint32_t) { return std::optional(scalar::int_value(0)); };
      const auto want = scalar::evaluate(value, leaves);
      ASSERT_TRUE(want);
      const bool is_float = scalar::is_float(in);
      const auto text = what + " of " +
                        (is_float ? std::to_string(a[k].f) : std::to_string(a[k].i)) + ", " +
                        (is_float ? std::to_string(b[k].f) : std::to_string(b[k].i)) + " x" +
                        std::to_string(lanes);
      expect_same(out, *want, get(out, z.data(), k), ulps, text);
    }
  }
}

TEST(ScalarCode, FloatArithmeticIsExact) {
  for (const Elem elem : {Elem::F32, Elem::F64})
    for (const BinaryOp op :
         {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min, BinaryOp::Max,
          BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne})
      check([op](Expr a, Expr b) { return scalar::binary(op, a, b); }, elem, 0,
            std::string(scalar::name_of(op)));
}

TEST(ScalarCode, IntegerArithmeticWrapsAndFloors) {
  for (const Elem elem : {Elem::I32, Elem::I64, Elem::U64})
    for (const BinaryOp op : {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::FloorDiv,
                              BinaryOp::Mod, BinaryOp::Min, BinaryOp::Max, BinaryOp::Lt,
                              BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne})
      check([op](Expr a, Expr b) { return scalar::binary(op, a, b); }, elem, 0,
            std::string(scalar::name_of(op)), op != BinaryOp::FloorDiv && op != BinaryOp::Mod);
}

TEST(ScalarCode, OperatorsOnBits) {
  for (const Elem elem : {Elem::I32, Elem::I64, Elem::U64})
    for (const BinaryOp op :
         {BinaryOp::BitAnd, BinaryOp::BitOr, BinaryOp::BitXor, BinaryOp::Shl, BinaryOp::Shr})
      check([op](Expr a, Expr b) { return scalar::binary(op, a, b); }, elem, 0,
            std::string(scalar::name_of(op)));
}

TEST(ScalarCode, FmaRoundsOnce) {
  for (const Elem elem : {Elem::F32, Elem::F64})
    check([](Expr a, Expr b) { return scalar::fma(a, b, a); }, elem, 0, "fma");
}

TEST(ScalarCode, DivisionByConstants) {
  for (const int64_t c : {1, 2, 8, 3, 7, -1, -4, -5})
    for (const BinaryOp op : {BinaryOp::FloorDiv, BinaryOp::Mod})
      check([&](Expr a, Expr) { return scalar::binary(op, a, int_lit(c, a.type())); }, Elem::I64, 0,
            std::string(scalar::name_of(op)) + " by " + std::to_string(c));
}

TEST(ScalarCode, Functions) {
  for (const Elem elem : {Elem::F32, Elem::F64}) {
    for (const UnaryOp op :
         {UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sqrt, UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Round})
      check([op](Expr a, Expr) { return scalar::unary(op, a); }, elem, 0,
            std::string(scalar::name_of(op)));
    for (const UnaryOp op :
         {UnaryOp::Exp, UnaryOp::Log, UnaryOp::Rsqrt, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Sigmoid,
          UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Exp2, UnaryOp::Log2})
      check([op](Expr a, Expr) { return scalar::unary(op, a); }, elem, 4,
            std::string(scalar::name_of(op)));
    check([](Expr a, Expr b) { return scalar::binary(BinaryOp::Pow, a, b); }, elem, 4, "pow");
    check([](Expr a, Expr b) { return scalar::binary(BinaryOp::Atan2, a, b); }, elem, 4, "atan2");
  }
  for (const UnaryOp op : {UnaryOp::Neg, UnaryOp::Abs})
    for (const Elem elem : {Elem::I64, Elem::U64})
      check([op](Expr a, Expr) { return scalar::unary(op, a); }, elem, 0,
            std::string(scalar::name_of(op)));
}

TEST(ScalarCode, LogicAndSelect) {
  for (const Elem elem : {Elem::I32, Elem::F64})
    check(
        [](Expr a, Expr b) {
          const Expr both = scalar::binary(
              BinaryOp::And, scalar::binary(BinaryOp::Lt, a, b),
              scalar::unary(UnaryOp::Not,
                            scalar::binary(BinaryOp::Eq, a, scalar::zero_of(a.type()))));
          const Expr either =
              scalar::binary(BinaryOp::Or, both, scalar::binary(BinaryOp::Gt, a, b));
          return scalar::select(either, a + b, a);
        },
        elem, 0, "select");
}

TEST(ScalarCode, EveryCast) {
  const std::vector<Elem> all{Elem::F64,    Elem::F32,    Elem::F16, Elem::BF16, Elem::I64,
                              Elem::I32,    Elem::I16,    Elem::I8,  Elem::U8,   Elem::Bool,
                              Elem::F8E4M3, Elem::F8E5M2, Elem::U16, Elem::U32,  Elem::U64};
  for (const Elem from : all)
    for (const Elem to : all)
      check(
          [to](Expr a, Expr) {
            return scalar::cast(a, {to, a.type().lanes});
          },
          from, 0, std::string(scalar::name_of(from)) + " to " + std::string(scalar::name_of(to)));
}

TEST(ScalarCode, CodeForAnotherMachineIsRefused) {
  HandKernel h;
  const uint32_t out = h.buffer("out", Elem::I64, {int_lit(1)});
  h.kernel.body = {store(out, {int_lit(0)}, int_lit(7))};
  emit::EmitOptions options;
  options.target = emit::host_code_target();
  // LLVM can make code for these wherever it can for their siblings.
  const bool is_arm = options.target->triple.rfind("aarch64", 0) == 0;
  *options.target = {is_arm ? "aarch64_be-linux-gnu" : "i686-linux-gnu", "", ""};
  const auto executable = load(emit::module_from_kernel(h.kernel, options));
  ASSERT_FALSE(executable);
  EXPECT_EQ(executable.error().code, "K0444");
}

} // namespace
} // namespace kawara::run
