#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>
#include <set>

namespace kawara::program::operators {
namespace {
namespace of_reduction {

/// A tensor whose dimensions are reduced or kept, neighbours of a kind merged.
struct Folded {
  Shape shape;                                   ///< of the operand in the program
  std::string index;                             ///< all of it: "a0, r1, a2"
  std::vector<std::string> kept, reduced_ranges; ///< names; "r1 in range(8)"
  Shape kept_shape;
  Shape result;      ///< as the standard has it
  int64_t count = 1; ///< elements that are folded into one
};

Folded fold(const Shape& shape, const std::set<int64_t>& axes, bool keeps) {
  Folded f;
  std::vector<bool> kinds;
  for (size_t k = 0; k < shape.size(); ++k) {
    const bool is_reduced = axes.count(static_cast<int64_t>(k)) > 0;
    if (!is_reduced || keeps)
      f.result.push_back(is_reduced ? 1 : shape[k]);
    if (!kinds.empty() && kinds.back() == is_reduced) {
      f.shape.back() *= shape[k];
    } else {
      kinds.push_back(is_reduced);
      f.shape.push_back(shape[k]);
    }
  }
  std::vector<std::string> names;
  for (size_t k = 0; k < kinds.size(); ++k) {
    names.push_back((kinds[k] ? "r" : "a") + std::to_string(k));
    if (kinds[k]) {
      f.reduced_ranges.push_back(fmt::format("{} in range({})", names[k], f.shape[k]));
      f.count *= f.shape[k];
    } else {
      f.kept.push_back(names[k]);
      f.kept_shape.push_back(f.shape[k]);
    }
  }
  f.index = join(names, ", ");
  return f;
}

/// Axes by attribute, or by input 1 (since version 13 for sums, 18 for the others); all of them
/// when none are named, unless that is to mean none.
std::optional<std::set<int64_t>> reduced_axes(Definition& d) {
  std::optional<std::vector<int64_t>> given = d.integers("axes");
  const bool may_be_none = d.integer("noop_with_empty_axes", 0) != 0;
  if (d.has(1))
    given = d.values(1);
  if (d.is_settled())
    return std::nullopt;
  std::set<int64_t> axes;
  if (!given || given->empty()) {
    if (may_be_none)
      return axes;
    for (int64_t k = 0; k < d.rank(0); ++k)
      axes.insert(k);
    return axes;
  }
  for (const int64_t axis : *given)
    axes.insert(d.axis_of(axis, d.rank(0)));
  return axes;
}

/// How a reduction is computed: over {0}, the element; then {0}, the folded value, and {1}, the
/// count.
struct Kind {
  std::string_view name;
  const char* fold;
  const char* each;
  const char* finish;
};
constexpr Kind kKinds[] = {
    {"ReduceL1", "sum", "abs({0})", "{0}"},        {"ReduceL2", "sum", "{0} * {0}", "sqrt({0})"},
    {"ReduceLogSum", "sum", "{0}", "log({0})"},    {"ReduceMax", "max", "{0}", "{0}"},
    {"ReduceMean", "sum", "{0}", "{0} / {1}"},     {"ReduceMin", "min", "{0}", "{0}"},
    {"ReduceProd", "prod", "{0}", "{0}"},          {"ReduceSum", "sum", "{0}", "{0}"},
    {"ReduceSumSquare", "sum", "{0} * {0}", "{0}"}};

std::string sum_type(DataType type) {
  if (type == DataType::F64)
    return "f64";
  return graph::is_float(type) ? "f32" : "i64";
}

/// The lowest or highest integer of a type, as its elements hold it: what an extreme of nothing is.
std::string end_of(DataType type, bool is_highest) {
  const bool is_unsigned = type == DataType::U8 || type == DataType::U16 || type == DataType::U32 ||
                           type == DataType::U64 || type == DataType::Bool;
  if (type == DataType::Bool)
    return is_highest ? "0 == 0" : "0 == 1";
  if (is_unsigned)
    return Definition::stored(type, is_highest ? "0 - 1" : "0");
  const int64_t half = int64_t{1} << (graph::bytes_of(type) * 8 - 2);
  return Definition::stored(type, is_highest ? fmt::format("{} + {}", half - 1, half)
                                             : fmt::format("0 - {} - {}", half, half));
}

void reduce(Definition& d) {
  if (!d.need(0))
    return;
  const auto axes = reduced_axes(d);
  if (!axes || d.is_settled())
    return;
  const Folded f = fold(d.shape(0), *axes, d.integer("keepdims", 1) != 0);
  d.output(d.type(0), f.result);
  d.declare_operand(0, f.shape);
  d.declare_output(0, f.kept_shape);
  const std::string kept = join(f.kept, ", ");
  for (const Kind& kind : kKinds) {
    if (kind.name != d.node().op)
      continue;
    const bool is_extreme = kind.name == "ReduceMax" || kind.name == "ReduceMin";
    if (is_extreme && f.count == 0 && !graph::is_float(d.type(0)))
      return d.line("{} = {}", at("Y0", kept), end_of(d.type(0), kind.name == "ReduceMin"));
    const DataType order = is_extreme ? d.type(0) : DataType::I64;
    const std::string element =
        Definition::ordered(order, fmt::format(fmt::runtime(kind.each), d.element(0, f.index)));
    d.temp("T", sum_type(d.type(0)), f.kept_shape);
    d.line("{} = {}", at("T", kept),
           f.reduced_ranges.empty()
               ? element
               : fmt::format("{}(({}), {})", kind.fold, join(f.reduced_ranges, ", "), element));
    const bool is_float = graph::is_float(d.type(0));
    const std::string value = is_float || std::string_view(kind.finish) == "{0}"
                                  ? at("T", kept)
                                  : "f64(" + at("T", kept) + ")";
    const std::string whole =
        fmt::format(fmt::runtime(kind.finish), value, literal(static_cast<double>(f.count)));
    d.line("{} = {}", at("Y0", kept),
           Definition::stored(d.type(0), Definition::ordered(order, whole)));
  }
}

/// log(sum(exp(x))), moved by the largest value so that nothing overflows.
void reduce_log_sum_exp(Definition& d) {
  if (!d.need(0))
    return;
  const auto axes = reduced_axes(d);
  if (!axes || d.is_settled())
    return;
  const Folded f = fold(d.shape(0), *axes, d.integer("keepdims", 1) != 0);
  d.output(d.type(0), f.result);
  d.declare_operand(0, f.shape);
  d.declare_output(0, f.kept_shape);
  if (f.reduced_ranges.empty())
    return d.line("{0} = {1}", at("Y0", join(f.kept, ", ")), d.element(0, f.index));
  const std::string kept = join(f.kept, ", "), ranges = join(f.reduced_ranges, ", ");
  const bool is_float = graph::is_float(d.type(0));
  const std::string type = is_float && d.type(0) != DataType::F64 ? "f32" : "f64";
  const std::string element =
      is_float ? d.element(0, f.index) : "f64(" + d.element(0, f.index) + ")";
  d.temp("M", type, f.kept_shape);
  d.temp("T", type, f.kept_shape);
  d.line("{} = max(({}), {})", at("M", kept), ranges, element);
  d.line("{} = sum(({}), exp({} - {}))", at("T", kept), ranges, element, at("M", kept));
  // Differences with an infinity are NaN or minus infinity; the sum is that infinity.
  d.line("{} = {}", at("Y0", kept),
         Definition::stored(d.type(0), fmt::format("select(abs({0}) == inf, {0}, {0} + log({1}))",
                                                   at("M", kept), at("T", kept))));
}

void arg_extreme(Definition& d) {
  if (!d.need(0))
    return;
  const int64_t axis = d.axis_of(d.integer("axis", 0), d.rank(0));
  if (d.is_settled())
    return;
  const bool is_max = d.node().op == "ArgMax", is_last = d.integer("select_last_index", 0) != 0;
  const Folded f = fold(d.shape(0), {axis}, d.integer("keepdims", 1) != 0);
  const auto at_axis = static_cast<size_t>(axis);
  const int64_t outer = product(d.shape(0), 0, at_axis), n = d.shape(0)[at_axis];
  const int64_t inner = product(d.shape(0), at_axis + 1, d.shape(0).size());
  if (n == 0)
    return d.refuse("dimension " + std::to_string(axis) + " is empty");
  d.output(DataType::I64, f.result);
  d.declare_operand(0, {outer, n, inner});
  d.declare_output(0, {outer, inner});
  const std::string type(scalar::name_of(scalar::compute_type(graph::storage_of(d.type(0)))));
  d.temp("M", d.type(0) == DataType::U32 ? "i64" : type, {outer, inner});
  const std::string x = Definition::ordered(d.type(0), d.element(0, "a, r, c"));
  // NaN is never the extreme.
  const bool is_float = graph::is_float(d.type(0));
  d.line("M[a, c] = {}(r in range({}), {})", is_max ? "max" : "min", n,
         is_float ? fmt::format("select({0} == {0}, {0}, {1})", x, is_max ? "(-inf)" : "inf") : x);
  d.line("Y0[a, c] = {}", is_last ? -1 : n);
  d.add_line(fmt::format("for a in range({}):\n  for r in range({}):\n    for c in range({}):\n"
                         "      Y0[a, c] {}= select({} == M[a, c], r, {})\n",
                         outer, n, inner, is_last ? "max" : "min", x, is_last ? -1 : n));
  // The first element wins where no other is above or below it: what ONNX Runtime does with NaN.
  if (is_float)
    d.line("Y0[a, c] = select({0} != {0}, 0, Y0[a, c])", d.element(0, "a, 0, c"));
}

/// [outer, n, inner] around the axis that Softmax and its kin work along. Before version 13 they
/// saw the tensor as a matrix whose rows begin at the axis.
Shape around_axis(Definition& d, int64_t old_axis) {
  const bool is_matrix = d.opset() < 13;
  const int64_t axis = d.axis_of(d.integer("axis", is_matrix ? old_axis : -1), d.rank(0));
  const auto cut = static_cast<size_t>(axis);
  const Shape& shape = d.shape(0);
  if (shape.empty())
    return {1, 1, 1};
  if (is_matrix)
    return {product(shape, 0, cut), product(shape, cut, shape.size()), 1};
  return {product(shape, 0, cut), shape[cut], product(shape, cut + 1, shape.size())};
}

void softmax(Definition& d) {
  if (!d.need(0))
    return;
  Shape s = around_axis(d, 1);
  if (d.is_settled())
    return;
  d.output(d.type(0), d.shape(0));
  const bool is_row = s[2] == 1; // then two dimensions will do
  if (is_row)
    s.pop_back();
  const std::string a = is_row ? "a" : "a, c", all = is_row ? "a, r" : "a, r, c";
  const Shape kept = is_row ? Shape{s[0]} : Shape{s[0], s[2]};
  d.declare_operand(0, s);
  d.declare_output(0, s);
  const std::string type = d.type(0) == DataType::F64 ? "f64" : "f32";
  d.temp("M", type, kept);
  d.temp("T", type, kept);
  d.line("M[{}] = max(r, X0[{}])", a, all);
  if (d.node().op == "LogSoftmax") {
    d.line("T[{0}] = sum(r, exp(X0[{1}] - M[{0}]))", a, all);
    return d.line("Y0[{1}] = X0[{1}] - M[{0}] - log(T[{0}])", a, all);
  }
  d.temp("E", type, s);
  d.line("E[{1}] = exp(X0[{1}] - M[{0}])", a, all);
  d.line("T[{0}] = sum(r, E[{1}])", a, all);
  d.line("Y0[{1}] = E[{1}] / T[{0}]", a, all);
}

void hardmax(Definition& d) {
  if (!d.need(0))
    return;
  const Shape s = around_axis(d, 1);
  if (d.is_settled())
    return;
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, s);
  d.declare_output(0, s);
  d.temp("I", "i64", {s[0], s[2]});
  d.line("I[a, c] = argmax(r, X0[a, r, c])");
  d.line("Y0[a, r, c] = select(r == I[a, c], 1, 0)");
}

/// Sums of the elements up to each one, along the middle of three dimensions: of a row, or of one
/// block of it.
class RunningSums {
public:
  RunningSums(const Shape& shape, bool is_exclusive, bool is_reverse)
      : shape_(shape), is_exclusive_(is_exclusive), is_reverse_(is_reverse) {}

