#include "random_graph.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace kawara::random_graphs {
namespace {

using graph::Attributes;

/// A function of one number that moves its argument's error by at most `slope`.
struct Smooth {
  const char* op;
  double low, high; ///< of the results, when they are bounded
  bool is_bounded;  ///< otherwise |f(x)| <= |x| + 2
  double slope;
};
constexpr Smooth kSmooth[] = {
    {"Sigmoid", 0, 1, true, 1},    {"Tanh", -1, 1, true, 1},       {"Erf", -1, 1, true, 1.2},
    {"Sin", -1, 1, true, 1},       {"Cos", -1, 1, true, 1},        {"Atan", -1.6, 1.6, true, 1},
    {"Softsign", -1, 1, true, 1},  {"HardSigmoid", 0, 1, true, 1}, {"Softplus", 0, 0, false, 1},
    {"Elu", 0, 0, false, 1},       {"Selu", 0, 0, false, 2},       {"Celu", 0, 0, false, 1},
    {"LeakyRelu", 0, 0, false, 1}, {"HardSwish", 0, 0, false, 2},  {"Asinh", 0, 0, false, 1}};

void add_smooth(Generator& g) {
  const Smooth& f = kSmooth[g.pick(std::size(kSmooth))];
  const Made* x = g.choose_float();
  if (!x)
    return;
  Made y = *x;
  y.low = f.is_bounded ? f.low : -2 * x->most() - 2;
  y.high = f.is_bounded ? f.high : 2 * x->most() + 2;
  y.error = f.slope * x->error + 1e-6 * (y.most() + 1);
  g.add(f.op, {x->id}, {}, y);
}

void add_exponential(Generator& g) {
  const Made* x = g.choose_float(0, 4, 3);
  if (!x)
    return;
  Made y = *x;
  y.low = 0;
  y.high = std::exp(x->high);
  y.error = y.high * (x->error + 1e-6);
  g.add("Exp", {x->id}, {}, y);
}

/// Functions that need positive numbers, applied to |x| + c.
void add_positive(Generator& g) {
  const Made* x = g.choose_float();
  if (!x)
    return;
  const Made chosen = *x;
  const Made c = g.constant(DataType::F32, {}, 1, 3);
  Made size = chosen;
  size.low = 0;
  size.high = chosen.most();
  g.add("Abs", {chosen.id}, {}, size);
  const Made* abs = g.choose([&](const Made& made) {
    return made.shape == chosen.shape && made.type == DataType::F32 && made.low >= 0 &&
           made.most() <= 32;
  });
  if (!abs)
    return;
  Made sum = *abs;
  sum.low = 1;
  sum.high = abs->high + 3;
  sum.error = abs->is_exact() ? 0 : abs->error + rounding(*abs, sum.high);
  const ValueId operand = abs->id;
  g.add("Add", {operand, c.id}, {}, sum);
  const Made* positive = g.choose([&](const Made& made) {
    return made.shape == chosen.shape && made.type == DataType::F32 && made.low >= 1 &&
           made.most() <= 64;
  });
  if (!positive)
    return;
  constexpr const char* ops[] = {"Sqrt", "Log", "Reciprocal"};
  Made y = *positive;
  y.low = 0;
  y.error = positive->error + 1e-6 * positive->most();
  const ValueId id = positive->id;
  g.add(ops[g.pick(3)], {id}, {}, y);
}

void add_exact_unary(Generator& g) {
  constexpr const char* ops[] = {"Neg", "Abs", "Relu", "Identity", "Dropout"};
  const Made* x = g.choose([](const Made& made) { return made.type != DataType::Bool; });
  if (!x)
    return;
  const std::string op = ops[g.pick(std::size(ops))];
  if (!x->is_float() && (op == "Dropout" || op == "Relu"))
    return;
  Made y = *x;
  if (op == "Neg")
    std::tie(y.low, y.high) = std::pair(-x->high, -x->low);
  if (op == "Abs")
    std::tie(y.low, y.high) = std::pair(0.0, x->most());
  if (op == "Relu")
    std::tie(y.low, y.high) = std::pair(0.0, std::max(0.0, x->high));
  g.add(op, {x->id}, {}, y);
}

void add_jump(Generator& g) {
  constexpr const char* ops[] = {"Floor", "Ceil", "Round", "Sign"};
  const Made* x =
      g.choose([](const Made& made) { return made.type == DataType::F32 && made.is_exact(); });
  if (!x)
    return;
  Made y = *x;
  y.low -= 1;
  y.high += 1;
  g.add(ops[g.pick(4)], {x->id}, {}, y);
}

/// The shape that two shapes are stretched to; nothing when they do not fit.
std::optional<Shape> stretched(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t k = 0; k < out.size(); ++k) {
    const int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1;
    const int64_t y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    out[out.size() - 1 - k] = std::max(x, y);
  }
  return out;
}

