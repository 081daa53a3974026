#include "run/functions/around_axis.h"
#include "run/functions/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace kawara::run {
namespace {
namespace of_search {

/// NaN is above every number, so that there is an order.
bool is_number_less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// Is element a of the tensor before element b?
bool is_less(const Tensor& t, int64_t a, int64_t b) {
  if (graph::is_float(t.type()))
    return is_number_less(t.get_double(a), t.get_double(b));
  return t.type() == DataType::U64
             ? static_cast<uint64_t>(t.get_int(a)) < static_cast<uint64_t>(t.get_int(b))
             : t.get_int(a) < t.get_int(b);
}

/// Calls f(k) for every element that is not zero.
template <class F> void each_not_zero(const Tensor& x, F f) {
  const auto among = [&](const auto* elements) {
    for (int64_t k = 0; k < x.elements(); ++k)
      if (elements[k] != 0)
        f(k);
  };
  if (x.type() == DataType::F32)
    among(x.as<float>());
  else if (x.type() == DataType::Bool || x.type() == DataType::U8)
    among(x.as<uint8_t>());
  else if (x.type() == DataType::I64)
    among(x.as<int64_t>());
  else
    for (int64_t k = 0; k < x.elements(); ++k)
      if (x.get_double(k) != 0)
        f(k);
}

Outputs non_zero(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  int64_t count = 0;
  each_not_zero(x, [&](int64_t) { ++count; });
  Tensor out = call.result(0, DataType::I64, {x.rank(), count});
  int64_t next = 0, row = 0;
  const int64_t width = x.rank() > 0 ? x.shape().back() : 1;
  int64_t* const to = out.as<int64_t>();
  // Rows before the element, whose coordinates change seldom.
  std::vector<int64_t> at(x.shape().size(), 0);
  each_not_zero(x, [&](int64_t k) {
    for (; k >= (row + 1) * width; ++row)
      for (size_t t = at.size() - 1; t-- > 0 && ++at[t] == x.shape()[t];)
        at[t] = 0;
    if (!at.empty())
      at.back() = k - row * width;
    for (size_t t = 0; t < at.size(); ++t)
      to[static_cast<int64_t>(t) * count + next] = at[t];
    ++next;
  });
  return one(std::move(out));
}

/// Places of elements that are not zero. Each place is written down and kept, or not, without a
/// branch that no processor would foresee.
std::vector<int64_t> places_not_zero(const Tensor& x) {
  std::vector<int64_t> places(static_cast<size_t>(x.elements()) + 1);
  size_t count = 0;
  if (x.type() == DataType::Bool) {
    const auto* const elements = x.as<uint8_t>();
    for (int64_t k = 0; k < x.elements(); ++k) {
      places[count] = k;
      count += elements[k] != 0 ? 1 : 0;
    }
  } else
    each_not_zero(x, [&](int64_t k) { places[count++] = k; });
  places.resize(count);
  return places;
}

Outputs compress(const FunctionCall& call) {
  const Tensor& condition = call.tensor(1);
  const bool is_flat = call.attribute("axis") == nullptr;
  const Tensor x =
      is_flat ? call.tensor(0).with_shape({call.tensor(0).elements()}) : call.tensor(0);
  const int64_t axis = axis_of(call.integer("axis", 0), x.rank());
  if (axis < 0 || condition.elements() > x.shape()[static_cast<size_t>(axis)])
    return fail(std::string("the condition is longer than the axis"));
  const std::vector<int64_t> kept = places_not_zero(condition);
  Shape shape = x.shape();
  const Around s = around(shape, axis);
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(kept.size());
  Tensor out = call.result(0, x.type(), shape);
  int64_t next = 0;
  for (int64_t a = 0; a < s.outer; ++a)
    for (const int64_t k : kept) {
      copy_elements(out, next, x, (a * s.n + k) * s.inner, s.inner);
      next += s.inner;
    }
  return one(std::move(out));
}

/// Distinct slices along an axis (elements when there is none), in order of value or of appearance.
/// Places of single numbers in ascending order, the earlier of equal ones first; false for slices
/// of several and for types that are compared in another way.
bool sorted_numbers(const Tensor& x, int64_t each, std::vector<int64_t>& order) {
  const auto sort = [&](const auto* elements) {
    using T = std::remove_cvref_t<decltype(*elements)>;
    // Numbers in the order in which they come first, and which of them each element is.
    std::unordered_map<T, int64_t> known;
    std::vector<std::pair<T, int64_t>> numbers;
    std::vector<int64_t> places, counts;
    places.reserve(order.size());
    for (const int64_t k : order) {
      if (elements[k] != elements[k])
        return false; // NaN has a place of its own
      const auto next = static_cast<int64_t>(numbers.size());
      const auto [found, is_new] = known.try_emplace(elements[k], next);
      if (is_new) {
        numbers.emplace_back(elements[k], next);
        counts.push_back(0);
      }
      ++counts[static_cast<size_t>(found->second)];
      places.push_back(found->second);
    }
    // Each element goes behind those of lesser numbers.
    std::sort(numbers.begin(), numbers.end());
    int64_t begin = 0;
    for (const auto& [number, place] : numbers)
      begin += std::exchange(counts[static_cast<size_t>(place)], begin);
    for (size_t k = 0; k < places.size(); ++k)
      order[static_cast<size_t>(counts[static_cast<size_t>(places[k])]++)] =
          static_cast<int64_t>(k);
    return true;
  };
  if (each != 1)
    return false;
  if (x.type() == DataType::F32)
    return sort(x.as<float>());
  return x.type() == DataType::I64 ? sort(x.as<int64_t>())
                                   : x.type() == DataType::I32 && sort(x.as<int32_t>());
}

Outputs unique(const FunctionCall& call) {
  const bool is_flat = call.attribute("axis") == nullptr;
  const Tensor x =
      is_flat ? call.tensor(0).with_shape({call.tensor(0).elements()}) : call.tensor(0);
  const int64_t axis = axis_of(call.integer("axis", 0), x.rank());
  if (axis < 0)
    return fail(std::string("the axis is outside the tensor"));
  const Around s = around(x.shape(), axis);
  const auto element = [&](int64_t k, int64_t i) {
    return (i / s.inner * s.n + k) * s.inner + i % s.inner;
  };
  const auto compare = [&](int64_t p, int64_t q) {
    for (int64_t i = 0; i < s.outer * s.inner; ++i) {
      if (is_less(x, element(p, i), element(q, i)))
        return -1;
      if (is_less(x, element(q, i), element(p, i)))
        return 1;
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(s.n));
  std::iota(order.begin(), order.end(), 0);
  if (!sorted_numbers(x, s.outer * s.inner, order))
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t p, int64_t q) { return compare(p, q) < 0; });
  // Groups of equal slices; the first of each group is its earliest.
  std::vector<std::vector<int64_t>> groups;
  for (const int64_t k : order) {
    if (groups.empty() || compare(groups.back()[0], k) != 0)
      groups.emplace_back();
    groups.back().push_back(k);
  }
  if (call.integer("sorted", 1) == 0)
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a[0] < b[0]; });
  const auto count = static_cast<int64_t>(groups.size());
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = count;
  Tensor out(x.type(), shape), first(DataType::I64, {count}), counts(DataType::I64, {count}),
      inverse(DataType::I64, {s.n});
  for (int64_t g = 0; g < count; ++g) {
    const auto& group = groups[static_cast<size_t>(g)];
    for (int64_t a = 0; a < s.outer; ++a)
      copy_elements(out, (a * count + g) * s.inner, x, (a * s.n + group[0]) * s.inner, s.inner);
    first.set_int(g, group[0]);
    counts.set_int(g, static_cast<int64_t>(group.size()));
    for (const int64_t k : group)
      inverse.set_int(k, g);
  }
  return std::vector<Datum>{
      {out, false, {}}, {first, false, {}}, {inverse, false, {}}, {counts, false, {}}};
}

