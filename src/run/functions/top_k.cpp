#include "run/functions/around_axis.h"
#include "run/functions/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace kawara::run {
namespace {
namespace of_ranking {

/// A number whose order is that of the float: NaN above all others, both zeros the same. On its
/// bits and without branches, for lanes.
template <class Key, class Float> Key key_of(Float x) {
  static_assert(sizeof(Key) == sizeof(Float));
  constexpr Key kMost = std::numeric_limits<Key>::max();
  constexpr auto kInfinity = std::bit_cast<Key>(std::numeric_limits<Float>::infinity());
  const auto bits = std::bit_cast<Key>(x);
  const Key sign = bits >> (8 * sizeof(Key) - 1), magnitude = bits & kMost;
  const Key ordered = (magnitude ^ sign) - sign;
  return magnitude > kInfinity ? kMost : ordered;
}

/// The greater, the earlier an element is wanted.
template <class Key> struct Ranked {
  Key key = 0;
  int64_t place = 0;
  /// Of equal ones the earlier comes first.
  bool operator<(const Ranked& other) const {
    return key != other.key ? key > other.key : place < other.place;
  }
};

/// Keys that are made and looked at together: a whole block is for lanes.
constexpr int64_t kBlock = 16;

/// So many of a row are kept as a sorted list, more as a heap whose front is the last.
constexpr size_t kFew = 16;

template <class Key> Key greatest_of(const Key* keys, size_t size) {
  Key greatest = keys[0];
  size_t at = 0;
  for (; at + kBlock <= size; at += kBlock)
    for (size_t i = 0; i < kBlock; ++i)
      greatest = keys[at + i] > greatest ? keys[at + i] : greatest;
  for (; at < size; ++at)
    greatest = keys[at] > greatest ? keys[at] : greatest;
  return greatest;
}

/// The first `count` (at most kFew) of up to kBlock rows that lie side by side: their elements
/// come line by line, and few lines hold one that is wanted.
template <class Key> class SideBySide {
public:
  explicit SideBySide(size_t count) : count_(count) {}

  void begin(size_t rows) {
    rows_ = rows;
    place_ = 0;
    std::fill(keys_[count_ - 1], keys_[count_ - 1] + kBlock, std::numeric_limits<Key>::max());
  }
  void take(const Key* line) {
    if (place_ < count_) {
      for (size_t row = 0; row < rows_; ++row)
        put(row, line[row], place_);
    } else {
      const Key* const last = keys_[count_ - 1];
      unsigned wanted = 0;
      for (size_t row = 0; row < kBlock; ++row)
        wanted |= static_cast<unsigned>(line[row] > last[row]);
      for (size_t row = 0; wanted != 0 && row < rows_; ++row)
        if (line[row] > last[row])
          put(row, line[row], count_ - 1);
    }
    ++place_;
  }
  int64_t place(size_t rank, size_t row) const { return places_[rank][row]; }

private:
  /// Behind those of the same key, which come earlier; `at` is free.
  void put(size_t row, Key key, size_t at) {
    for (; at > 0 && keys_[at - 1][row] < key; --at) {
      keys_[at][row] = keys_[at - 1][row];
      places_[at][row] = places_[at - 1][row];
    }
    keys_[at][row] = key;
    places_[at][row] = static_cast<int64_t>(place_);
  }

  size_t count_, rows_ = 0, place_ = 0;
  Key keys_[kFew][kBlock] = {};
  int64_t places_[kFew][kBlock] = {};
};

/// The first `count` of all keys in order, row after row. Of few of many, most keys are below the
/// last one: blocks of them are left out at once.
template <class Key> class FirstRanked {
public:
  explicit FirstRanked(size_t count) : count_(count) { best_.reserve(count); }

  const std::vector<Ranked<Key>>& of(const Key* keys, size_t size) {
    constexpr size_t kMany = 8;
    best_.clear();
    if (count_ == 0)
      return best_;
    if (count_ == 1) {
      const Key* const found = std::find(keys, keys + size, greatest_of(keys, size));
      best_.push_back({*found, found - keys});
      return best_;
    }
    if (count_ * kMany > size && count_ > kFew)
      return sorted(keys, size);
    size_t at = 0;
    for (; at < count_; ++at)
      put(keys[at], at);
    for (; at + kBlock <= size; at += kBlock) {
      const Key greatest = greatest_of(keys + at, kBlock);
      for (size_t i = at; greatest > last() && i < at + kBlock; ++i)
        take(keys[i], i);
    }
    for (; at < size; ++at)
      take(keys[at], at);
    if (!is_list())
      std::sort_heap(best_.begin(), best_.end());
    return best_;
  }

private:
  bool is_list() const { return count_ <= kFew; }
  Key last() const { return is_list() ? best_.back().key : best_.front().key; }

  void take(Key key, size_t place) {
    if (key <= last())
      return;
    if (!is_list())
      std::pop_heap(best_.begin(), best_.end());
    best_.pop_back();
    put(key, place);
  }

  /// Behind those of the same key, which come earlier.
  void put(Key key, size_t place) {
    best_.push_back({key, static_cast<int64_t>(place)});
    if (!is_list())
      return std::push_heap(best_.begin(), best_.end());
    size_t at = best_.size() - 1;
    for (; at > 0 && best_[at - 1].key < key; --at)
      best_[at] = best_[at - 1];
    best_[at] = {key, static_cast<int64_t>(place)};
  }

  const std::vector<Ranked<Key>>& sorted(const Key* keys, size_t size) {
    for (size_t i = 0; i < size; ++i)
      best_.push_back({keys[i], static_cast<int64_t>(i)});
    const auto end = best_.begin() + static_cast<int64_t>(count_);
    std::nth_element(best_.begin(), end - 1, best_.end());
    std::sort(best_.begin(), end);
    best_.resize(count_);
    return best_;
  }

  size_t count_;
  std::vector<Ranked<Key>> best_;
};

/// Of each of the rows that lie side by side the first k, at most kFew.
template <class Key, class F>
void choose_lines(const Tensor& x, const Around& s, int64_t k, Key flip, Tensor& values,
                  Tensor& places, const F& key) {
  SideBySide<Key> best(static_cast<size_t>(k));
  int64_t* const found = places.as<int64_t>();
  for (int64_t a = 0; a < s.outer; ++a)
    for (int64_t c = 0; c < s.inner; c += kBlock) {
      const int64_t rows = std::min(kBlock, s.inner - c);
      Key line[kBlock] = {};
      best.begin(static_cast<size_t>(rows));
      for (int64_t i = 0; i < s.n; ++i) {
        const int64_t first = (a * s.n + i) * s.inner + c;
        if (rows == kBlock)
          for (int64_t row = 0; row < kBlock; ++row)
            line[row] = key(first + row) ^ flip;
        else
          for (int64_t row = 0; row < rows; ++row)
            line[row] = key(first + row) ^ flip;
        best.take(line);
      }
      for (int64_t i = 0; i < k; ++i)
        for (int64_t row = 0; row < rows; ++row) {
          const int64_t at = (a * k + i) * s.inner + c + row,
                        place = best.place(static_cast<size_t>(i), static_cast<size_t>(row));
          copy_elements(values, at, x, (a * s.n + place) * s.inner + c + row, 1);
          found[at] = place;
        }
    }
}

/// Of each row along the axis the first k; `key(element)` of the tensor says which. Rows that lie
/// side by side are read a block of them at a time.
template <class Key, class F>
void choose_rows(const Tensor& x, const Around& s, int64_t k, bool is_largest, Tensor& values,
                 Tensor& places, const F& key) {
  const int64_t together = s.inner == 1 ? 1 : kBlock;
  const Key flip = is_largest ? 0 : -1;
  if (together > 1 && k > 0 && k <= static_cast<int64_t>(kFew))
    return choose_lines(x, s, k, flip, values, places, key);
  std::vector<Key> keys(static_cast<size_t>(s.n * together));
  FirstRanked<Key> first_ranked(static_cast<size_t>(k));
  Key* const all = keys.data();
  int64_t* const found = places.as<int64_t>();
  const auto choose = [&](int64_t a, int64_t c, const Key* row) {
    const auto& best = first_ranked.of(row, static_cast<size_t>(s.n));
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = (a * k + i) * s.inner + c, place = best[static_cast<size_t>(i)].place;
      copy_elements(values, at, x, (a * s.n + place) * s.inner + c, 1);
      found[at] = place;
    }
  };
  for (int64_t a = 0; a < s.outer; ++a)
    for (int64_t c = 0; c < s.inner; c += together) {
      const int64_t first = a * s.n * s.inner + c, rows = std::min(together, s.inner - c);
      if (together == 1) {
        int64_t i = 0;
        for (; i + kBlock <= s.n; i += kBlock)
          for (int64_t lane = 0; lane < kBlock; ++lane)
            all[i + lane] = key(first + i + lane) ^ flip;
        for (; i < s.n; ++i)
          all[i] = key(first + i) ^ flip;
      } else
        for (int64_t i = 0; i < s.n; ++i)
          for (int64_t row = 0; row < rows; ++row)
            all[row * s.n + i] = key(first + i * s.inner + row) ^ flip;
      for (int64_t row = 0; row < rows; ++row)
        choose(a, c + row, all + row * s.n);
    }
}

Outputs top_k(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  const int64_t axis = axis_of(call.integer("axis", -1), x.rank());
  const int64_t k = call.has(1) && call.tensor(1).elements() == 1 ? call.tensor(1).get_int(0)
                                                                  : call.integer("k", -1);
  if (axis < 0 || k < 0 || k > x.shape()[static_cast<size_t>(axis)])
    return fail(fmt::format("there are no {} elements along that axis", k));
  const bool is_largest = call.integer("largest", 1) != 0;
  Shape shape = x.shape();
  shape[static_cast<size_t>(axis)] = k;
  Tensor values = call.result(0, x.type(), shape), places = call.result(1, DataType::I64, shape);
  const Around s = around(x.shape(), axis);
  const auto choose = [&](auto zero, const auto& key) {
    choose_rows<decltype(zero)>(x, s, k, is_largest, values, places, key);
  };
  constexpr auto kSign = std::numeric_limits<int64_t>::min();
  if (x.type() == DataType::F32)
    choose(int32_t{0}, [p = x.as<float>()](int64_t at) { return key_of<int32_t>(p[at]); });
  else if (graph::is_float(x.type()))
    choose(int64_t{0}, [&](int64_t at) { return key_of<int64_t>(x.get_double(at)); });
  else if (x.type() == DataType::U64)
    choose(int64_t{0}, [&](int64_t at) { return x.get_int(at) ^ kSign; });
  else
    choose(int64_t{0}, [&](int64_t at) { return x.get_int(at); });
  return std::vector<Datum>{{values, false, {}}, {places, false, {}}};
}

constexpr Function kAll[] = {{"TopK", 1, top_k}};

} // namespace of_ranking
} // namespace

std::span<const Function> ranking_functions() { return of_ranking::kAll; }

} // namespace kawara::run
