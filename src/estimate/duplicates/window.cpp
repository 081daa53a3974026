#include "estimate/duplicates/window.h"

#include <algorithm>
#include <numeric>

namespace kawara::estimate {
namespace {

constexpr int64_t kMostEntries = 50'000'000;
constexpr int64_t kPadding = -1;

/// How many iterations give each index of a dimension, from `first` on; also those outside of it.
struct Histogram {
  int64_t first = 0;
  std::vector<double> times;
};

Histogram histogram_of(const Window& window, const WindowDimension& dimension) {
  Histogram made{dimension.constant, {1}};
  for (const auto& [iterator, factor] : dimension.terms) {
    const int64_t extent = window.iterators[iterator].extent;
    std::vector<double> next(made.times.size() + static_cast<size_t>(factor * (extent - 1)), 0);
    for (size_t at = 0; at < made.times.size(); ++at)
      for (int64_t k = 0; made.times[at] != 0 && k < extent; ++k)
        next[at + static_cast<size_t>(k * factor)] += made.times[at];
    made.times = std::move(next);
  }
  return made;
}

double product_of_extents(const Window& window) {
  double entries = 1;
  for (const WindowIterator& each : window.iterators)
    entries *= static_cast<double>(each.extent);
  return entries;
}

/// All values of some of a dimension's terms, from the k-th on, that add up to `sum`.
void solve(const Window& window, const WindowDimension& dimension, size_t k, int64_t sum,
           std::vector<int64_t>& at, std::vector<std::vector<int64_t>>& found) {
  if (sum < 0)
    return;
  if (k == dimension.terms.size()) {
    if (sum == 0)
      found.push_back(at);
    return;
  }
  const auto& [iterator, factor] = dimension.terms[k];
  const int64_t extent = window.iterators[iterator].extent;
  const bool is_last = k + 1 == dimension.terms.size();
  for (int64_t value = is_last ? sum / factor : 0; value < extent && value * factor <= sum;
       ++value) {
    at[iterator] = value;
    solve(window, dimension, k + 1, sum - value * factor, at, found);
    if (is_last)
      break;
  }
}

/// Goes through all values of some iterators, the last one fastest.
template <class Visit>
void each_of(const Window& window, const std::vector<size_t>& iterators, std::vector<int64_t>& at,
             const Visit& visit, size_t k = 0) {
  if (k == iterators.size())
    return visit();
  for (int64_t value = 0; value < window.iterators[iterators[k]].extent; ++value) {
    at[iterators[k]] = value;
    each_of(window, iterators, at, visit, k + 1);
  }
}

/// A number for each element; kPadding where there is none.
int64_t entry_at(const Window& window, const std::vector<int64_t>& at) {
  int64_t id = 0;
  for (const WindowDimension& dimension : window.dimensions) {
    int64_t index = dimension.constant;
    for (const auto& [iterator, factor] : dimension.terms)
      index += factor * at[iterator];
    if (index < 0 || index >= dimension.extent)
      return kPadding;
    id = id * dimension.extent + index;
  }
  return id;
}

} // namespace

Loads loads_of(const Window& window) {
  Loads made{1, 1, 0};
  std::vector<bool> is_used(window.iterators.size(), false);
  for (const WindowDimension& dimension : window.dimensions) {
    const Histogram histogram = histogram_of(window, dimension);
    double loads = 0, elements = 0;
    for (size_t k = 0; k < histogram.times.size(); ++k) {
      const int64_t index = histogram.first + static_cast<int64_t>(k);
      if (index < 0 || index >= dimension.extent || histogram.times[k] == 0)
        continue;
      loads += histogram.times[k];
      elements += 1;
    }
    made.loads *= loads;
    made.elements *= elements;
    for (const auto& term : dimension.terms)
      is_used[term.first] = true;
  }
  for (size_t k = 0; k < is_used.size(); ++k)
    if (!is_used[k])
      made.loads *= static_cast<double>(window.iterators[k].extent);
  made.padding = product_of_extents(window) - made.loads;
  return made;
}

std::optional<std::vector<int64_t>> element_at(const Window& window,
                                               const std::vector<int64_t>& at) {
  std::vector<int64_t> element;
  for (const WindowDimension& dimension : window.dimensions) {
    int64_t index = dimension.constant;
    for (const auto& [iterator, factor] : dimension.terms)
      index += factor * at[iterator];
    if (index < 0 || index >= dimension.extent)
      return std::nullopt;
    element.push_back(index);
  }
  return element;
}

std::vector<std::vector<int64_t>> iterations_of(const Window& window,
                                                const std::vector<int64_t>& element) {
  std::vector<std::vector<int64_t>> all{std::vector<int64_t>(window.iterators.size(), kPadding)};
  for (size_t d = 0; d < window.dimensions.size(); ++d) {
    std::vector<std::vector<int64_t>> next;
    for (std::vector<int64_t>& at : all)
      solve(window, window.dimensions[d], 0, element[d] - window.dimensions[d].constant, at, next);
    all = std::move(next);
  }
  // Iterators that no index follows take all their values.
  for (size_t k = 0; k < window.iterators.size(); ++k) {
    std::vector<std::vector<int64_t>> next;
    for (std::vector<int64_t>& at : all)
      for (int64_t value = 0; value < (at[k] == kPadding ? window.iterators[k].extent : 1);
           ++value) {
        next.push_back(at);
        if (at[k] == kPadding)
          next.back()[k] = value;
      }
    all = std::move(next);
  }
  return all;
}

std::optional<Loads> piece_loads_of(const Window& window, int64_t piece, int64_t row_unit) {
  if (product_of_extents(window) > static_cast<double>(kMostEntries))
    return std::nullopt;
  std::vector<size_t> results, sums;
  for (size_t k = 0; k < window.iterators.size(); ++k)
    (window.iterators[k].is_of_result ? results : sums).push_back(k);
  const auto width = static_cast<size_t>(piece);
  std::vector<int64_t> entries, at(window.iterators.size(), 0);
  double pieces = 0, padding = 0;
  each_of(window, results, at, [&] {
    std::vector<int64_t> row;
    each_of(window, sums, at, [&] { row.push_back(entry_at(window, at)); });
    const auto unit = static_cast<size_t>(std::lcm(row_unit, piece));
    row.resize((row.size() + unit - 1) / unit * unit, kPadding);
    for (size_t k = 0; k < row.size(); k += width) {
      const auto begin = row.begin() + static_cast<std::ptrdiff_t>(k);
      const auto end = begin + static_cast<std::ptrdiff_t>(width);
      if (std::all_of(begin, end, [](int64_t entry) { return entry == kPadding; })) {
        padding += 1;
        continue;
      }
      pieces += 1;
      entries.insert(entries.end(), begin, end);
    }
  });
  std::vector<size_t> order(entries.size() / width);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto of = [&](size_t k) {
    return entries.begin() + static_cast<std::ptrdiff_t>(k * width);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::lexicographical_compare(of(a), of(a + 1), of(b), of(b + 1));
  });
  const auto last = std::unique(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::equal(of(a), of(a + 1), of(b));
  });
  return Loads{pieces, static_cast<double>(last - order.begin()), padding};
}

} // namespace kawara::estimate
