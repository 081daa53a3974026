#include "scalar/type.h"

#include "scalar/float8.h"
#include "scalar/half.h"

#include <array>

namespace kawara::scalar {
namespace {

struct ElemFacts {
  std::string_view name;
  int64_t bytes;
  bool is_float;
  bool is_integer;
};

constexpr std::array<ElemFacts, 15> kFacts{{{"f64", 8, true, false},
                                            {"f32", 4, true, false},
                                            {"f16", 2, true, false},
                                            {"bf16", 2, true, false},
                                            {"i64", 8, false, true},
                                            {"i32", 4, false, true},
                                            {"i16", 2, false, true},
                                            {"i8", 1, false, true},
                                            {"u8", 1, false, true},
                                            {"bool", 1, false, false},
                                            {"f8e4m3", 1, true, false},
                                            {"f8e5m2", 1, true, false},
                                            {"u16", 2, false, true},
                                            {"u32", 4, false, true},
                                            {"u64", 8, false, true}}};

const ElemFacts& facts(Elem elem) { return kFacts[static_cast<size_t>(elem)]; }

} // namespace

bool is_float(Elem elem) { return facts(elem).is_float; }
bool is_integer(Elem elem) { return facts(elem).is_integer; }
bool is_unsigned(Elem elem) {
  return elem == Elem::U8 || elem == Elem::U16 || elem == Elem::U32 || elem == Elem::U64;
}
bool is_float8(Elem elem) { return elem == Elem::F8E4M3 || elem == Elem::F8E5M2; }
int64_t bytes_of(Elem elem) { return facts(elem).bytes; }
std::string_view name_of(Elem elem) { return facts(elem).name; }

std::string numpy_name(std::string_view name) {
  if (name == "bool")
    return "bool_";
  if (name.find_first_not_of("0123456789", 1) != std::string_view::npos)
    return "";
  return (name[0] == 'f' ? "float" : name[0] == 'i' ? "int" : "uint") + std::string(name.substr(1));
}

std::optional<Elem> elem_from_name(std::string_view name) {
  for (size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name)
      return static_cast<Elem>(i);
  return std::nullopt;
}

std::string to_string(Type type) {
  std::string text(name_of(type.elem));
  if (type.lanes > 1)
    text += "x" + std::to_string(type.lanes);
  return text;
}

Elem compute_type(Elem elem) {
  if (is_float(elem))
    return elem == Elem::F64 ? Elem::F64 : Elem::F32;
  if (elem == Elem::I64 || elem == Elem::U64)
    return elem;
  return elem == Elem::U32 ? Elem::I64 : Elem::I32;
}

Elem compute_type(Elem a, Elem b) {
  const Elem x = compute_type(a), y = compute_type(b);
  if (is_float(x) != is_float(y))
    return is_float(x) ? x : y;
  if (x == Elem::U64 || y == Elem::U64)
    return Elem::U64;
  return bytes_of(x) >= bytes_of(y) ? x : y;
}

double round_to(Elem elem, double value) {
  switch (elem) {
  case Elem::F32:
    return static_cast<double>(static_cast<float>(value));
  case Elem::F16:
    return f16_value(f16_bits(value));
  case Elem::BF16:
    return bf16_value(bf16_bits(value));
  case Elem::F8E4M3:
  case Elem::F8E5M2:
    return float8_value(elem, float8_bits(elem, value));
  default:
    return value;
  }
}

int64_t wrap_to(Elem elem, int64_t value) {
  switch (elem) {
  case Elem::I32:
    return static_cast<int32_t>(value);
  case Elem::I16:
    return static_cast<int16_t>(value);
  case Elem::I8:
    return static_cast<int8_t>(value);
  case Elem::U8:
    return static_cast<uint8_t>(value);
  case Elem::U16:
    return static_cast<uint16_t>(value);
  case Elem::U32:
    return static_cast<uint32_t>(value);
  case Elem::Bool:
    return value != 0 ? 1 : 0;
  default:
    return value;
  }
}

bool holds_all_of(Elem wide, Elem narrow) {
  if (wide == narrow)
    return true;
  if (is_float(wide) && is_float(narrow))
    return wide == Elem::F64 || (wide == Elem::F32 && narrow != Elem::F64) ||
           (is_float8(narrow) && bytes_of(wide) == 2);
  if (!is_integer(wide) || !is_integer(narrow))
    return false;
  return bytes_of(wide) > bytes_of(narrow) && (!is_unsigned(wide) || is_unsigned(narrow));
}

} // namespace kawara::scalar
