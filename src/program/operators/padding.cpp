#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>

namespace kawara::program::operators {
namespace {
namespace of_padding {

/// Elements to add in front of and behind each dimension; negative numbers cut.
struct Amounts {
  std::vector<int64_t> begin, end;
};

std::optional<Amounts> amounts_of(Definition& d) {
  const bool by_attribute = d.opset() < 11;
  const char* name = d.has_attribute("paddings") ? "paddings" : "pads";
  const std::vector<int64_t> given =
      by_attribute ? d.integers(name).value_or(std::vector<int64_t>{}) : d.values(1);
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < d.rank(0); ++k)
    axes.push_back(k);
  if (!by_attribute && d.has(3))
    axes = d.values(3);
  if (!d.is_settled() && given.size() != 2 * axes.size())
    d.refuse(fmt::format("{} amounts for {} dimensions", given.size(), axes.size()));
  if (d.is_settled())
    return std::nullopt;
  constexpr int64_t most = int64_t{1} << 40;
  Amounts amounts{std::vector<int64_t>(d.shape(0).size(), 0),
                  std::vector<int64_t>(d.shape(0).size(), 0)};
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(d.axis_of(axes[k], d.rank(0)));
    const int64_t begin = given[k], end = given[k + axes.size()];
    if (begin < -most || begin > most || end < -most || end > most)
      d.refuse("an amount is too large");
    if (d.is_settled())
      return std::nullopt;
    amounts.begin[axis] = begin;
    amounts.end[axis] = end;
  }
  return amounts;
}

/// What elements outside hold: an attribute, a number that is an input, or zero.
std::string fill_of(Definition& d) {
  const bool by_attribute = d.opset() < 11;
  if (!by_attribute && d.has(2)) {
    if (product(d.shape(2)) != 1)
      d.refuse("the value must be one number");
    d.declare_operand(2, {});
    return "X2";
  }
  return graph::is_float(d.type(0)) ? literal(by_attribute ? d.real("value", 0) : 0) : "0";
}

/// Place of result coordinate i<k> in the operand, when all of them have one.
std::string source_of(Definition& d, const std::string& mode, const Amounts& amounts, size_t k) {
  const int64_t n = d.shape(0)[k];
  const std::string i = "i" + std::to_string(k);
  const std::string moved = amounts.begin[k] == 0 ? i : fmt::format("{} - {}", i, amounts.begin[k]);
  const bool has_border = amounts.begin[k] > 0 || amounts.end[k] > 0;
  if (mode == "constant" || !has_border)
    return moved;
  if (n == 0)
    d.refuse(fmt::format("dimension {} has no border", k));
  if (mode == "wrap")
    return fmt::format("({}) % {}", moved, std::max<int64_t>(n, 1));
  if (mode == "edge")
    return fmt::format("min(max({}, 0), {})", moved, n - 1);
  if (amounts.begin[k] >= n || amounts.end[k] >= n)
    d.refuse(fmt::format("dimension {} of {} elements cannot be mirrored over {} elements", k, n,
                         std::max(amounts.begin[k], amounts.end[k])));
  const std::string folded = fmt::format("max({0}, 0 - ({0}))", moved);
  return fmt::format("min({0}, {1} - {0})", folded, 2 * (n - 1));
}

/// A run of the innermost dimension that one loop copies: element `first` + i of the result is
/// element `source` + `step` * i of the operand.
struct Run {
  int64_t first = 0, count = 0, source = 0, step = 1;