struct Box {
  float y1, x1, y2, x2;
};

Box box_of(const float* p, bool is_centred) {
  if (is_centred)
    return {p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
  return {std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
}

/// Area of the overlap by that of the union.
float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0)
    return 0;
  const float both = height * width;
  return both / ((a.y2 - a.y1) * (a.x2 - a.x1) + (b.y2 - b.y1) * (b.x2 - b.x1) - both);
}

Outputs non_max_suppression(const FunctionCall& call) {
  const Tensor &boxes = call.tensor(0), &scores = call.tensor(1);
  const bool fits = boxes.rank() == 3 && scores.rank() == 3 && boxes.shape()[2] == 4 &&
                    boxes.shape()[0] == scores.shape()[0] &&
                    boxes.shape()[1] == scores.shape()[2] && boxes.type() == DataType::F32 &&
                    scores.type() == DataType::F32;
  if (!fits)
    return fail(
        std::string("boxes [batch, n, 4] and scores [batch, classes, n] of f32 are needed"));
  const auto number = [&](size_t k, double otherwise) {
    return call.has(k) && call.tensor(k).elements() > 0 ? call.tensor(k).get_double(0) : otherwise;
  };
  const double most = number(2, 0), limit = number(3, 0);
  const bool has_least = call.has(4) && call.tensor(4).elements() > 0;
  const bool is_centred = call.integer("center_point_box", 0) != 0;
  const int64_t n = boxes.shape()[1], classes = scores.shape()[1];
  std::vector<int64_t> chosen;
  for (int64_t b = 0; b < boxes.shape()[0]; ++b)
    for (int64_t c = 0; c < classes; ++c) {
      const float* score = scores.as<float>() + (b * classes + c) * n;
      std::vector<int64_t> order;
      for (int64_t k = 0; k < n; ++k)
        if (!has_least || score[k] > number(4, 0))
          order.push_back(k);
      // Without a least score NaN counts, too, after all others.
      std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
        return is_number_less(-static_cast<double>(score[p]), -static_cast<double>(score[q]));
      });
      std::vector<Box> taken;
      for (const int64_t k : order) {
        if (static_cast<double>(taken.size()) >= most)
          break;
        const Box box = box_of(boxes.as<float>() + (b * n + k) * 4, is_centred);
        const bool is_free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
          return overlap(box, other) > limit;
        });
        if (!is_free)
          continue;
        taken.push_back(box);
        chosen.insert(chosen.end(), {b, c, k});
      }
    }
  Tensor out(DataType::I64, {static_cast<int64_t>(chosen.size()) / 3, 3});
  std::copy(chosen.begin(), chosen.end(), out.as<int64_t>());
  return one(std::move(out));
}

