#include "program/operators/registry.h"

namespace kawara::program::operators {
namespace {
namespace of_normalization {

/// [images, channels, rest] of an image.
std::optional<Shape> channelled(Definition& d) {
  if (!d.need(0))
    return std::nullopt;
  if (d.rank(0) < 2) {
    d.refuse("an image needs images and channels, this is " + graph::text_of(d.shape(0)));
    return std::nullopt;
  }
  const Shape& x = d.shape(0);
  return Shape{x[0], x[1], product(x, 2, x.size())};
}

bool needs_one_per_channel(Definition& d, size_t first, size_t last, int64_t channels) {
  for (size_t k = first; k <= last; ++k) {
    if (!d.need(k))
      return false;
    if (product(d.shape(k)) != channels)
      d.refuse(fmt::format("input {} has the shape {} for {} channels", k,
                           graph::text_of(d.shape(k)), channels));
    d.declare_operand(k, {channels});
  }
  return !d.is_settled();
}

std::string float_type(DataType type) { return type == DataType::F64 ? "f64" : "f32"; }

void batch_normalization(Definition& d) {
  const auto s = channelled(d);
  if (!s || !needs_one_per_channel(d, 1, 4, (*s)[1]))
    return;
  const std::string epsilon = literal(d.real("epsilon", 1e-5)), type = float_type(d.type(0));
  const bool trains = d.opset() >= 14 && d.integer("training_mode", 0) != 0;
  const double momentum = d.real("momentum", 0.9); // of no use but for training
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, *s);
  d.declare_output(0, *s);
  const Shape channel{(*s)[1]};
  d.temp("A", type, channel);
  if (!trains) {
    d.line("A[c] = X1[c] / sqrt(X4[c] + {})", epsilon);
    return d.line("Y0[n, c, r] = (X0[n, c, r] - X3[c]) * A[c] + X2[c]");
  }
  // Statistics of this batch, and the running ones moved towards them.
  const std::string count = literal(static_cast<double>((*s)[0] * (*s)[2]));
  for (const char* name : {"S", "M", "Q", "V"})
    d.temp(name, type, channel);
  d.line("S[c] = sum((n, r), X0[n, c, r])");
  d.line("M[c] = S[c] / {}", count);
  d.line("Q[c] = sum((n, r), (X0[n, c, r] - M[c]) * (X0[n, c, r] - M[c]))");
  d.line("V[c] = Q[c] / {}", count);
  d.line("A[c] = X1[c] / sqrt(V[c] + {})", epsilon);
  d.line("Y0[n, c, r] = (X0[n, c, r] - M[c]) * A[c] + X2[c]");
  const auto moved = [&](size_t output, size_t operand, const char* value) {
    if (!d.wants(output))
      return;
    d.output(d.type(operand), channel);
    d.line("Y{0}[c] = X{1}[c] * {2} + {3}[c] * {4}", output, operand, literal(momentum), value,
           literal(1 - momentum));
  };
  moved(1, 3, "M");
  moved(2, 4, "V");
}

/// Mean and variance over the last dimension of X0[a, r]; leaves the mean in M and 1/deviation in
/// D.
void add_statistics(Definition& d, int64_t rows, int64_t count, const std::string& epsilon) {
  const std::string type = float_type(d.type(0)), n = literal(static_cast<double>(count));
  for (const char* name : {"S", "M", "Q", "D"})
    d.temp(name, type, {rows});
  d.line("S[a] = sum(r, X0[a, r])");
  d.line("M[a] = S[a] / {}", n);
  d.line("Q[a] = sum(r, (X0[a, r] - M[a]) * (X0[a, r] - M[a]))");
  d.line("D[a] = 1 / sqrt(Q[a] / {} + {})", n, epsilon);
}

void instance_normalization(Definition& d) {
  const auto s = channelled(d);
  if (!s || !needs_one_per_channel(d, 1, 2, (*s)[1]))
    return;
  const int64_t rows = (*s)[0] * (*s)[1];
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, {rows, (*s)[2]});
  d.declare_output(0, {rows, (*s)[2]});
  add_statistics(d, rows, (*s)[2], literal(d.real("epsilon", 1e-5)));
  d.line("Y0[a, r] = (X0[a, r] - M[a]) * D[a] * X1[a % {0}] + X2[a % {0}]", (*s)[1]);
}

/// Groups of channels share their statistics; scale and bias per channel since version 21, per
/// group before.
void group_normalization(Definition& d) {
  const auto s = channelled(d);
  if (!s)
    return;
  const int64_t groups = d.integer("num_groups", 0);
  if (groups <= 0 || (*s)[1] % groups != 0)
    return d.refuse(fmt::format("{} channels do not make {} groups", (*s)[1], groups));
  const bool is_per_group = d.opset() < 21;
  if (!needs_one_per_channel(d, 1, 2, is_per_group ? groups : (*s)[1]))
    return;
  const int64_t rows = (*s)[0] * groups, width = (*s)[1] / groups * (*s)[2];
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, {rows, width});
  d.declare_output(0, {rows, width});
  add_statistics(d, rows, width, literal(d.real("epsilon", 1e-5)));
  const std::string channel =
      is_per_group ? fmt::format("a % {}", groups)
                   : fmt::format("(a % {}) * {} + r // {}", groups, (*s)[1] / groups, (*s)[2]);
  d.line("Y0[a, r] = (X0[a, r] - M[a]) * D[a] * X1[{0}] + X2[{0}]", channel);
}