/// Another operand for `a`: a value that fits, or a constant with some extents 1.
Made partner(Generator& g, const Made& a, double most) {
  const Made* found = g.choose([&](const Made& made) {
    const auto shape = stretched(a.shape, made.shape);
    return made.type == a.type && made.most() <= most && shape && elements_of_shape(*shape) <= 1024;
  });
  if (found && g.chance(70))
    return *found;
  Shape shape = a.shape;
  for (int64_t& extent : shape)
    extent = g.chance(40) ? 1 : extent;
  while (!shape.empty() && g.chance(30))
    shape.erase(shape.begin());
  return g.constant(a.type, shape, -2, 2);
}

void add_arithmetic(Generator& g) {
  constexpr const char* ops[] = {"Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"};
  const Made* x =
      g.choose([](const Made& made) { return made.type != DataType::Bool && made.most() <= 32; });
  if (!x)
    return;
  const Made a = *x, b = partner(g, a, 32);
  const std::string op = ops[g.pick(std::size(ops))];
  Made y = a;
  y.shape = *stretched(a.shape, b.shape);
  const double most = op == "Mul" ? a.most() * b.most() : a.most() + b.most();
  y.low = -most;
  y.high = most;
  y.direction = op == "Mul" ? a.direction + b.direction : std::max(a.direction, b.direction);
  const bool is_exact = a.is_exact() && b.is_exact() && stays_exact(most, y.direction);
  y.error = is_exact      ? 0
            : op == "Mul" ? a.most() * b.error + b.most() * a.error + rounding(a, most)
                          : a.error + b.error + rounding(a, most);
  const bool is_transposed = g.chance(30);
  g.add(op, {is_transposed ? b.id : a.id, is_transposed ? a.id : b.id}, {}, y);
}

void add_several(Generator& g) {
  constexpr const char* ops[] = {"Sum", "Mean", "Max", "Min"};
  const Made* x = g.choose_float();
  if (!x)
    return;
  const Made a = *x, b = partner(g, a, 16), c = partner(g, a, 16);
  const auto both = stretched(a.shape, b.shape);
  const auto all = both ? stretched(*both, c.shape) : std::nullopt;
  if (!all)
    return;
  Made y = a;
  y.shape = *all;
  const double most = a.most() + b.most() + c.most();
  y.low = -most;
  y.high = most;
  y.error = a.error + b.error + c.error + rounding(a, most, 3);
  g.add(ops[g.pick(4)], {a.id, b.id, c.id}, {}, y);
}

void add_quotient(Generator& g) {
  const Made* x = g.choose_float();
  if (!x)
    return;
  const Made a = *x;
  Made y = a;
  if (g.chance(50)) {
    const Made c = g.constant(DataType::F32, g.chance(50) ? Shape{} : Shape{1}, 1, 4);
    y.shape = *stretched(a.shape, c.shape);
    y.error = a.error + rounding(a, a.most(), 2);
    return g.add("Div", {a.id, c.id}, {}, y);
  }
  if (a.most() > 8)
    return;
  const int64_t power = g.between(2, 3);
  const Made c =
      g.constant(DataType::F32, {}, static_cast<double>(power), static_cast<double>(power));
  const double most = std::pow(a.most(), static_cast<double>(power));
  y.low = -most;
  y.high = most;
  y.error = static_cast<double>(power) * std::max(1.0, most) * (a.error + 1e-6);
  g.add("Pow", {a.id, c.id}, {}, y);
}

void add_comparison(Generator& g) {
  constexpr const char* ops[] = {"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"};
  const Made* x =
      g.choose([](const Made& made) { return made.is_exact() && made.type != DataType::Bool; });
  if (!x)
    return;
  const Made a = *x, b = partner(g, a, 1e4);
  if (!b.is_exact())
    return;
  g.add(ops[g.pick(5)], {a.id, b.id}, {},
        {0, DataType::Bool, *stretched(a.shape, b.shape), 0, 1, 0});
}