Outputs reverse_sequence(const FunctionCall& call) {
  const Tensor &x = call.tensor(0), &lengths = call.tensor(1);
  const int64_t time = axis_of(call.integer("time_axis", 0), x.rank());
  const int64_t batch = axis_of(call.integer("batch_axis", 1), x.rank());
  const bool fits = x.rank() >= 2 && time + batch == 1 &&
                    lengths.elements() == x.shape()[static_cast<size_t>(batch)];
  if (!fits)
    return fail(std::string(
        "time and batch must be the first two dimensions, with a length for each batch"));
  const int64_t steps = x.shape()[static_cast<size_t>(time)], n = lengths.elements();
  const int64_t inner = steps * n == 0 ? 0 : x.elements() / (steps * n);
  Tensor out = call.result(0, x.type(), x.shape());
  for (int64_t b = 0; b < n; ++b)
    if (lengths.get_int(b) < 0 || lengths.get_int(b) > steps)
      return fail(fmt::format("a length is {} of {} steps", lengths.get_int(b), steps));
  // In the order of the result.
  const int64_t outer = time == 0 ? steps : n;
  for (int64_t a = 0; a < outer; ++a)
    for (int64_t c = 0; c < (time == 0 ? n : steps); ++c) {
      const int64_t b = time == 0 ? c : a, t = time == 0 ? a : c;
      const int64_t length = lengths.get_int(b), from = t < length ? length - 1 - t : t;
      const auto element = [&](int64_t at) {
        return (time == 0 ? at * n + b : b * steps + at) * inner;
      };
      copy_elements(out, element(t), x, element(from), inner);
    }
  return one(std::move(out));
}

