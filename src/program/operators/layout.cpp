#include "program/operators/broadcast.h"
#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>
#include <set>

namespace kawara::program::operators {
namespace {
namespace of_layout {

void transpose(Definition& d) {
  if (!d.need(0))
    return;
  const auto rank = static_cast<size_t>(d.rank(0));
  std::vector<int64_t> order = d.integers("perm").value_or(std::vector<int64_t>{});
  if (!d.has_attribute("perm"))
    for (size_t k = 0; k < rank; ++k)
      order.push_back(static_cast<int64_t>(rank - 1 - k));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = sorted.size() == rank;
  for (size_t k = 0; is_order && k < rank; ++k)
    is_order = sorted[k] == static_cast<int64_t>(k);
  if (!is_order)
    return d.refuse(fmt::format("{} is no order of {} dimensions", graph::text_of(order), rank));
  Shape result;
  for (const int64_t axis : order)
    result.push_back(d.shape(0)[static_cast<size_t>(axis)]);
  // Groups of dimensions that stay neighbours; those of extent 1 do not matter.
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t axis : order) {
    if (d.shape(0)[static_cast<size_t>(axis)] == 1)
      continue;
    int64_t before = groups.empty() ? -2 : groups.back().back();
    while (!groups.empty() && before + 1 < axis && d.shape(0)[static_cast<size_t>(before + 1)] == 1)
      ++before;
    if (!groups.empty() && before + 1 == axis)
      groups.back().push_back(axis);
    else
      groups.push_back({axis});
  }
  const auto extent = [&](const std::vector<int64_t>& group) {
    int64_t elements = 1;
    for (const int64_t axis : group)
      elements *= d.shape(0)[static_cast<size_t>(axis)];
    return elements;
  };
  d.output(d.type(0), result);
  if (groups.size() <= 1)
    return d.view(0);
  std::vector<size_t> by_source(groups.size());
  Shape out_shape, in_shape;
  std::vector<std::string> in_index;
  for (size_t k = 0; k < groups.size(); ++k) {
    by_source[k] = k;
    out_shape.push_back(extent(groups[k]));
  }
  std::sort(by_source.begin(), by_source.end(),
            [&](size_t a, size_t b) { return groups[a].front() < groups[b].front(); });
  for (const size_t k : by_source) {
    in_shape.push_back(out_shape[k]);
    in_index.push_back("i" + std::to_string(k));
  }
  d.declare_operand(0, in_shape);
  d.declare_output(0, out_shape);
  d.line("Y0[{}] = X0[{}]", indices("i", groups.size()), join(in_index, ", "));
}

void concat(Definition& d) {
  if (!d.need(0))
    return;
  const auto axis = static_cast<size_t>(d.axis_of(d.integer("axis", 1), d.rank(0)));
  if (d.is_settled() || d.shape(0).empty())
    return d.refuse("numbers without dimensions cannot be joined");
  Shape result = d.shape(0);
  result[axis] = 0;
  for (size_t k = 0; k < d.operands(); ++k) {
    Shape other = d.shape(k);
    const bool fits = d.has(k) && other.size() == result.size() && d.type(k) == d.type(0);
    if (fits)
      other[axis] = 0;
    if (!fits || other != result)
      return d.refuse(fmt::format("{} does not continue {} along dimension {}",
                                  graph::text_of(d.shape(k)), graph::text_of(d.shape(0)), axis));
  }
  int64_t total = 0;
  for (size_t k = 0; k < d.operands(); ++k)
    total += d.shape(k)[axis];
  result[axis] = total;
  d.output(d.type(0), result);
  const int64_t outer = product(result, 0, axis), inner = product(result, axis + 1, result.size());
  // What follows the axis moves with it: two dimensions are enough.
  const bool is_flat = outer == 1;
  d.declare_output(0, is_flat ? Shape{total * inner} : Shape{outer, total * inner});
  int64_t from = 0;
  for (size_t k = 0; k < d.operands(); ++k) {
    const int64_t width = d.shape(k)[axis] * inner;
    d.declare_operand(k, is_flat ? Shape{width} : Shape{outer, width});
    if (width * outer > 0)
      d.add_line(
          is_flat
              ? fmt::format("for i in range({0}):\n  Y0[i + {1}] = X{2}[i]", width, from, k)
              : fmt::format(
                    "for a in range({3}):\n  for i in range({0}):\n    Y0[a, i + {1}] = X{2}[a, i]",
                    width, from, k, outer));
    from += width;
  }
}

void split(Definition& d) {
  if (!d.need(0))
    return;
  const auto axis = static_cast<size_t>(d.axis_of(d.integer("axis", 0), d.rank(0)));
  std::optional<std::vector<int64_t>> sizes = d.integers("split");
  if (d.has(1))
    sizes = d.values(1);
  if (d.is_settled() || d.shape(0).empty())
    return d.refuse("a number without dimensions cannot be split");
  const int64_t extent = d.shape(0)[axis];
  const auto parts = static_cast<int64_t>(d.outputs_wanted());
  if (const int64_t asked = d.integer("num_outputs", parts); asked != parts)
    return d.refuse(fmt::format("num_outputs is {} for {} outputs", asked, parts));
  if (!sizes && parts > 0) {
    const int64_t each = (extent + parts - 1) / parts;
    sizes.emplace();
    for (int64_t k = 0; k < parts; ++k)
      sizes->push_back(std::clamp<int64_t>(extent - k * each, 0, each));
  }
  int64_t total = 0;
  for (const int64_t size : *sizes)
    total += size >= 0 ? size : extent + 1;
  if (total != extent || static_cast<int64_t>(sizes->size()) != parts)
    return d.refuse(fmt::format("parts of {} do not make up the {} of dimension {} in {} outputs",
                                graph::text_of(*sizes), extent, axis, parts));
  const int64_t outer = product(d.shape(0), 0, axis);
  const int64_t inner = product(d.shape(0), axis + 1, d.shape(0).size());
  // Parts of one size have a number each, which is the index of a dimension: what reads them sees
  // dimensions, no distances.
  const bool are_equal =
      parts > 1 && extent > 0 && std::count(sizes->begin(), sizes->end(), extent / parts) == parts;
  d.declare_operand(0, are_equal ? Shape{outer, parts, extent / parts * inner}
                                 : Shape{outer, extent * inner});
  int64_t from = 0;
  for (size_t k = 0; k < sizes->size(); ++k) {
    Shape shape = d.shape(0);
    shape[axis] = (*sizes)[k];
    d.output(d.type(0), shape);
    const int64_t width = (*sizes)[k] * inner;
    d.declare_output(k, {outer, width});
    const std::string source = are_equal ? fmt::format("{}, i", k) : fmt::format("i + {}", from);
    if (width * outer > 0)
      d.add_line(
          fmt::format("for a in range({}):\n  for i in range({}):\n    Y{}[a, i] = X0[a, {}]",
                      outer, width, k, source));
    from += width;
  }
}

/// Start, step and count along one dimension of so many elements.
struct Cut {
  int64_t start = 0, step = 1, count = 0, extent = 0;