/// Rows begin at the axis; scale and bias are stretched to them.
struct Rows {
  int64_t rows = 1, width = 1;
  size_t axis = 0;
};

std::optional<Rows> rows_of(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return std::nullopt;
  const auto axis = static_cast<size_t>(d.axis_of(d.integer("axis", -1), d.rank(0)));
  if (d.is_settled())
    return std::nullopt;
  Rows r{product(d.shape(0), 0, axis), product(d.shape(0), axis, d.shape(0).size()), axis};
  for (const size_t k : {size_t{1}, size_t{2}}) {
    if (d.has(k) && product(d.shape(k)) != r.width && product(d.shape(k)) != 1)
      d.refuse(fmt::format("input {} has the shape {} for rows of {} elements", k,
                           graph::text_of(d.shape(k)), r.width));
    d.declare_operand(k, product(d.shape(k)) == r.width ? Shape{r.width} : Shape{});
  }
  return r;
}

std::string along_row(Definition& d, size_t k, const Rows& r) {
  return at("X" + std::to_string(k), product(d.shape(k)) == r.width ? "r" : "");
}

void layer_normalization(Definition& d) {
  const auto r = rows_of(d);
  if (!r || d.is_settled())
    return;
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, {r->rows, r->width});
  d.declare_output(0, {r->rows, r->width});
  add_statistics(d, r->rows, r->width, literal(d.real("epsilon", 1e-5)));
  d.line("Y0[a, r] = (X0[a, r] - M[a]) * D[a] * {}{}", along_row(d, 1, *r),
         d.has(2) ? " + " + along_row(d, 2, *r) : "");
  Shape reduced = d.shape(0);
  for (size_t k = r->axis; k < reduced.size(); ++k)
    reduced[k] = 1;
  const char* values[] = {"M", "D"};
  for (size_t k = 1; k < d.outputs_wanted() && k <= 2; ++k) {
    d.output(DataType::F32, reduced);
    d.declare_output(k, {r->rows});
    d.line("Y{}[a] = {}[a]", k, values[k - 1]);
  }
}

void rms_normalization(Definition& d) {
  const auto r = rows_of(d);
  if (!r || d.is_settled())
    return;
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, {r->rows, r->width});
  d.declare_output(0, {r->rows, r->width});
  for (const char* name : {"Q", "D"})
    d.temp(name, float_type(d.type(0)), {r->rows});
  d.line("Q[a] = sum(r, X0[a, r] * X0[a, r])");
  d.line("D[a] = 1 / sqrt(Q[a] / {} + {})", literal(static_cast<double>(r->width)),
         literal(d.real("epsilon", 1e-5)));
  d.line("Y0[a, r] = X0[a, r] * D[a] * {}", along_row(d, 1, *r));
}