  std::string from() const {
    if (step == 0)
      return std::to_string(source);
    return step > 0 ? fmt::format("i + {}", source) : fmt::format("{} - i", source);
  }
};

/// In elements of the result. A row of this length is gathered in a few vectors: 507 rows of 10
/// took 0.82 us so and 1.05 in runs, 1248 rows of 110 401 us and 26 (one Cascade Lake core, 19
/// November 2026).
constexpr int64_t kShortRow = 32;

/// The innermost dimension as runs in front of the operand's own elements, of these, and behind
/// them; none where a row is short or a border is more than the operand repeated once.
std::vector<Run> runs_of(const std::string& mode, int64_t n, int64_t begin, int64_t end) {
  const int64_t cut = std::max<int64_t>(-begin, 0), before = std::max<int64_t>(begin, 0);
  const int64_t own = n - cut - std::max<int64_t>(-end, 0), border = std::max(begin, end);
  if (mode == "constant" || n + begin + end <= kShortRow || border <= 0 || border > n || own < 1)
    return {};
  std::vector<Run> runs;
  if (before > 0)
    runs.push_back(mode == "edge"   ? Run{0, before, 0, 0}
                   : mode == "wrap" ? Run{0, before, n - before, 1}
                                    : Run{0, before, before, -1});
  runs.push_back({before, own, cut, 1});
  if (end > 0)
    runs.push_back(mode == "edge"   ? Run{before + own, end, n - 1, 0}
                   : mode == "wrap" ? Run{before + own, end, 0, 1}
                                    : Run{before + own, end, n - 2, -1});
  return runs;
}

/// Loops around the first `count` dimensions.
std::string loops_over(const Shape& shape, size_t count) {
  std::string text;
  for (size_t k = 0; k < count; ++k)
    text += fmt::format("{}for i{} in range({}):\n", std::string(2 * k, ' '), k, shape[k]);
  return text;
}

/// Rows of the result, copied run by run.
std::string copied_in_runs(const Shape& shape, std::vector<std::string> source,
                           const std::vector<Run>& runs) {
  const size_t last = shape.size() - 1;
  const std::string indent(2 * last, ' '), row = last == 0 ? "" : indices("i", last) + ", ";
  std::string text = loops_over(shape, last);
  for (const Run& run : runs) {
    source[last] = run.from();
    text += fmt::format("{0}for i in range({1}):\n{0}  {2} = {3}\n", indent, run.count,
                        at("Y0", fmt::format("{}i + {}", row, run.first)),
                        at("X0", join(source, ", ")));
  }
  return text;
}

void pad(Definition& d) {
  if (!d.need(0))
    return;
  const auto amounts = amounts_of(d);
  const std::string mode = d.word_of("mode", "constant", {"constant", "edge", "reflect", "wrap"}),
                    fill = fill_of(d);
  if (d.is_settled())
    return;
  Shape shape;
  std::vector<std::string> source, inside;
  for (size_t k = 0; k < amounts->begin.size(); ++k) {
    const int64_t begin = amounts->begin[k], n = d.shape(0)[k];
    shape.push_back(n + begin + amounts->end[k]);
    source.push_back(source_of(d, mode, *amounts, k));
    if (mode == "constant" && begin > 0)
      inside.push_back(fmt::format("i{} >= {}", k, begin));
    if (mode == "constant" && amounts->end[k] > 0)
      inside.push_back(fmt::format("i{} < {}", k, begin + n));
  }
  d.output(d.type(0), shape);
  if (!shape.empty()) {
    const auto runs = runs_of(mode, d.shape(0).back(), amounts->begin.back(), amounts->end.back());
    if (!runs.empty())
      return d.add_line(copied_in_runs(shape, source, runs));
  }
  const std::string text = loops_over(shape, shape.size()), indent(2 * shape.size(), ' ');
  const std::string target = at("Y0", indices("i", shape.size()));
  const std::string load = at("X0", join(source, ", "));
  if (inside.empty())
    return d.add_line(text + indent + target + " = " + load + "\n");
  d.add_line(text + fmt::format("{0}if {1}:\n{0}  {2} = {3}\n{0}else:\n{0}  {2} = {4}\n", indent,
                                join(inside, " and "), target, load, fill));
}

constexpr Operator kAll[] = {{"Pad", pad}};

} // namespace of_padding
} // namespace

std::span<const Operator> padding_operators() { return of_padding::kAll; }

} // namespace kawara::program::operators
