#include "emit/c/prelude.h"

#include <array>
#include <cctype>
#include <utility>

namespace kawara::emit {
namespace {

constexpr const char* kFloorDiv = R"(/* Division that rounds towards minus infinity. */
static inline int64_t kw_floordiv(int64_t a, int64_t b) {
  if (b == -1)
    return (int64_t)(0 - (uint64_t)a);
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

)";

constexpr const char* kMod = R"(/* Remainder with the sign of the divisor. */
static inline int64_t kw_mod(int64_t a, int64_t b) {
  const int64_t r = b == -1 ? 0 : a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

)";

constexpr const char* kWithin = R"(#include <stdio.h>

/* An index that was read from data; ends the program where it is outside of the tensor. */
static inline int64_t kw_within(int64_t at, int64_t extent, const char *tensor, int dim) {
  if ((uint64_t)at >= (uint64_t)extent) {
    fprintf(stderr, "index %lld is outside of `%s`: dimension %d has %lld elements\n", (long long)at, tensor,
            dim, (long long)extent);
    abort();
  }
  return at;
}

)";

constexpr const char* kFloorDiv32 =
    R"(/* Division by a positive number that rounds towards minus infinity. */
static inline int32_t kw_floordiv32(int32_t a, int32_t b) { return a / b - (a % b < 0); }

)";

constexpr const char* kMod32 = R"(/* Remainder by a positive number; never negative. */
static inline int32_t kw_mod32(int32_t a, int32_t b) {
  const int32_t r = a % b;
  return r < 0 ? r + b : r;
}

)";

constexpr const char* kMin =
    R"(static inline int64_t kw_min(int64_t a, int64_t b) { return a < b ? a : b; }

)";

constexpr const char* kMax =
    R"(static inline int64_t kw_max(int64_t a, int64_t b) { return a > b ? a : b; }

)";

constexpr const char* kMinU64 =
    R"(static inline uint64_t kw_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

)";

constexpr const char* kMaxU64 =
    R"(static inline uint64_t kw_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

)";

constexpr const char* kToU64 =
    R"(/* Without the fraction; NaN and what is below 0 as 0, what is too large as the largest number. */
static inline uint64_t kw_to_u64(double x) {
  return !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

)";

constexpr const char* kMaximum = R"(/* NaN where a side is. */
static inline double kw_maximum(double a, double b) { return a > b || a != a ? a : b; }

)";

constexpr const char* kMinimum = R"(/* NaN where a side is. */
static inline double kw_minimum(double a, double b) { return a < b || a != a ? a : b; }

)";

constexpr const char* kMaximumF = R"(/* NaN where a side is. */
static inline float kw_maximumf(float a, float b) { return a > b || a != a ? a : b; }

)";

constexpr const char* kMinimumF = R"(/* NaN where a side is. */
static inline float kw_minimumf(float a, float b) { return a < b || a != a ? a : b; }

)";

constexpr const char* kToI32 =
    R"(/* Without the fraction; NaN is 0, what is out of range the nearest number. */
static inline int32_t kw_to_i32(double x) {
  if (x != x)
    return 0;
  return x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? INT32_MIN : (int32_t)x;
}

)";

constexpr const char* kToI64 =
    R"(/* Without the fraction; NaN is 0, what is out of range the nearest number. */
static inline int64_t kw_to_i64(double x) {
  if (x != x)
    return 0;
  return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

)";

constexpr const char* kAbs = R"(static inline int64_t kw_abs(int64_t a) {
  return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
}

)";

constexpr const char* kAlloc = R"(static inline void* kw_alloc(size_t size, int64_t count) {
  void* memory = malloc(size * (size_t)(count > 0 ? count : 1));
  if (memory == NULL)
    abort();
  return memory;
}

)";

constexpr const char* kPrefetch = R"(#if defined(__GNUC__)
#define kw_prefetch(address) __builtin_prefetch(address)
#else
#define kw_prefetch(address) ((void)0)
#endif

)";

// In f64: the parts of an activation cancel or underflow before the whole does.
constexpr const char* kSilu = R"(/* x * sigmoid(x) */
static inline double kw_silu(double x) { return x < -1e3 ? -0.0 : x / (1.0 + exp(-x)); }

)";

constexpr const char* kGelu = R"(/* 0.5 * x * (1 + erf(x / sqrt(2))) */
static inline double kw_gelu(double x) {
  return x < -1e3 ? -0.0 : 0.5 * x * erfc(x * -0.70710678118654752);
}

)";

constexpr const char* kGeluTanh =
    R"(/* 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) */
static inline double kw_gelu_tanh(double x) {
  const double z = 1.5957691216057308 * (x + 0.044715 * x * x * x);
  return x < -1e3 ? -0.0 : x / (1.0 + exp(-z));
}

)";

constexpr const char* kBf16Type = R"(typedef uint16_t kw_bf16;
)";

constexpr const char* kBf16 = R"(
/* The upper half of a float, rounded to nearest even. */
static inline float kw_from_bf16(kw_bf16 bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}
static inline kw_bf16 kw_to_bf16(float value) {
  uint32_t wide;
  memcpy(&wide, &value, sizeof wide);
  if ((wide & 0x7fffffffu) > 0x7f800000u)
    return (kw_bf16)((wide >> 16) | 0x40u);
  wide += 0x7fffu + ((wide >> 16) & 1u);
  return (kw_bf16)(wide >> 16);
}

)";

constexpr const char* kF8E4M3Type = R"(typedef uint8_t kw_f8e4m3;
)";