  /// Each sum is the one before it and one element more.
  std::string rows() const {
    if (shape_[1] == 0)
      return fmt::format("for a in range({}):\n  for r in range(0):\n    for c in range({}):\n"
                         "      Y0[a, r, c] = 0\n",
                         shape_[0], shape_[2]);
    std::string text =
        fmt::format("for a in range({}):\n  for c in range({}):\n    Y0[a, {}, c] = {}\n",
                    shape_[0], shape_[2], place("0"), first_of("0", "0"));
    if (shape_[1] > 1)
      text += fmt::format("for a in range({}):\n  for r in range(1, {}):\n    for c in range({}):\n"
                          "      Y0[a, {}, c] = Y0[a, {}, c] + {}\n",
                          shape_[0], shape_[1], shape_[2], place("r"), place("r - 1"), added("r"));
    return text;
  }

  /// The same in blocks, which threads can share: the sum of each block, what stands before it, and
  /// sums inside it from there on.
  std::string blocks(Definition& d, int64_t block, const std::string& type) const {
    const int64_t count = (shape_[1] + block - 1) / block;
    const Shape one_each{shape_[0], count, shape_[2]};
    d.temp("T0", type, one_each);
    d.temp("T1", type, one_each);
    const std::string begin = fmt::format("b * {}", block),
                      length = fmt::format("min({}, {} - b * {})", block, shape_[1], block),
                      around = fmt::format("for a in range({}):\n  for b in range({}):\n",
                                           shape_[0], count),
                      columns = fmt::format("for c in range({}):\n", shape_[2]);
    std::string text = around + "    " + columns + "      T0[a, b, c] = 0\n      for r in range(" +
                       length + "):\n        T0[a, b, c] += " + element(begin + " + r") + "\n";
    text += fmt::format("for a in range({}):\n  {}    T1[a, 0, c] = 0\n", shape_[0], columns);
    text += fmt::format("for a in range({}):\n  for b in range(1, {}):\n    {}"
                        "      T1[a, b, c] = T1[a, b - 1, c] + T0[a, b - 1, c]\n",
                        shape_[0], count, columns);
    text += around + "    " + columns +
            fmt::format("      Y0[a, {}, c] = {}\n", place(begin), first_of("T1[a, b, c]", begin));
    text += around + "    for r in range(1, " + length + "):\n      " + columns +
            fmt::format("        Y0[a, {}, c] = Y0[a, {}, c] + {}\n", place(begin + " + r"),
                        place(begin + " + r - 1"), added(begin + " + r"));
    return text;
  }

private:
  /// The position that is so far along the way.
  std::string place(const std::string& along) const {
    return is_reverse_ ? fmt::format("{} - ({})", shape_[1] - 1, along) : along;
  }
  std::string element(const std::string& along) const { return "X0[a, " + place(along) + ", c]"; }
  /// What comes to the sum before.
  std::string added(const std::string& along) const {
    return element(is_exclusive_ ? along + " - 1" : along);
  }
  /// The first sum of a row or block, before which stands `before`.
  std::string first_of(const std::string& before, const std::string& along) const {
    if (is_exclusive_)
      return before;
    return before == "0" ? element(along) : before + " + " + element(along);
  }