/// Each element divided by a power of the squares of its neighbours in other channels.
void local_response_normalization(Definition& d) {
  const auto s = channelled(d);
  if (!s)
    return;
  const int64_t size = d.integer("size", 0);
  if (size <= 0)
    return d.refuse("attribute `size` must be positive");
  const double alpha = d.real("alpha", 1e-4), beta = d.real("beta", 0.75), bias = d.real("bias", 1);
  const int64_t before = (size - 1) / 2, after = size - 1 - before;
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, *s);
  d.declare_output(0, *s);
  d.temp("Q", float_type(d.type(0)), *s);
  d.add_line(fmt::format(
      "for n in range({0}):\n  for c in range({1}):\n    for r in range({2}):\n"
      "      Q[n, c, r] = 0\n      for q in range(max(0, c - {3}), min({1}, c + {4})):\n"
      "        Q[n, c, r] += X0[n, q, r] * X0[n, q, r]\n",
      (*s)[0], (*s)[1], (*s)[2], before, after + 1));
  d.line("Y0[n, c, r] = X0[n, c, r] / pow({} + {} * Q[n, c, r], {})", literal(bias),
         literal(alpha / static_cast<double>(size)), literal(beta));
}

void mean_variance_normalization(Definition& d) {
  if (!d.need(0))
    return;
  const std::vector<int64_t> axes = d.integers("axes").value_or(std::vector<int64_t>{0, 2, 3});
  // Written without merging: any set of axes may be named.
  std::vector<bool> is_reduced(d.shape(0).size(), false);
  for (const int64_t axis : axes)
    if (!d.shape(0).empty())
      is_reduced[static_cast<size_t>(d.axis_of(axis, d.rank(0)))] = true;
  if (d.is_settled())
    return;
  std::string all = indices("i", d.shape(0).size()), kept, ranges;
  Shape kept_shape;
  double count = 1;
  for (size_t k = 0; k < is_reduced.size(); ++k) {
    if (is_reduced[k]) {
      ranges += fmt::format("{}i{} in range({})", ranges.empty() ? "" : ", ", k, d.shape(0)[k]);
      count *= static_cast<double>(d.shape(0)[k]);
    } else {
      kept += fmt::format("{}i{}", kept.empty() ? "" : ", ", k);
      kept_shape.push_back(d.shape(0)[k]);
    }
  }
  d.output(d.type(0), d.shape(0));
  for (const char* name : {"S", "Q"})
    d.temp(name, float_type(d.type(0)), kept_shape);
  const std::string difference =
      fmt::format("({} - {} / {})", at("X0", all), at("S", kept), literal(count));
  d.line("{} = sum(({}), {})", at("S", kept), ranges, at("X0", all));
  d.line("{} = sum(({}), {} * {})", at("Q", kept), ranges, difference, difference);
  d.line("{} = {} / (sqrt({} / {}) + 1e-9)", at("Y0", all), difference, at("Q", kept),
         literal(count));
}

void lp_normalization(Definition& d) {
  if (!d.need(0))
    return;
  const auto axis = static_cast<size_t>(d.axis_of(d.integer("axis", -1), d.rank(0)));
  const int64_t order = d.integer("p", 2);
  if (d.is_settled() || (order != 1 && order != 2) || d.shape(0).empty())
    return d.refuse("known norms are p = 1 and p = 2");
  const Shape s{product(d.shape(0), 0, axis), d.shape(0)[axis],
                product(d.shape(0), axis + 1, d.shape(0).size())};
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, s);
  d.declare_output(0, s);
  d.temp("Q", float_type(d.type(0)), {s[0], s[2]});
  d.line("Q[a, c] = sum(r, {})", order == 1 ? "abs(X0[a, r, c])" : "X0[a, r, c] * X0[a, r, c]");
  // Zeros stay zeros.
  d.line("Y0[a, r, c] = select(Q[a, c] == 0, 0, X0[a, r, c] / {})",
         order == 1 ? "Q[a, c]" : "sqrt(Q[a, c])");
}

constexpr Operator kAll[] = {{"BatchNormalization", batch_normalization},
                             {"GroupNormalization", group_normalization},
                             {"InstanceNormalization", instance_normalization},
                             {"LRN", local_response_normalization},
                             {"LayerNormalization", layer_normalization},
                             {"LpNormalization", lp_normalization},
                             {"MeanVarianceNormalization", mean_variance_normalization},
                             {"RMSNormalization", rms_normalization}};

} // namespace of_normalization
} // namespace

std::span<const Operator> normalization_operators() { return of_normalization::kAll; }

} // namespace kawara::program::operators