constexpr const char* kF8E4M3 = R"(
/* A float of 8 bits. Rounded to nearest even; what is too large becomes the largest. */
static inline float kw_from_f8e4m3(kw_f8e4m3 bits) {
  const uint32_t wide = (uint32_t)(bits & 0x7f) << 20;
  float value;
  memcpy(&value, &wide, sizeof value);
  value *= 0x1p120f;
  if ((bits & 0x7f) == 0x7f)
    value = NAN;
  return (bits & 0x80) != 0 ? -value : value;
}
static inline kw_f8e4m3 kw_to_f8e4m3(double value) {
  const int sign = signbit(value) ? 0x80 : 0;
  double magnitude = fabs(value);
  uint64_t wide;
  if (value != value)
    return 0x7f;
  if (magnitude > 448.0)
    magnitude = 448.0;
  if (magnitude < 0x1p-6) {
    magnitude += 0x1p43;
    memcpy(&wide, &magnitude, sizeof wide);
    return (kw_f8e4m3)(sign | (int)(wide & 0xff));
  }
  memcpy(&wide, &magnitude, sizeof wide);
  wide += 0xffffffffffffu + ((wide >> 49) & 1u);
  return (kw_f8e4m3)(sign | (int)((wide >> 49) - 8128u));
}

)";

constexpr const char* kF8E5M2Type = R"(typedef uint8_t kw_f8e5m2;
)";

constexpr const char* kF8E5M2 = R"(
/* A float of 8 bits. Rounded to nearest even; what is too large becomes the largest. */
static inline float kw_from_f8e5m2(kw_f8e5m2 bits) {
  const uint32_t wide = (uint32_t)(bits & 0x7f) << 21;
  float value;
  memcpy(&value, &wide, sizeof value);
  value *= 0x1p112f;
  if ((bits & 0x7f) >= 0x7c)
    value = (bits & 0x7f) == 0x7c ? INFINITY : NAN;
  return (bits & 0x80) != 0 ? -value : value;
}
static inline kw_f8e5m2 kw_to_f8e5m2(double value) {
  const int sign = signbit(value) ? 0x80 : 0;
  double magnitude = fabs(value);
  uint64_t wide;
  if (value != value)
    return 0x7f;
  if (magnitude > 57344.0)
    magnitude = 57344.0;
  if (magnitude < 0x1p-14) {
    magnitude += 0x1p36;
    memcpy(&wide, &magnitude, sizeof wide);
    return (kw_f8e5m2)(sign | (int)(wide & 0xff));
  }
  memcpy(&wide, &magnitude, sizeof wide);
  wide += 0x1ffffffffffffu + ((wide >> 50) & 1u);
  return (kw_f8e5m2)(sign | (int)((wide >> 50) - 4032u));
}

)";

/// Types that C lacks, and functions that convert them.
struct NarrowFloat {
  const char* name;
  const char* type;
  const char* functions;
};
constexpr std::array<NarrowFloat, 3> kNarrowFloats = {{{"bf16", kBf16Type, kBf16},
                                                       {"f8e4m3", kF8E4M3Type, kF8E4M3},
                                                       {"f8e5m2", kF8E5M2Type, kF8E5M2}}};

} // namespace

std::string c_prelude(const std::set<std::string>& helpers, bool is_exact) {
  std::string text = "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n"
                     "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\n";
  if (is_exact)
    text += "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n";
  constexpr std::array<std::pair<const char*, const char*>, 20> functions = {
      {{"floordiv", kFloorDiv},
       {"mod", kMod},
       {"min", kMin},
       {"max", kMax},
       {"maximum", kMaximum},
       {"minimum", kMinimum},
       {"maximumf", kMaximumF},
       {"minimumf", kMinimumF},
       {"to_i32", kToI32},
       {"to_i64", kToI64},
       {"to_u64", kToU64},
       {"min_u64", kMinU64},
       {"max_u64", kMaxU64},
       {"abs", kAbs},
       {"silu", kSilu},
       {"gelu", kGelu},
       {"gelu_tanh", kGeluTanh},
       {"prefetch", kPrefetch},
       {"within", kWithin},
       {"alloc", kAlloc}}};
  constexpr std::array<std::pair<const char*, const char*>, 2> narrow_functions = {
      {{"floordiv32", kFloorDiv32}, {"mod32", kMod32}}};
  for (const NarrowFloat& type : kNarrowFloats)
    if (helpers.count(type.name) != 0)
      text += std::string(type.type) + type.functions;
  for (const auto& [name, code] : functions)
    if (helpers.count(name) != 0)
      text += code;
  for (const auto& [name, code] : narrow_functions)
    if (helpers.count(name) != 0)
      text += code;
  return text;
}

std::string c_header(const std::string& prototype, const std::string& function,
                     const std::set<std::string>& helpers) {
  std::string guard;
  for (const char c : function)
    guard += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  guard += "_H";
  std::string text = "#ifndef " + guard + "\n#define " + guard + "\n\n#include <stdbool.h>\n";
  text += "#include <stdint.h>\n\n#ifdef __cplusplus\n#define restrict __restrict\nextern \"C\" "
          "{\n#endif\n\n";
  for (const NarrowFloat& type : kNarrowFloats)
    if (helpers.count(type.name) != 0)
      text += type.type;
  text += prototype + ";\n\n#ifdef __cplusplus\n}\n#undef restrict\n#endif\n\n#endif\n";
  return text;
}

} // namespace kawara::emit
