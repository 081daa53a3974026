#include "graph/tensor.h"

#include "scalar/half.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/zeros.h"

#include <array>
#include <cstring>
#include <new>

namespace kawara::graph {
namespace {

constexpr int64_t kSlackBytes = 64;

// What is smaller costs less to allocate than to ask about.
constexpr int64_t kAskedBytes = int64_t{1} << 26;

/// Calls `f` with a pointer of the C++ type of the elements, where there is one.
template <class F> auto with_elements(DataType type, std::byte* data, F f) {
  switch (type) {
  case DataType::F64:
    return f(reinterpret_cast<double*>(data));
  case DataType::F32:
    return f(reinterpret_cast<float*>(data));
  case DataType::I64:
    return f(reinterpret_cast<int64_t*>(data));
  case DataType::I32:
    return f(reinterpret_cast<int32_t*>(data));
  case DataType::I16:
    return f(reinterpret_cast<int16_t*>(data));
  case DataType::I8:
    return f(reinterpret_cast<int8_t*>(data));
  case DataType::F16:
  case DataType::BF16:
  case DataType::U16:
    return f(reinterpret_cast<uint16_t*>(data));
  case DataType::U32:
    return f(reinterpret_cast<uint32_t*>(data));
  case DataType::U64:
    return f(reinterpret_cast<uint64_t*>(data));
  default:
    return f(reinterpret_cast<uint8_t*>(data));
  }
}

} // namespace

std::string_view name_of(DataType type) {
  constexpr std::array<std::string_view, 3> more{"u16", "u32", "u64"};
  return is_program_type(type) ? scalar::name_of(static_cast<scalar::Elem>(type))
                               : more[static_cast<size_t>(type) - 10];
}

bool is_program_type(DataType type) { return type <= DataType::Bool; }
bool is_float(DataType type) { return type <= DataType::BF16; }
int64_t bytes_of(DataType type) { return scalar::bytes_of(storage_of(type)); }
DataType data_type_of(scalar::Elem elem) {
  switch (elem) {
  case scalar::Elem::F8E4M3:
  case scalar::Elem::F8E5M2:
    return DataType::U8;
  case scalar::Elem::U16:
    return DataType::U16;
  case scalar::Elem::U32:
    return DataType::U32;
  case scalar::Elem::U64:
    return DataType::U64;
  default:
    return static_cast<DataType>(elem);
  }
}

scalar::Elem storage_of(DataType type) {
  switch (type) {
  case DataType::U16:
    return scalar::Elem::I16;
  case DataType::U32:
    return scalar::Elem::I32;
  case DataType::U64:
    return scalar::Elem::I64;
  default:
    return static_cast<scalar::Elem>(type);
  }
}

std::optional<DataType> data_type_with_number(int64_t onnx_number) {
  using enum DataType;
  static constexpr std::optional<DataType> kTypes[] = {
      std::nullopt, F32, U8,  I8,  U16, I16,          I32,          I64, std::nullopt,
      Bool,         F16, F64, U32, U64, std::nullopt, std::nullopt, BF16};
  return onnx_number >= 0 && onnx_number < static_cast<int64_t>(std::size(kTypes))
             ? kTypes[onnx_number]
             : std::nullopt;
}

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (const int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::optional<int64_t> elements_of(const Shape& shape) {
  constexpr int64_t limit = int64_t{1} << 48;
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 0)
      return std::nullopt;
    if (extent > 0 && elements > limit / extent)
      return std::nullopt;
    elements *= extent;
  }
  return elements;
}

std::shared_ptr<std::byte> make_memory(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes + kSlackBytes);
  // The system would promise more than it has and end the program later.
  if (bytes > kAskedBytes && bytes > memory_left())
    throw std::bad_alloc();
  return {static_cast<std::byte*>(allocate_zeros(size)),
          [size](std::byte* p) { free_zeros(p, size); }};
}

Tensor::Tensor(DataType type, Shape shape) : Tensor(type, std::move(shape), nullptr) {
  memory_ = make_memory(bytes());
}

Tensor::Tensor(DataType type, Shape shape, std::shared_ptr<std::byte> memory)
    : type_(type), shape_(std::move(shape)), memory_(std::move(memory)) {
  const auto elements = elements_of(shape_);
  if (!elements)
    throw std::bad_alloc();
  elements_ = *elements;
}

Tensor Tensor::with_shape(Shape shape) const {
  Tensor other(type_, std::move(shape), memory_);
  KAWARA_CHECK(other.elements_ == elements_, text_of(shape_) + " as " + text_of(other.shape_));
  return other;
}

Tensor Tensor::with_type(DataType type) const {
  KAWARA_CHECK(bytes_of(type) == bytes_of(type_), "types of different sizes");
  Tensor other = *this;
  other.type_ = type;
  return other;
}

double Tensor::get_double(int64_t at) const {
  return with_elements(type_, memory_.get(), [&](auto* elements) -> double {
    if (type_ == DataType::F16)
      return scalar::f16_value(static_cast<uint16_t>(elements[at]));
    if (type_ == DataType::BF16)
      return scalar::bf16_value(static_cast<uint16_t>(elements[at]));
    return static_cast<double>(elements[at]);
  });
}

int64_t Tensor::get_int(int64_t at) const {
  if (is_float(type_))
    return static_cast<int64_t>(get_double(at));
  return with_elements(type_, memory_.get(),
                       [&](auto* elements) { return static_cast<int64_t>(elements[at]); });
}

void Tensor::set_double(int64_t at, double value) {
  if (!is_float(type_))
    return set_int(at, static_cast<int64_t>(value));
  with_elements(type_, memory_.get(), [&](auto* elements) {
    using Element = std::remove_reference_t<decltype(*elements)>;
    if (type_ == DataType::F16)
      elements[at] = static_cast<Element>(scalar::f16_bits(value));
    else if (type_ == DataType::BF16)
      elements[at] = static_cast<Element>(scalar::bf16_bits(value));
    else
      elements[at] = static_cast<Element>(value);
  });
}

void Tensor::set_int(int64_t at, int64_t value) {
  if (is_float(type_))
    return set_double(at, static_cast<double>(value));
  with_elements(type_, memory_.get(), [&](auto* elements) {
    using Element = std::remove_reference_t<decltype(*elements)>;
    elements[at] =
        type_ == DataType::Bool ? static_cast<Element>(value != 0) : static_cast<Element>(value);
  });
}

} // namespace kawara::graph