  Shape shape_;
  bool is_exclusive_, is_reverse_;
};

void cum_sum(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return;
  const std::vector<int64_t> given = d.values(1);
  if (d.is_settled())
    return;
  if (given.size() != 1)
    return d.refuse("it needs one axis");
  const auto axis = static_cast<size_t>(d.axis_of(given[0], d.rank(0)));
  if (d.is_settled())
    return;
  const bool is_exclusive = d.integer("exclusive", 0) != 0,
             is_reverse = d.integer("reverse", 0) != 0;
  const Shape s{product(d.shape(0), 0, axis), d.shape(0)[axis],
                product(d.shape(0), axis + 1, d.shape(0).size())};
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, s);
  d.declare_output(0, s);
  // Shorter rows are done before threads have begun; few long blocks cost least, many short ones
  // keep a GPU busy. Narrow floats are rounded at each sum, which blocks would change.
  constexpr int64_t kLong = 1024, kVeryLong = 8192;
  const int64_t block = s[1] >= kVeryLong ? 1024 : 128;
  const bool is_wide =
      d.type(0) == DataType::F32 || d.type(0) == DataType::F64 || !graph::is_float(d.type(0));
  const RunningSums sums(s, is_exclusive, is_reverse);
  d.add_line(s[1] >= kLong && is_wide ? sums.blocks(d, block, name_in_program(d.type(0)))
                                      : sums.rows());
}

constexpr Operator kAll[] = {
    {"ArgMax", arg_extreme}, {"ArgMin", arg_extreme},  {"CumSum", cum_sum},
    {"Hardmax", hardmax},    {"LogSoftmax", softmax},  {"ReduceL1", reduce},
    {"ReduceL2", reduce},    {"ReduceLogSum", reduce}, {"ReduceLogSumExp", reduce_log_sum_exp},
    {"ReduceMax", reduce},   {"ReduceMean", reduce},   {"ReduceMin", reduce},
    {"ReduceProd", reduce},  {"ReduceSum", reduce},    {"ReduceSumSquare", reduce},
    {"Softmax", softmax},
};

} // namespace of_reduction
} // namespace

std::span<const Operator> reduction_operators() { return of_reduction::kAll; }

} // namespace kawara::program::operators
