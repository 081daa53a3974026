#include "scalar/eval.h"

#include "scalar/algebra.h"
#include "scalar/match.h"
#include "scalar/table.h"
#include "support/check.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace kawara::scalar {
namespace {

/// x / (1 + exp(-z)), where z goes to minus infinity with x.
double gated(double x, double z) {
  return x == -std::numeric_limits<double>::infinity() ? -0.0 : x / (1.0 + std::exp(-z));
}

double gelu(double x) {
  if (x == -std::numeric_limits<double>::infinity())
    return -0.0;
  return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); // erfc keeps the digits of the lower tail
}

double gelu_tanh(double x) {
  const double root = std::sqrt(2.0 * std::numbers::inv_pi);
  return gated(x, 2.0 * root * (x + 0.044715 * x * x * x)); // 1 + tanh(z) is 2 / (1 + exp(-2z))
}

double on_float(UnaryOp op, double x) {
  switch (op) {
  case UnaryOp::Neg:
    return -x;
  case UnaryOp::Abs:
    return std::fabs(x);
  case UnaryOp::Exp:
    return std::exp(x);
  case UnaryOp::Log:
    return std::log(x);
  case UnaryOp::Exp2:
    return std::exp2(x);
  case UnaryOp::Log2:
    return std::log2(x);
  case UnaryOp::Sqrt:
    return std::sqrt(x);
  case UnaryOp::Rsqrt:
    return 1.0 / std::sqrt(x);
  case UnaryOp::Tanh:
    return std::tanh(x);
  case UnaryOp::Erf:
    return std::erf(x);
  case UnaryOp::Sigmoid:
    return 1.0 / (1.0 + std::exp(-x));
  case UnaryOp::Sin:
    return std::sin(x);
  case UnaryOp::Cos:
    return std::cos(x);
  case UnaryOp::Floor:
    return std::floor(x);
  case UnaryOp::Ceil:
    return std::ceil(x);
  case UnaryOp::Round:
    return std::nearbyint(x);
  case UnaryOp::Silu:
    return gated(x, x);
  case UnaryOp::Gelu:
    return gelu(x);
  case UnaryOp::GeluTanh:
    return gelu_tanh(x);
  case UnaryOp::Not:
  case UnaryOp::Bits:
  case UnaryOp::FromBits:
    break;
  }
  KAWARA_CHECK(false, std::string(name_of(op)) + " of a float");
}

