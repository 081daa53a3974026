#pragma once

#include "scalar/eval.h"
#include "scalar/type.h"
#include "support/aligned.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace kawara::program {

/// Memory of `allocate_aligned` for containers.
template <class T> struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U> AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(allocate_aligned(count * sizeof(T))); }
  void deallocate(T* p, size_t) { free_aligned(p); }
  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

/// A dense, row-major array of one element type. A scalar has an empty shape and one element.
/// Bool elements are one byte, 0 or 1; f16 and bf16 elements hold their 16 bits.
class Array {
public:
  Array() : Array(scalar::Elem::F32, {}) {}
  /// All elements are zero. No dimension may be negative.
  Array(scalar::Elem elem, std::vector<int64_t> shape);

  scalar::Elem elem() const { return elem_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t bytes() const { return storage_.size(); }
  std::byte* data() { return storage_.data(); }
  const std::byte* data() const { return storage_.data(); }

  /// Element at a linear, row-major position; a value of type `elem()`.
  scalar::Value get(int64_t at) const;
  /// Stores a value of type `elem()`, rounding or wrapping what does not fit.
  void set(int64_t at, scalar::Value value);
  /// The same with every element type read or written as f64, for comparing and filling.
  double get_double(int64_t at) const;
  void set_double(int64_t at, double value);

  /// Row-major position of `index`, or -1 when it lies outside the shape.
  int64_t position(const int64_t* index) const;

  /// Same type, shape and bytes.
  friend bool operator==(const Array&, const Array&) = default;

private:
  scalar::Elem elem_;
  std::vector<int64_t> shape_;
  int64_t elements_ = 1;
  std::vector<std::byte, AlignedAllocator<std::byte>> storage_;
};

/// Arrays by the name of their tensor.
using Arrays = std::map<std::string, Array>;

/// Numbers that look random and depend on nothing but the arguments: floats in [-1, 1), integers
/// in -8..8 (0..15 for u8), bools of either kind.
Array fill_pattern(scalar::Elem elem, std::vector<int64_t> shape, uint64_t seed);

/// "[4, 7]"; "[]" for a scalar.
std::string shape_text(const std::vector<int64_t>& shape);

} // namespace kawara::program
