#include "program/interpret/values.h"

#include "scalar/float8.h"
#include "scalar/half.h"
#include "support/check.h"

#include <cmath>
#include <cstring>

namespace kawara::program {
namespace {

using scalar::Elem;
using scalar::Value;

template <class T> T element(const std::byte* data, int64_t at) {
  T value;
  std::memcpy(&value, data + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T> void put(std::byte* data, int64_t at, T value) {
  std::memcpy(data + at * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

/// One step of a counter-based generator: depends on its argument only.
uint64_t scrambled(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

} // namespace

Array::Array(Elem elem, std::vector<int64_t> shape) : elem_(elem), shape_(std::move(shape)) {
  for (const int64_t extent : shape_) {
    KAWARA_CHECK(extent >= 0, "array of shape " + shape_text(shape_));
    elements_ *= extent;
  }
  storage_.resize(static_cast<size_t>(elements_ * scalar::bytes_of(elem_)));
}

Value Array::get(int64_t at) const {
  const std::byte* d = storage_.data();
  switch (elem_) {
  case Elem::F64:
    return scalar::float_value(element<double>(d, at));
  case Elem::F32:
    return scalar::float_value(static_cast<double>(element<float>(d, at)));
  case Elem::F16:
    return scalar::float_value(scalar::f16_value(element<uint16_t>(d, at)));
  case Elem::BF16:
    return scalar::float_value(scalar::bf16_value(element<uint16_t>(d, at)));
  case Elem::I64:
    return scalar::int_value(element<int64_t>(d, at));
  case Elem::I32:
    return scalar::int_value(element<int32_t>(d, at));
  case Elem::I16:
    return scalar::int_value(element<int16_t>(d, at));
  case Elem::I8:
    return scalar::int_value(element<int8_t>(d, at));
  case Elem::U8:
    return scalar::int_value(element<uint8_t>(d, at));
  case Elem::U16:
    return scalar::int_value(element<uint16_t>(d, at));
  case Elem::U32:
    return scalar::int_value(element<uint32_t>(d, at));
  case Elem::U64:
    return scalar::int_value(element<int64_t>(d, at));
  case Elem::Bool:
    return scalar::int_value(element<uint8_t>(d, at) != 0);
  case Elem::F8E4M3:
  case Elem::F8E5M2:
    return scalar::float_value(scalar::float8_value(elem_, element<uint8_t>(d, at)));
  }
  KAWARA_CHECK(false, "unknown element type");
}

void Array::set(int64_t at, Value value) {
  std::byte* d = storage_.data();
  switch (elem_) {
  case Elem::F64:
    return put(d, at, value.f);
  case Elem::F32:
    return put(d, at, static_cast<float>(value.f));
  case Elem::F16:
    return put(d, at, scalar::f16_bits(value.f));
  case Elem::BF16:
    return put(d, at, scalar::bf16_bits(value.f));
  case Elem::I64:
    return put(d, at, value.i);
  case Elem::I32:
    return put(d, at, static_cast<int32_t>(value.i));
  case Elem::I16:
    return put(d, at, static_cast<int16_t>(value.i));
  case Elem::I8:
    return put(d, at, static_cast<int8_t>(value.i));
  case Elem::U8:
    return put(d, at, static_cast<uint8_t>(value.i));
  case Elem::U16:
    return put(d, at, static_cast<uint16_t>(value.i));
  case Elem::U32:
    return put(d, at, static_cast<uint32_t>(value.i));
  case Elem::U64:
    return put(d, at, value.i);
  case Elem::Bool:
    return put(d, at, static_cast<uint8_t>(value.i != 0));
  case Elem::F8E4M3:
  case Elem::F8E5M2:
    return put(d, at, scalar::float8_bits(elem_, value.f));
  }
}

double Array::get_double(int64_t at) const { return scalar::convert(elem_, Elem::F64, get(at)).f; }

void Array::set_double(int64_t at, double value) {
  set(at, scalar::convert(Elem::F64, elem_, scalar::float_value(value)));
}

int64_t Array::position(const int64_t* index) const {
  int64_t at = 0;
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape_[d])
      return -1;
    at = at * shape_[d] + index[d];
  }
  return at;
}

Array fill_pattern(Elem elem, std::vector<int64_t> shape, uint64_t seed) {
  Array array(elem, std::move(shape));
  for (int64_t at = 0; at < array.elements(); ++at) {
    const uint64_t bits = scrambled(scrambled(seed) + static_cast<uint64_t>(at));
    if (scalar::is_float(elem)) {
      // 7 bits after the point fit every format, bf16 included, so that no element is rounded up
      // to 1. In floats of 8 bits, four do.
      const int kept = scalar::is_float8(elem) ? 4 : scalar::bytes_of(elem) == 2 ? 7 : 23;
      const double unit = std::ldexp(static_cast<double>(bits >> (64 - kept)), -kept);
      array.set(at, scalar::float_value(2 * unit - 1));
    } else if (elem == Elem::Bool || scalar::is_unsigned(elem)) {
      array.set(
          at, scalar::int_value(static_cast<int64_t>(bits >> 60) & (elem == Elem::Bool ? 1 : 15)));
    } else {
      array.set(at, scalar::int_value(static_cast<int64_t>((bits >> 33) % 17) - 8));
    }
  }
  return array;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

} // namespace kawara::program