/// Integer arithmetic in unsigned, where wrapping is defined.
int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1)
    return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1)
    return wrapped(-static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// What of u64 differs from i64 of the same bits.
std::optional<Value> on_naturals(BinaryOp op, uint64_t a, uint64_t b) {
  const auto value = [](uint64_t v) { return std::optional(int_value(wrapped(v))); };
  switch (op) {
  case BinaryOp::FloorDiv:
    return b == 0 ? std::nullopt : value(a / b);
  case BinaryOp::Mod:
    return b == 0 ? std::nullopt : value(a % b);
  case BinaryOp::Min:
    return value(std::min(a, b));
  case BinaryOp::Max:
    return value(std::max(a, b));
  case BinaryOp::Shr:
    return value(a >> (b % 64));
  case BinaryOp::Lt:
    return value(a < b);
  case BinaryOp::Le:
    return value(a <= b);
  case BinaryOp::Gt:
    return value(a > b);
  case BinaryOp::Ge:
    return value(a >= b);
  default:
    return std::nullopt;
  }
}

bool differs_in_u64(BinaryOp op) {
  return op == BinaryOp::FloorDiv || op == BinaryOp::Mod || op == BinaryOp::Min ||
         op == BinaryOp::Max || op == BinaryOp::Shr || (op >= BinaryOp::Lt && op <= BinaryOp::Ge);
}

std::optional<Value> on_integers(BinaryOp op, Elem elem, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  const auto value = [elem](int64_t v) { return int_value(wrap_to(elem, v)); };
  const auto bits = static_cast<uint64_t>(bytes_of(elem)) * 8;
  if (elem == Elem::U64 && differs_in_u64(op))
    return on_naturals(op, x, y);
  switch (op) {
  case BinaryOp::BitAnd:
    return value(a & b);
  case BinaryOp::BitOr:
    return value(a | b);
  case BinaryOp::BitXor:
    return value(a ^ b);
  case BinaryOp::Shl:
    return value(wrapped(x << (y % bits)));
  case BinaryOp::Shr:
    return value(a >> (y % bits));
  case BinaryOp::Add:
    return value(wrapped(x + y));
  case BinaryOp::Sub:
    return value(wrapped(x - y));
  case BinaryOp::Mul:
    return value(wrapped(x * y));
  case BinaryOp::FloorDiv:
    return b == 0 ? std::nullopt : std::optional(value(floor_div(a, b)));
  case BinaryOp::Mod:
    return b == 0 ? std::nullopt : std::optional(value(floor_mod(a, b)));
  case BinaryOp::Min:
    return value(std::min(a, b));
  case BinaryOp::Max:
    return value(std::max(a, b));
  case BinaryOp::Lt:
    return int_value(a < b);
  case BinaryOp::Le:
    return int_value(a <= b);
  case BinaryOp::Gt:
    return int_value(a > b);
  case BinaryOp::Ge:
    return int_value(a >= b);
  case BinaryOp::Eq:
    return int_value(a == b);
  case BinaryOp::Ne:
    return int_value(a != b);
  case BinaryOp::And:
    return int_value(a != 0 && b != 0);
  case BinaryOp::Or:
    return int_value(a != 0 || b != 0);
  case BinaryOp::Div:
  case BinaryOp::Pow:
  case BinaryOp::NanMin:
  case BinaryOp::NanMax:
  case BinaryOp::CopySign:
  case BinaryOp::Atan2:
    break;
  }
  KAWARA_CHECK(false, "integer operands of a float operation");
}

/// The lower side; NaN if one is NaN. -0 is below +0.
double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

/// f32 through f64 is exact: for + - * / the second rounding never changes the result.
Value on_floats(BinaryOp op, Elem elem, double a, double b) {
  const auto value = [elem](double v) { return float_value(round_to(elem, v)); };
  switch (op) {
  case BinaryOp::Add:
    return value(a + b);
  case BinaryOp::Sub:
    return value(a - b);
  case BinaryOp::Mul:
    return value(a * b);
  case BinaryOp::Div:
    return value(a / b);
  case BinaryOp::Min:
  case BinaryOp::NanMin:
    return value(minimum(a, b));
  case BinaryOp::Max:
  case BinaryOp::NanMax:
    return value(-minimum(-a, -b));
  case BinaryOp::Pow:
    return value(std::pow(a, b));
  case BinaryOp::CopySign:
    return value(std::copysign(a, b));
  case BinaryOp::Atan2:
    return value(std::atan2(a, b));
  case BinaryOp::Lt:
    return int_value(a < b);
  case BinaryOp::Le:
    return int_value(a <= b);
  case BinaryOp::Gt:
    return int_value(a > b);
  case BinaryOp::Ge:
    return int_value(a >= b);
  case BinaryOp::Eq:
    return int_value(a == b);
  case BinaryOp::Ne:
    return int_value(a != b);
  default:
    break;
  }
  KAWARA_CHECK(false, "float operands of an integer operation");
}

/// Truncates; NaN becomes 0, and what is out of the range of Int its nearest number.
template <class Int> int64_t truncated(double v) {
  using Limits = std::numeric_limits<Int>;
  if (std::isnan(v))
    return 0;
  if (v >= -static_cast<double>(Limits::min()))
    return Limits::max();
  if (v <= static_cast<double>(Limits::min()))
    return Limits::min();
  return static_cast<int64_t>(v);
}

/// The same for u64, as the i64 of its bits.
int64_t natural(double v) {
  if (!(v > 0))
    return 0;
  return v >= 0x1p64 ? -1 : wrapped(static_cast<uint64_t>(v));
}

class Numbers final : public Algebra {
public:
  Value literal(double v) const override { return float_value(v); }
  std::optional<Value> apply(BinaryOp op, Elem elem, Value a, Value b) const override {
    return scalar::apply(op, elem, a, b);
  }
  Value apply(UnaryOp op, Elem elem, Value a) const override { return scalar::apply(op, elem, a); }
  Value apply_fma(Elem elem, Value a, Value b, Value c) const override {
    return scalar::apply_fma(elem, a, b, c);
  }
  Value convert(Elem from, Elem to, Value v) const override { return scalar::convert(from, to, v); }
};

/// A template, because numbers, the usual case, need no virtual calls.
template <class Operations> class Evaluator {
public:
  Evaluator(const Leaves& leaves, const Operations& operations, int lane)
      : leaves_(leaves), operations_(operations), lane_(lane) {}

  std::optional<Value> eval(const Expr& e) const {
    return match(
        e, [&](const IntLit& n) { return std::optional(int_value(n.value)); },
        [&](const FloatLit& n) { return std::optional(operations_.literal(n.value)); },
        [&](const Iter& n) { return leaves_.iter(n.index); },
        [&](const Param& n) { return leaves_.param(n.index); },
        [&](const Var& n) { return leaves_.var(n.id); },
        [&](const Load& n) { return eval_load(n, e.type().elem); },
        [&](const Unary& n) -> std::optional<Value> {
          const auto a = eval(n.arg);
          return a ? std::optional(operations_.apply(n.op, n.arg.type().elem, *a)) : std::nullopt;
        },
        [&](const Binary& n) -> std::optional<Value> {
          const auto a = eval(n.lhs), b = eval(n.rhs);
          return a && b ? operations_.apply(n.op, n.lhs.type().elem, *a, *b) : std::nullopt;
        },
        [&](const Select& n) -> std::optional<Value> {
          const auto cond = eval(n.cond);
          return cond ? eval(cond->i != 0 ? n.then : n.otherwise) : std::nullopt;
        },
        [&](const Cast& n) -> std::optional<Value> {
          const auto a = eval(n.arg);
          return a ? std::optional(operations_.convert(n.arg.type().elem, e.type().elem, *a))
                   : std::nullopt;
        },
        [&](const Ramp& n) -> std::optional<Value> {
          const auto base = at_lane(0).eval(n.base);
          if (!base)
            return std::nullopt;
          return scalar::apply(BinaryOp::Add, e.type().elem, *base, int_value(n.stride * lane_));
        },
        [&](const Runs& n) -> std::optional<Value> {
          const auto base = at_lane(0).eval(n.base);
          if (!base)
            return std::nullopt;
          const int64_t step = lane_ / n.length * n.stride + lane_ % n.length;
          return scalar::apply(BinaryOp::Add, e.type().elem, *base, int_value(step));
        },
        [&](const Broadcast& n) { return at_lane(lane_ % n.arg.type().lanes).eval(n.arg); },
        [&](const Reduce& n) { return eval_reduce(n, e.type().lanes); },
        [&](const Scan& n) { return eval_scan(n, e.type()); },
        [&](const Fma& n) -> std::optional<Value> {
          const auto a = eval(n.a), b = eval(n.b), c = eval(n.c);
          return a && b && c ? std::optional(operations_.apply_fma(e.type().elem, *a, *b, *c))
                             : std::nullopt;
        },
        [&](const Instruction& n) -> std::optional<Value> {
          // The meaning of others is known to those who know the machine.
          const auto column = column_from_name(n.name);
          const auto row = column ? eval(n.args.front()) : std::nullopt;
          return row ? std::optional(int_value(element_in(*column, row->i))) : std::nullopt;
        },
        [&](const Within& n) -> std::optional<Value> {
          const auto at = eval(n.index), extent = eval(n.extent);
          return at && extent && at->i >= 0 && at->i < extent->i ? at : std::nullopt;
        });
  }

private:
  Evaluator at_lane(int lane) const { return Evaluator(leaves_, operations_, lane); }

  std::optional<Value> eval_load(const Load& n, Elem elem) const {
    std::vector<int64_t> index;
    index.reserve(n.index.size());
    for (const Expr& e : n.index) {
      const auto v = eval(e);
      if (!v)
        return std::nullopt;
      index.push_back(v->i);
    }
    return leaves_.load(n, index, elem);
  }

  std::optional<Value> eval_reduce(const Reduce& n, int lanes) const {
    const Elem elem = n.arg.type().elem;
    const int first = lanes == 1 ? 0 : lane_;
    auto total = at_lane(first).eval(n.arg);
    for (int lane = first + lanes; total && lane < n.arg.type().lanes; lane += lanes) {
      const auto next = at_lane(lane).eval(n.arg);
      if (!next)
        return std::nullopt;
      total = operations_.reduce(n.op, elem, *total, *next);
    }
    return total;
  }

  std::optional<Value> eval_scan(const Scan& n, Type type) const {
    auto value = at_lane(type.lanes - 1).eval(n.before);
    for (int lane = 0; value && lane <= lane_; ++lane) {
      const auto next = at_lane(lane).eval(n.arg);
      value =
          next ? std::optional(operations_.reduce(n.op, type.elem, *value, *next)) : std::nullopt;
    }
    return value;
  }

  const Leaves& leaves_;
  const Operations& operations_;
  int lane_;
};

/// The value of an index expression of the usual operators; nothing where it is too large.
std::optional<int64_t> quick_index(const Expr& e, const std::vector<int64_t>& iters,
                                   const std::vector<int64_t>& params) {
  constexpr int64_t kLarge = int64_t{1} << 31;
  const auto leaf = [](uint32_t at, const std::vector<int64_t>& values) {
    return at < values.size() ? std::optional(values[at]) : std::nullopt;
  };
  if (e.type() != kIndex)
    return std::nullopt;
  if (const auto* n = as<Iter>(e))
    return leaf(n->index, iters);
  if (const auto* n = as<IntLit>(e))
    return n->value;
  if (const auto* n = as<Param>(e))
    return leaf(n->index, params);
  const auto* n = as<Binary>(e);
  const auto a = n != nullptr ? quick_index(n->lhs, iters, params) : std::nullopt;
  const auto b = a ? quick_index(n->rhs, iters, params) : std::nullopt;
  if (!b || *a >= kLarge || *a <= -kLarge || *b >= kLarge || *b <= -kLarge)
    return std::nullopt;
  const int64_t rest = *b > 0 ? ((*a % *b) + *b) % *b : 0;
  switch (n->op) {
  case BinaryOp::Add:
    return *a + *b;
  case BinaryOp::Sub:
    return *a - *b;
  case BinaryOp::Mul:
    return *a * *b;
  case BinaryOp::FloorDiv:
    return *b > 0 ? std::optional((*a - rest) / *b) : std::nullopt;
  case BinaryOp::Mod:
    return *b > 0 ? std::optional(rest) : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<Value> apply(BinaryOp op, Elem elem, Value a, Value b) {
  return is_float(elem) ? on_floats(op, elem, a.f, b.f) : on_integers(op, elem, a.i, b.i);
}

Value apply_fma(Elem elem, Value a, Value b, Value c) {
  if (elem == Elem::F64)
    return float_value(std::fma(a.f, b.f, c.f));
  // In f64 the sum would be rounded twice.
  return float_value(static_cast<double>(
      std::fma(static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(c.f))));
}

Value apply(UnaryOp op, Elem elem, Value a) {
  if (op == UnaryOp::Bits)
    return int_value(elem == Elem::F32 ? std::bit_cast<int32_t>(static_cast<float>(a.f))
                                       : std::bit_cast<int64_t>(a.f));
  if (op == UnaryOp::FromBits)
    return float_value(elem == Elem::I32
                           ? static_cast<double>(std::bit_cast<float>(static_cast<int32_t>(a.i)))
                           : std::bit_cast<double>(a.i));
  if (is_float(elem))
    return float_value(round_to(elem, on_float(op, a.f)));
  if (op == UnaryOp::Not)
    return int_value(a.i == 0);
  KAWARA_CHECK(op == UnaryOp::Neg || op == UnaryOp::Abs, std::string(name_of(op)));
  const bool flips = op == UnaryOp::Neg || (a.i < 0 && elem != Elem::U64);
  return int_value(wrap_to(elem, flips ? wrapped(-static_cast<uint64_t>(a.i)) : a.i));
}

Value convert(Elem from, Elem to, Value v) {
  if (is_float(from)) {
    if (is_float(to))
      return float_value(round_to(to, v.f));
    if (to == Elem::Bool)
      return int_value(v.f != 0);
    if (to == Elem::U64)
      return int_value(natural(v.f));
    const bool is_wide = bytes_of(compute_type(to)) == 8; // u32 is cut off from an i64
    return int_value(is_wide ? wrap_to(to, truncated<int64_t>(v.f))
                             : wrap_to(to, truncated<int32_t>(v.f)));
  }
  if (!is_float(to))
    return int_value(wrap_to(to, v.i));
  if (from == Elem::U64 && v.i < 0) {
    const auto whole = static_cast<uint64_t>(v.i);
    return float_value(to == Elem::F32 ? static_cast<double>(static_cast<float>(whole))
                                       : round_to(to, static_cast<double>(whole)));
  }
  // i64 to f32 in one rounding: through f64 it would be two.
  if (to == Elem::F32)
    return float_value(static_cast<double>(static_cast<float>(v.i)));
  return float_value(round_to(to, static_cast<double>(v.i)));
}

std::optional<Value> evaluate(const Expr& e, const Leaves& leaves, int lane) {
  static const Numbers usual;
  return Evaluator(leaves, usual, lane).eval(e);
}

std::optional<Value> evaluate(const Expr& e, const Leaves& leaves, const Algebra& algebra,
                              int lane) {
  return Evaluator(leaves, algebra, lane).eval(e);
}

const Algebra& numbers() {
  static const Numbers usual;
  return usual;
}

std::optional<int64_t> evaluate_index(const Expr& e, const std::vector<int64_t>& iters,
                                      const std::vector<int64_t>& params) {
  if (const auto value = quick_index(e, iters, params))
    return value;
  const auto from = [](const std::vector<int64_t>& values) {
    return [&values](uint32_t i) {
      return i < values.size() ? std::optional(int_value(values[i])) : std::nullopt;
    };
  };
  const auto none = [](uint32_t) { return std::optional<Value>(); };
  const auto no_load = [](const Load&, const std::vector<int64_t>&, Elem) {
    return std::optional<Value>();
  };
  const Leaves leaves{from(iters), from(params), none, no_load};
  const auto v = evaluate(e, leaves);
  return v ? std::optional(v->i) : std::nullopt;
}

} // namespace kawara::scalar
