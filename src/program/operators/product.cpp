#include "program/operators/broadcast.h"
#include "program/operators/registry.h"

#include "support/text.h"

namespace kawara::program::operators {
namespace {
namespace of_product {

/// Shapes of a product of (stacks of) matrices: [batch..., m, k] * [batch..., k, n].
struct Sizes {
  Shape batch, result; ///< result: as the standard has it
  Shape stack;         ///< the batch as the standard has it
  int64_t rows = 1;    ///< of one matrix on the left
  int64_t m = 1, n = 1, k = 1;
  std::string left, right; ///< indices in the batch dimensions, with a comma behind
  Shape left_shape, right_shape;
};

std::optional<Sizes> sizes_of(Definition& d, size_t a, size_t b) {
  if (!d.need(a) || !d.need(b))
    return std::nullopt;
  Shape x = d.shape(a), y = d.shape(b);
  if (x.empty() || y.empty()) {
    d.refuse("it needs at least one dimension on both sides");
    return std::nullopt;
  }
  const bool left_is_vector = x.size() == 1, right_is_vector = y.size() == 1;
  if (left_is_vector)
    x.insert(x.begin(), 1);
  if (right_is_vector)
    y.push_back(1);
  const auto batch = broadcast({Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2)});
  if (!batch || x.back() != y[y.size() - 2]) {
    d.refuse(fmt::format("{} times {} is no product of matrices", graph::text_of(d.shape(a)),
                         graph::text_of(d.shape(b))));
    return std::nullopt;
  }
  Sizes s;
  s.stack = *batch;
  s.m = s.rows = x[x.size() - 2];
  s.k = x.back();
  s.n = y.back();
  s.result = *batch;
  if (!left_is_vector)
    s.result.push_back(s.m);
  if (!right_is_vector)
    s.result.push_back(s.n);
  const bool right_is_plain = product(y, 0, y.size() - 2) == 1;
  if (right_is_plain) { // one matrix on the right: all rows on the left are rows of one matrix
    s.m *= product(*batch);
    s.left_shape = {s.m, s.k};
    s.right_shape = {s.k, s.n};
    return s;
  }
  for (size_t t = 0; t < batch->size(); ++t) {
    const int64_t extent = (*batch)[t];
    if (extent == 1)
      continue;
    const std::string name = "b" + std::to_string(t);
    s.batch.push_back(extent);
    const auto side = [&](const Shape& shape, std::string& index, Shape& own) {
      const size_t rank = shape.size() - 2, missing = batch->size() - rank;
      if (t >= missing && shape[t - missing] != 1) {
        index += name + ", ";
        own.push_back(extent);
      }
    };
    side(x, s.left, s.left_shape);
    side(y, s.right, s.right_shape);
  }
  s.left_shape.insert(s.left_shape.end(), {s.m, s.k});
  s.right_shape.insert(s.right_shape.end(), {s.k, s.n});
  return s;
}

/// "b0, b2, " in the order of the batch dimensions that are kept.
std::string batch_index(const Sizes& s) {
  std::string text;
  const std::string both = s.left + s.right;
  for (size_t t = 0; t < 16; ++t) {
    const std::string name = "b" + std::to_string(t) + ", ";
    if (both.find(name) != std::string::npos)
      text += name;
  }
  return text;
}

Shape program_shape(const Sizes& s) {
  Shape shape = s.batch;
  shape.insert(shape.end(), {s.m, s.n});
  return shape;
}

void matmul(Definition& d) {
  const auto s = sizes_of(d, 0, 1);
  if (!s)
    return;
  d.output(d.type(0), s->result);
  d.declare_operand(0, s->left_shape);
  d.declare_operand(1, s->right_shape);
  d.declare_output(0, program_shape(*s));
  // What tensor cores add up is f32.
  const bool is_apart = d.type(0) == DataType::BF16;
  if (is_apart)
    d.temp("T", "f32", program_shape(*s));
  d.line("{}[{}i, j] = sum(k, X0[{}i, k] * X1[{}k, j])", is_apart ? "T" : "Y0", batch_index(*s),
         s->left, s->right);
  if (is_apart)
    d.line("Y0[{0}i, j] = T[{0}i, j]", batch_index(*s));
}

/// A scale or zero point: one number, one per row (of the left side and of the result) or column
/// (of the right side), or one per row or column of each matrix. Its element for row i and column
/// j.
std::string spread(Definition& d, size_t k, const Sizes& s, bool is_by_row) {
  const Shape& given = d.shape(k);
  const std::string name = "X" + std::to_string(k);
  const auto misfit = [&] {
    d.refuse(fmt::format("input {} of shape {} fits neither the matrices nor their {}", k,
                         graph::text_of(given), is_by_row ? "rows" : "columns"));
    return name;
  };
  if (product(given) == 1) {
    d.declare_operand(k, {});
    return name;
  }
  const int64_t extent = is_by_row ? s.rows : s.n;
  const size_t rank = given.size(), outer = rank < 2 ? 0 : rank - 2;
  const bool is_list = rank == 1 && given[0] == extent;
  const bool is_stack = rank >= 2 && outer <= s.stack.size() &&
                        given[outer] == (is_by_row ? extent : 1) &&
                        given[outer + 1] == (is_by_row ? 1 : extent);
  if (!is_list && !is_stack)
    return misfit();
  const int64_t matrices = product(given, 0, outer);
  if (s.m != s.rows && is_by_row) { // rows of all matrices are counted as one
    if (matrices != 1 && matrices != product(s.stack))
      return misfit();
    d.declare_operand(k, {matrices * extent});
    return at(name, matrices == 1 ? fmt::format("i % {}", extent) : "i");
  }
  Shape shape;
  std::string index;
  for (size_t t = 0; t < outer; ++t) {
    const size_t place = s.stack.size() - outer + t;
    if (given[t] == 1)
      continue;
    if (given[t] != s.stack[place])
      return misfit();
    shape.push_back(given[t]);
    index += fmt::format("b{}, ", place);
  }
  shape.push_back(extent);
  d.declare_operand(k, shape);
  return at(name, index + (is_by_row ? "i" : "j"));
}

/// Zero point of a side; empty for zero.
std::string zero_of(Definition& d, size_t k, const Sizes& s, bool is_left) {
  return !d.has(k) || is_known_zero(d, k) ? "" : "i32(" + spread(d, k, s, is_left) + ")";
}

/// Sums of (x - a) * (y - b), as those of x * y less what the zero points make of the sums of rows
/// and columns: i32 wraps, so this is the same, and products of bytes alone are what instructions
/// compute. The value of one element; `left`, `right`: operands.
std::string sums_around_zeros(Definition& d, const Sizes& s, size_t left, size_t right,
                              size_t left_zero, size_t right_zero) {
  const std::string a = zero_of(d, left_zero, s, true), b = zero_of(d, right_zero, s, false);
  const std::string x = fmt::format("i32(X{}[{}i, k])", left, s.left),
                    y = fmt::format("i32(X{}[{}k, j])", right, s.right);
  std::string factor = y;
  if (!a.empty() && d.operand(right).is_weight) {
    // A copy, made once: what only the product reads is packed for it.
    d.temp("W", name_in_program(d.type(right)), s.right_shape);
    d.line("W[{0}k, j] = X{1}[{0}k, j]", s.right, right);
    factor = fmt::format("i32(W[{}k, j])", s.right);
  }
  if (a.empty() && b.empty())
    return fmt::format("sum(k, {} * {})", x, y);
  const auto without_depth = [](Shape shape, bool is_left) {
    shape.erase(shape.end() - (is_left ? 1 : 2));
    return shape;
  };
  // Before the product, so that its tiles are moved while they are in registers.
  std::string moved;
  if (!a.empty()) {
    d.temp("R", "i32", without_depth(s.right_shape, false));
    d.line("R[{}j] = sum(k, {})", s.right, y);
    moved += fmt::format(" - {} * R[{}j]", a, s.right);
  }
  if (!b.empty()) {
    d.temp("L", "i32", without_depth(s.left_shape, true));
    d.line("L[{}i] = sum(k, {})", s.left, x);
    moved += fmt::format(" - {} * L[{}i]", b, s.left);
  }
  d.temp("S", "i32", program_shape(s));
  d.line("S[{}i, j] = sum(k, {} * {})", batch_index(s), x, factor);
  std::string value = fmt::format("S[{}i, j]", batch_index(s)) + moved;
  if (!a.empty() && !b.empty())
    value += fmt::format(" + {} * {} * {}", s.k, a, b);
  return value;
}

void matmul_integer(Definition& d) {
  const auto s = sizes_of(d, 0, 1);
  if (!s)
    return;
  d.output(DataType::I32, s->result);
  d.declare_operand(0, s->left_shape);
  d.declare_operand(1, s->right_shape);
  d.declare_output(0, program_shape(*s));
  const std::string value = sums_around_zeros(d, *s, 0, 1, 2, 3);
  d.line("Y0[{}i, j] = {}", batch_index(*s), value);
}

/// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero.
void qlinear_matmul(Definition& d) {
  for (size_t k = 0; k < 8; ++k)
    if (!d.need(k))
      return;
  const auto s = sizes_of(d, 0, 3);
  if (!s)
    return;
  const std::string left = spread(d, 1, *s, true), right = spread(d, 4, *s, false),
                    scale = spread(d, 6, *s, true), zero = spread(d, 7, *s, true);
  const DataType type = d.type(7);
  d.output(type, s->result);
  d.declare_operand(0, s->left_shape);
  d.declare_operand(3, s->right_shape);
  d.declare_output(0, program_shape(*s));
  d.temp("T", "i32", program_shape(*s));
  const std::string index = batch_index(*s) + "i, j";
  const std::string value = sums_around_zeros(d, *s, 0, 3, 2, 5);
  d.line("T[{}] = {}", index, value);
  d.line(
      "Y0[{}] = {}", index,
      Definition::saturated(type, fmt::format("round(f32(T[{}]) * ({} * {} / {})) + f32(i32({}))",
                                              index, left, right, scale, zero)));
}

void gemm(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return;
  if (d.rank(0) != 2 || d.rank(1) != 2)
    return d.refuse(fmt::format("{} and {} are no two matrices", graph::text_of(d.shape(0)),
                                graph::text_of(d.shape(1))));
  const bool left = d.integer("transA", 0) != 0, right = d.integer("transB", 0) != 0;
  const int64_t m = d.shape(0)[left ? 1 : 0], k = d.shape(0)[left ? 0 : 1];
  const int64_t n = d.shape(1)[right ? 0 : 1];
  if (d.shape(1)[right ? 1 : 0] != k)
    return d.refuse(fmt::format("{}{} times {}{} is no product of matrices",
                                graph::text_of(d.shape(0)), left ? " transposed" : "",
                                graph::text_of(d.shape(1)), right ? " transposed" : ""));
  d.output(d.type(0), {m, n});
  const std::string sum =
      fmt::format("sum(k, X0[{}] * X1[{}])", left ? "k, i" : "i, k", right ? "j, k" : "k, j");
  const double alpha = d.real("alpha", 1), beta = d.real("beta", 1);
  const bool has_bias = d.has(2) && beta != 0;
  if (!has_bias && alpha == 1 && d.type(0) != DataType::BF16)
    return d.line("Y0[i, j] = {}", sum);
  d.temp("T",
         d.type(0) == DataType::F64   ? "f64"
         : graph::is_float(d.type(0)) ? "f32"
                                      : "i64",
         {m, n});
  d.line("T[i, j] = {}", sum);
  const auto scaled = [&](const std::string& value, double by) {
    return by == 1 ? value : value + " * " + literal(by);
  };
  std::string value = scaled("T[i, j]", alpha);
  if (has_bias) {
    const auto fits = broadcast({{m, n}, d.shape(2)});
    if (!fits || *fits != Shape{m, n})
      return d.refuse("the third input " + graph::text_of(d.shape(2)) +
                      " does not fit the result " + graph::text_of({m, n}));
    Shape bias = d.shape(2);
    while (bias.size() < 2)
      bias.insert(bias.begin(), 1);
    Shape kept;
    std::vector<std::string> index;
    for (size_t t = 0; t < 2; ++t)
      if (bias[t] != 1) {
        kept.push_back(bias[t]);
        index.push_back(t == 0 ? "i" : "j");
      }
    d.declare_operand(2, kept);
    value += " + " + scaled(at("X2", join(index, ", ")), beta);
  }
  d.line("Y0[i, j] = {}", value);
}

constexpr Operator kAll[] = {{"Gemm", gemm},
                             {"MatMul", matmul},
                             {"MatMulInteger", matmul_integer},
                             {"QLinearMatMul", qlinear_matmul}};

} // namespace of_product
} // namespace

std::span<const Operator> product_operators() { return of_product::kAll; }

} // namespace kawara::program::operators