  bool is_whole() const { return start == 0 && step == 1 && count == extent; }
};

/// The line for elements that are cut along some dimensions. Those that stay whole go with the
/// dimension before them.
void cut_line(Definition& d, const std::vector<Cut>& cuts) {
  std::vector<Cut> joined;
  for (Cut cut : cuts) {
    if (cut.count == 1)
      cut.step = 1;
    if (joined.empty() || !cut.is_whole() || joined.back().step != 1) {
      joined.push_back(cut);
      continue;
    }
    Cut& last = joined.back();
    last = {last.start * cut.extent, 1, last.count * cut.extent, last.extent * cut.extent};
  }
  Shape from, to;
  std::vector<std::string> source, target;
  for (const Cut& cut : joined) {
    if (cut.extent == 1 && cut.count == 1)
      continue;
    const std::string i = "i" + std::to_string(to.size());
    // A part of that size has a number, which is the index of a dimension: what reads it sees
    // dimensions, no distances.
    const bool is_part = cut.step == 1 && cut.extent % cut.count == 0 &&
                         cut.start % cut.count == 0 && !cut.is_whole();
    if (is_part) {
      from.push_back(cut.extent / cut.count);
      source.push_back(std::to_string(cut.start / cut.count));
    }
    if (cut.count > 1 || !is_part) {
      from.push_back(is_part ? cut.count : cut.extent);
      source.push_back(
          is_part || cut.is_whole() ? i : fmt::format("{} * {} + {}", i, cut.step, cut.start));
      to.push_back(cut.count);
      target.push_back(i);
    }
  }
  d.declare_operand(0, from);
  d.declare_output(0, to);
  d.line("{} = {}", at("Y0", join(target, ", ")), at("X0", join(source, ", ")));
}

Cut cut_of(int64_t extent, int64_t start, int64_t end, int64_t step) {
  const auto from_front = [&](int64_t at) {
    return at < 0 ? std::max(at, -extent - 1) + extent : std::min(at, extent);
  };
  Cut cut;
  cut.step = step;
  cut.extent = extent;
  if (step > 0) {
    cut.start = std::clamp<int64_t>(from_front(start), 0, extent);
    const int64_t stop = std::clamp<int64_t>(from_front(end), 0, extent);
    cut.count = stop > cut.start ? (stop - cut.start + step - 1) / step : 0;
  } else if (extent > 0) {
    cut.start = std::clamp<int64_t>(from_front(start), 0, extent - 1);
    const int64_t stop = end < -extent ? -1 : std::clamp<int64_t>(from_front(end), -1, extent - 1);
    cut.count = cut.start > stop ? (cut.start - stop - step - 1) / -step : 0;
  }
  return cut;
}

void slice(Definition& d) {
  if (!d.need(0))
    return;
  const bool by_attribute = d.opset() < 10;
  const std::vector<int64_t> starts =
      by_attribute ? d.integers("starts").value_or(Shape{}) : d.values(1);
  const std::vector<int64_t> ends =
      by_attribute ? d.integers("ends").value_or(Shape{}) : d.values(2);
  std::vector<int64_t> axes, steps(starts.size(), 1);
  for (size_t k = 0; k < starts.size(); ++k)
    axes.push_back(static_cast<int64_t>(k));
  if (by_attribute)
    axes = d.integers("axes").value_or(axes);
  else if (d.has(3))
    axes = d.values(3);
  if (!by_attribute && d.has(4))
    steps = d.values(4);
  if (d.is_settled())
    return;
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return d.refuse("starts, ends, axes and steps have different lengths");
  std::vector<Cut> cuts;
  for (const int64_t extent : d.shape(0))
    cuts.push_back({0, 1, extent, extent});
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<size_t>(d.axis_of(axes[k], d.rank(0)));
    if (steps[k] == 0 || axis >= cuts.size())
      return d.refuse("a step is 0");
    cuts[axis] = cut_of(d.shape(0)[axis], starts[k], ends[k],
                        std::clamp<int64_t>(steps[k], -(1 << 30), 1 << 30));
  }
  Shape result;
  bool is_whole = true;
  for (size_t k = 0; k < cuts.size(); ++k) {
    result.push_back(cuts[k].count);
    is_whole = is_whole && cuts[k].count == d.shape(0)[k] && cuts[k].step == 1;
  }
  d.output(d.type(0), result);
  if (is_whole)
    return d.view(0);
  if (product(result) > 0)
    cut_line(d, cuts);
}

/// Indices that are known and one after the other are a slice; others are looked up by a function.
void gather(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return;
  const int64_t given = d.integer("axis", 0);
  const Tensor* indices = d.operand(1).value;
  const bool is_known = indices && indices->elements() > 0 && d.rank(0) > 0 &&
                        (d.type(1) == DataType::I64 || d.type(1) == DataType::I32);
  if (!is_known || d.operand(0).value || given < -d.rank(0) || given >= d.rank(0))
    return d.decline();
  const auto axis = static_cast<size_t>(d.axis_of(given, d.rank(0)));
  const int64_t extent = d.shape(0)[axis], count = indices->elements();
  const auto place = [&](int64_t k) {
    const int64_t index = indices->get_int(k);
    return index < 0 ? index + extent : index;
  };
  const int64_t step = count > 1 ? place(1) - place(0) : 1;
  for (int64_t k = 0; k < count; ++k)
    if (place(k) < 0 || place(k) >= extent || place(k) != place(0) + k * step)
      return d.decline();
  Shape result(d.shape(0).begin(), d.shape(0).begin() + static_cast<std::ptrdiff_t>(axis));
  result.insert(result.end(), d.shape(1).begin(), d.shape(1).end());
  result.insert(result.end(), d.shape(0).begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                d.shape(0).end());
  std::vector<Cut> cuts;
  for (const int64_t whole : d.shape(0))
    cuts.push_back({0, 1, whole, whole});
  cuts[axis] = {place(0), step, count, extent};
  d.output(d.type(0), result);
  if (cuts[axis].is_whole())
    return d.view(0);
  if (product(result) > 0)
    cut_line(d, cuts);
}

void expand(Definition& d) {
  if (!d.need(0))
    return;
  const std::vector<int64_t> wanted = d.values(1);
  if (d.is_settled())
    return;
  const auto result = graph::elements_of(wanted) ? broadcast({d.shape(0), wanted}) : std::nullopt;
  if (!result)
    return d.refuse(fmt::format("{} cannot be stretched to {}", graph::text_of(d.shape(0)),
                                graph::text_of(wanted)));
  d.output(d.type(0), *result);
  if (product(*result) == product(d.shape(0)))
    return d.view(0);
  std::vector<std::string> source;
  const size_t missing = result->size() - d.shape(0).size();
  for (size_t k = 0; k < d.shape(0).size(); ++k)
    source.push_back(d.shape(0)[k] == 1 ? "0" : "i" + std::to_string(k + missing));
  d.line("{} = {}", at("Y0", indices("i", result->size())), at("X0", join(source, ", ")));
}

void tile(Definition& d) {
  if (!d.need(0))
    return;
  std::vector<int64_t> repeats = d.values(1);
  if (d.is_settled())
    return;
  if (d.opset() < 6 && d.has(2)) { // one count along one axis
    const std::vector<int64_t> axis = d.values(2);
    if (d.is_settled() || axis.size() != 1 || repeats.size() != 1)
      return d.refuse("it needs one count and one axis");
    std::vector<int64_t> all(d.shape(0).size(), 1);
    const auto at_axis = static_cast<size_t>(d.axis_of(axis[0], d.rank(0)));
    if (d.is_settled())
      return;
    all[at_axis] = repeats[0];
    repeats = all;
  }
  if (repeats.size() != d.shape(0).size())
    return d.refuse(fmt::format("{} counts for {} dimensions", repeats.size(), d.rank(0)));
  Shape result;
  std::vector<std::string> source;
  for (size_t k = 0; k < repeats.size(); ++k) {
    if (repeats[k] < 0 || repeats[k] > (int64_t{1} << 40))
      return d.refuse("a count is " + std::to_string(repeats[k]));
    result.push_back(repeats[k] * d.shape(0)[k]);
    source.push_back(repeats[k] == 1
                         ? fmt::format("i{}", k)
                         : fmt::format("i{} % {}", k, std::max<int64_t>(d.shape(0)[k], 1)));
  }
  d.output(d.type(0), result);
  d.line("{} = {}", at("Y0", indices("i", result.size())), at("X0", join(source, ", ")));
}

/// Moves blocks of a [n, c, h, w] image between depth and space; both are a transposition.
void depth_to_space(Definition& d) {
  if (!d.need(0))
    return;
  const int64_t b = d.integer("blocksize", 0);
  const bool to_space = d.node().op == "DepthToSpace";
  const Shape s = d.shape(0);
  constexpr int64_t most = 1 << 20; // whose square is a number
  const bool fits = s.size() == 4 && b > 0 && b <= most &&
                    (to_space ? s[1] % (b * b) == 0 : s[2] % b == 0 && s[3] % b == 0);
  if (!fits)
    return d.refuse(fmt::format("blocks of {} do not fit {}", b, graph::text_of(s)));
  if (!to_space) {
    d.output(d.type(0), {s[0], s[1] * b * b, s[2] / b, s[3] / b});
    d.declare_operand(0, {s[0], s[1], s[2] / b, b, s[3] / b, b});
    d.declare_output(0, {s[0], b, b, s[1], s[2] / b, s[3] / b});
    return d.line("Y0[n, p, q, c, h, w] = X0[n, c, h, p, w, q]");
  }
  const int64_t c = s[1] / (b * b);
  d.output(d.type(0), {s[0], c, s[2] * b, s[3] * b});
  d.declare_output(0, {s[0], c, s[2], b, s[3], b});
  const bool is_crd = d.word_of("mode", "DCR", {"DCR", "CRD"}) == "CRD";
  d.declare_operand(0,
                    is_crd ? Shape{s[0], c, b, b, s[2], s[3]} : Shape{s[0], b, b, c, s[2], s[3]});
  d.line("Y0[n, c, h, p, w, q] = X0[{}]", is_crd ? "n, c, p, q, h, w" : "n, p, q, c, h, w");
}

void trilu(Definition& d) {
  if (!d.need(0))
    return;
  const std::vector<int64_t> given = d.has(1) ? d.values(1) : std::vector<int64_t>{0};
  if (d.is_settled())
    return;
  if (d.rank(0) < 2 || given.size() != 1)
    return d.refuse("it needs matrices, this is " + graph::text_of(d.shape(0)));
  const int64_t k = std::clamp<int64_t>(given[0], -(int64_t{1} << 40), int64_t{1} << 40);
  const size_t rank = d.shape(0).size();
  const Shape s{product(d.shape(0), 0, rank - 2), d.shape(0)[rank - 2], d.shape(0)[rank - 1]};
  d.output(d.type(0), d.shape(0));
  d.declare_operand(0, s);
  d.declare_output(0, s);
  d.line("Y0[a, i, j] = select(j - i {} {}, X0[a, i, j], 0)",
         d.integer("upper", 1) != 0 ? ">=" : "<=", k);
}

constexpr Operator kAll[] = {{"Concat", concat},       {"DepthToSpace", depth_to_space},
                             {"Expand", expand},       {"Gather", gather},
                             {"Slice", slice},         {"SpaceToDepth", depth_to_space},
                             {"Split", split},         {"Tile", tile},
                             {"Transpose", transpose}, {"Trilu", trilu}};

} // namespace of_layout
} // namespace

std::span<const Operator> layout_operators() { return of_layout::kAll; }

} // namespace kawara::program::operators