void add_logic(Generator& g) {
  constexpr const char* ops[] = {"And", "Or", "Xor"};
  const Made* x = g.choose([](const Made& made) { return made.type == DataType::Bool; });
  if (!x)
    return;
  const Made a = *x;
  if (g.chance(30))
    return g.add("Not", {a.id}, {}, a);
  const Made* other = g.choose([&](const Made& made) {
    return made.type == DataType::Bool && stretched(a.shape, made.shape);
  });
  Made y = a;
  y.shape = *stretched(a.shape, other->shape);
  g.add(ops[g.pick(3)], {a.id, other->id}, {}, y);
}

void add_where(Generator& g) {
  const Made* condition = g.choose([](const Made& made) { return made.type == DataType::Bool; });
  if (!condition)
    return;
  const Made c = *condition;
  const Made* x = g.choose([&](const Made& made) {
    return made.type != DataType::Bool && stretched(c.shape, made.shape);
  });
  if (!x)
    return;
  const Made a = *x, b = partner(g, a, 64);
  const auto ab = stretched(a.shape, b.shape);
  const auto all = ab ? stretched(*ab, c.shape) : std::nullopt;
  if (!all)
    return;
  Made y = a;
  y.shape = *all;
  y.low = std::min(a.low, b.low);
  y.high = std::max(a.high, b.high);
  y.error = std::max(a.error, b.error);
  y.direction = std::max(a.direction, b.direction);
  g.add("Where", {c.id, a.id, b.id}, {}, y);
}

void add_clip(Generator& g) {
  const Made* x = g.choose_float();
  if (!x)
    return;
  const Made a = *x;
  const Made low = g.constant(DataType::F32, {}, -1, 0), high = g.constant(DataType::F32, {}, 0, 2);
  const Made y{0, a.type, a.shape, -1, std::max(2.0, a.high), a.error};
  g.add("Clip", {a.id, low.id, g.chance(70) ? high.id : graph::kAbsent}, {}, y);
}

void add_prelu(Generator& g) {
  const Made* x = g.choose_float(2, 4);
  if (!x)
    return;
  const Made a = *x;
  Shape shape(static_cast<size_t>(a.rank() - 1), 1);
  shape[0] = a.shape[1];
  const Made slope = g.constant(DataType::F32, shape, -1, 1);
  Made y = a;
  y.low = -a.most();
  y.high = a.most();
  y.error = a.error + rounding(a, a.most());
  g.add("PRelu", {a.id, slope.id}, {}, y);
}

void add_cast(Generator& g) {
  const Made* x = g.choose([](const Made& made) { return made.is_exact(); });
  if (!x)
    return;
  struct Kind {
    DataType type;
    int64_t number;
  };
  constexpr Kind kinds[] = {{DataType::F32, 1},
                            {DataType::I32, 6},
                            {DataType::I64, 7},
                            {DataType::F64, 11},
                            {DataType::Bool, 9}};
  const Kind kind = kinds[g.pick(5)];
  Made y = *x;
  y.type = kind.type;
  if (kind.type == DataType::Bool)
    std::tie(y.low, y.high) = std::pair(0.0, 1.0);
  g.add("Cast", {x->id}, {{"to", kind.number}}, y);
}

void add_remainder(Generator& g) {
  const Made* x = g.choose(
      [](const Made& made) { return made.type == DataType::I32 || made.type == DataType::I64; });
  if (!x)
    return;
  const Made a = *x;
  const Made c = g.constant(a.type, {}, 1, 5);
  Made y = a;
  y.low = 0;
  y.high = 5;
  g.add("Mod", {a.id, c.id}, {}, y);
}

} // namespace

std::vector<Family> elementwise_families() {
  return {add_smooth,   add_smooth,     add_exponential, add_positive,   add_exact_unary,
          add_jump,     add_arithmetic, add_arithmetic,  add_arithmetic, add_several,
          add_quotient, add_comparison, add_logic,       add_where,      add_clip,
          add_prelu,    add_cast,       add_remainder};
}

} // namespace kawara::random_graphs
