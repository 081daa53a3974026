#pragma once

#include "scalar/type.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::graph {

/// Element types of a model's tensors. The first ten are those of programs, in the same order.
enum class DataType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool, U16, U32, U64 };

std::string_view name_of(DataType); ///< "f32", "u16"
int64_t bytes_of(DataType);
bool is_float(DataType);
/// The type of a program's elements that hold this type's bits: its own, or the signed one of equal
/// size.
scalar::Elem storage_of(DataType);
DataType data_type_of(scalar::Elem);
/// The type that ONNX gives this number; nothing for types that Kawara has no numbers for.
std::optional<DataType> data_type_with_number(int64_t onnx_number);
bool is_program_type(DataType); ///< is there a type of programs with the same values?

using Shape = std::vector<int64_t>;
std::string text_of(const Shape&); ///< "[2, 3]"; "[]" for a scalar
/// Product of the extents; nothing when one is negative or the product passes 2^48.
std::optional<int64_t> elements_of(const Shape&);

/// A dense, row-major array. Copies share their elements: write only to a tensor that was just
/// made.
class Tensor {
public:
  Tensor() = default;
  /// Zeros. Throws std::bad_alloc when there is no such memory.
  Tensor(DataType type, Shape shape);
  /// Elements that live elsewhere; `memory` keeps them alive.
  Tensor(DataType type, Shape shape, std::shared_ptr<std::byte> memory);

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t elements() const { return elements_; }
  int64_t bytes() const { return elements_ * bytes_of(type_); }
  const std::byte* data() const { return memory_.get(); }
  std::byte* data() { return memory_.get(); }
  template <class T> const T* as() const { return reinterpret_cast<const T*>(memory_.get()); }
  template <class T> T* as() { return reinterpret_cast<T*>(memory_.get()); }
  explicit operator bool() const { return memory_ != nullptr; } ///< has elements, perhaps none

  /// The same elements; the product of the extents must be the same.
  Tensor with_shape(Shape shape) const;
  /// The same bits; the size of the type must be the same.
  Tensor with_type(DataType type) const;

  double get_double(int64_t at) const;
  int64_t get_int(int64_t at) const; ///< floats lose their fraction; u64 wraps
  void set_double(int64_t at, double value);
  void set_int(int64_t at, int64_t value);

private:
  DataType type_ = DataType::F32;
  Shape shape_;
  int64_t elements_ = 0;
  std::shared_ptr<std::byte> memory_;
};

/// Memory that starts at a multiple of 64 bytes, zeroed, with room to read a little past its end.
std::shared_ptr<std::byte> make_memory(int64_t bytes);

} // namespace kawara::graph