/// Counts n-grams of a pool in every row; the pool is a list of 1-grams, then 2-grams, ...
Outputs tf_idf(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  const std::vector<int64_t> pool = call.integers("pool_int64s"),
                             starts = call.integers("ngram_counts"),
                             targets = call.integers("ngram_indexes");
  const std::vector<double> weights = call.reals("weights");
  const int64_t low = call.integer("min_gram_length", 1);
  // The pool has no longer grams than it has lists.
  const int64_t high =
      std::min(call.integer("max_gram_length", 1), static_cast<int64_t>(starts.size()));
  const int64_t skips = call.integer("max_skip_count", 0);
  const std::string mode = call.word("mode", "TF");
  if (const auto problem = call.unknown_word("mode", {"TF", "IDF", "TFIDF"}))
    return fail(*problem);
  if (x.rank() < 1 || x.rank() > 2 || graph::is_float(x.type()) || pool.empty() ||
      targets.empty() || low < 1 || call.integer("max_gram_length", 1) < low)
    return fail(std::string("rows of integers and a pool of integers are needed"));
  std::map<std::vector<int64_t>, size_t> grams; // to their number in the pool
  size_t number = 0;
  for (size_t n = 1; n <= starts.size(); ++n) {
    const auto begin = static_cast<size_t>(std::max<int64_t>(starts[n - 1], 0));
    const size_t end =
        n < starts.size() ? static_cast<size_t>(std::max<int64_t>(starts[n], 0)) : pool.size();
    for (size_t k = begin; k + n <= end && end <= pool.size(); k += n)
      grams[{pool.begin() + static_cast<int64_t>(k), pool.begin() + static_cast<int64_t>(k + n)}] =
          number++;
  }
  int64_t width = 0;
  for (const int64_t target : targets)
    width = std::max(width, target + 1);
  if (number > targets.size() || *std::min_element(targets.begin(), targets.end()) < 0 ||
      width > (1 << 24))
    return fail(std::string("the pool and its indexes do not fit together"));
  const int64_t rows = x.rank() == 2 ? x.shape()[0] : 1, length = x.shape().back();
  Tensor out(DataType::F32, x.rank() == 2 ? Shape{rows, width} : Shape{width});
  float* elements = out.as<float>();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t n = low; n <= high; ++n)
      for (int64_t step = 1; step <= (n == 1 ? 1 : std::min(skips, length) + 1); ++step)
        for (int64_t at = 0; at + (n - 1) * step < length; ++at) {
          std::vector<int64_t> gram;
          for (int64_t k = 0; k < n; ++k)
            gram.push_back(x.get_int(row * length + at + k * step));
          const auto found = grams.find(gram);
          if (found != grams.end())
            elements[row * width + targets[found->second]] += 1;
        }
  if (mode != "TF")
    for (const auto& [gram, k] : grams)
      for (int64_t row = 0; row < rows; ++row) {
        float& element = elements[row * width + targets[k]];
        const float weight = k < weights.size() ? static_cast<float>(weights[k]) : 1;
        element = (mode == "IDF" ? (element > 0 ? 1.0f : 0.0f) : element) * weight;
      }
  return one(std::move(out));
}

constexpr Function kAll[] = {
    {"Compress", 2, compress},      {"NonMaxSuppression", 2, non_max_suppression},
    {"NonZero", 1, non_zero},       {"ReverseSequence", 2, reverse_sequence},
    {"TfIdfVectorizer", 1, tf_idf}, {"Unique", 1, unique}};

} // namespace of_search
} // namespace

std::span<const Function> search_functions() { return of_search::kAll; }

} // namespace kawara::run
