#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kawara::scalar {

/// Element types of tensors and expressions. The two of 8 bits are floats with 4 and 5 bits of
/// exponent (float8.h).
enum class Elem : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U8,
  Bool,
  F8E4M3,
  F8E5M2,
  U16,
  U32,
  U64
};
inline constexpr Elem kLastElem = Elem::U64;

/// Type of an expression: `lanes` > 1 only after vectorisation, in kernels.
struct Type {
  Elem elem = Elem::I64;
  uint16_t lanes = 1;
  friend bool operator==(const Type&, const Type&) = default;
};

inline constexpr Type kIndex{Elem::I64, 1};
inline constexpr Type kBool{Elem::Bool, 1};

bool is_float(Elem);
bool is_integer(Elem);  ///< Bool is not an integer
bool is_unsigned(Elem); ///< an integer without negative values
bool is_float8(Elem);
int64_t bytes_of(Elem);
std::string_view name_of(Elem); ///< "f32", "bool"
/// What NumPy calls the type of this name: "float32", "bool_"; empty where it has none such.
std::string numpy_name(std::string_view name);
std::optional<Elem> elem_from_name(std::string_view);
std::string to_string(Type); ///< "f32", "f32x4"

/// Type in which arithmetic on operands of these types is done: floats under 32 bits compute in
/// f32, integers narrower than 32 bits and bool in i32, u32 in i64; otherwise the wider, float
/// before integer, u64 before i64.
Elem compute_type(Elem, Elem);
Elem compute_type(Elem);

/// Whether every value of type `narrow` is one of type `wide`.
bool holds_all_of(Elem wide, Elem narrow);

/// Value as the element type would store it: rounded to nearest even (floats; those of 8 bits have
/// no values past their largest, which is stored instead), wrapped (integers). A u64 is held as the
/// i64 of the same bits.
double round_to(Elem, double);
int64_t wrap_to(Elem, int64_t);

} // namespace kawara::scalar
