#include "emit/cuda/prelude.h"

#include "emit/cuda/gelu_table.h"

#include <array>
#include <utility>

namespace kawara::emit {
namespace {

constexpr const char* kInf =
    R"(static __device__ inline double kw_inf() { return __longlong_as_double(0x7ff0000000000000LL); }

)";
constexpr const char* kNan =
    R"(static __device__ inline double kw_nan() { return __longlong_as_double(0x7ff8000000000000LL); }

)";

constexpr const char* kCudaBf16 = R"(// The upper half of a float, rounded to nearest even.
struct kw_bf16 { unsigned short bits; };
static __device__ inline float kw_to_float(kw_bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
static __device__ inline kw_bf16 kw_to_bf16(float x) {
  kw_bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}

)";

constexpr const char* kCudaF16 = R"(struct kw_f16 { unsigned short bits; };
static __device__ inline float kw_to_float(kw_f16 x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x.bits));
  return result;
}
static __device__ inline kw_f16 kw_to_f16(float x) {
  kw_f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(x));
  return result;
}

)";

constexpr const char* kCudaF8E4M3 =
    R"(// A float of 8 bits. Rounded to nearest even; what is too large becomes the largest.
struct kw_f8e4m3 { unsigned char bits; };
static __device__ inline float kw_to_float(kw_f8e4m3 x) {
  const unsigned code = x.bits & 0x7f;
  const float value = code == 0x7f ? __uint_as_float(0x7fc00000) : code < 8 ? code * 0.001953125f
                                    : __uint_as_float((code << 20) + 0x3c000000u);
  return (x.bits & 0x80) != 0 ? -value : value;
}
static __device__ inline kw_f8e4m3 kw_to_f8e4m3(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
  return {(unsigned char)both};
#else
  if (x != x)
    return {0x7f};
  const unsigned sign = __float_as_uint(x) >> 24 & 0x80;
  const float size = fminf(fabsf(x), 448.0f);
  if (size < 0.015625f)
    return {(unsigned char)(sign | (__float_as_uint(size + 16384.0f) - 0x46800000u))};
  unsigned bits = __float_as_uint(size);
  bits += 0x7ffffu + (bits >> 20 & 1);
  return {(unsigned char)(sign | ((bits >> 20) - 960u))};
#endif
}

)";

constexpr const char* kCudaF8E5M2 =
    R"(// A float of 8 bits. Rounded to nearest even; what is too large becomes the largest.
struct kw_f8e5m2 { unsigned char bits; };
static __device__ inline float kw_to_float(kw_f8e5m2 x) {
  const unsigned code = x.bits & 0x7f;
  const float value = code == 0x7c ? __uint_as_float(0x7f800000)
                      : code > 0x7c ? __uint_as_float(0x7fc00000)
                                    : code < 4 ? code * 1.52587890625e-05f
                                    : __uint_as_float((code << 21) + 0x38000000u);
  return (x.bits & 0x80) != 0 ? -value : value;
}
static __device__ inline kw_f8e5m2 kw_to_f8e5m2(float x) {
#if __CUDA_ARCH__ >= 890
  unsigned short both;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
  return {(unsigned char)both};
#else
  if (x != x)
    return {0x7f};
  const unsigned sign = __float_as_uint(x) >> 24 & 0x80;
  const float size = fminf(fabsf(x), 57344.0f);
  if (size < 6.103515625e-05f)
    return {(unsigned char)(sign | (__float_as_uint(size + 128.0f) - 0x43000000u))};
  unsigned bits = __float_as_uint(size);
  bits += 0xfffffu + (bits >> 21 & 1);
  return {(unsigned char)(sign | ((bits >> 21) - 448u))};
#endif
}

)";

constexpr const char* kPackedBf16 =
    R"(static __device__ inline unsigned kw_pack_bf16(float low, float high) {
  unsigned result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

)";
constexpr const char* kPackedF16 =
    R"(static __device__ inline unsigned kw_pack_f16(float low, float high) {
  unsigned result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

)";

constexpr const char* kBegin =
    R"(// Waits until what was launched before is done; what is launched next may place its blocks from now on.
static __device__ inline void kw_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

)";
constexpr const char* kDivision =
    R"(// Division that rounds towards minus infinity, and its remainder.
template <class T> static __device__ inline T kw_floordiv(T a, T b) {
  if (b == -1)
    return (T)(0 - (unsigned long long)a);
  const T q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
template <class T> static __device__ inline T kw_mod(T a, T b) {
  const T r = b == -1 ? 0 : a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

)";

constexpr const char* kWithin =
    R"(// An index that was read from data; ends the launch, and all that comes after it, where it is outside of its tensor.
static __device__ inline long long kw_within(long long at, long long extent) {
  if ((unsigned long long)at >= (unsigned long long)extent)
    __trap();
  return at;
}

)";

constexpr const char* kAbsolute = R"(// The lowest number is its own size.
static __device__ inline int kw_absolute(int a) { return a < 0 ? (int)(0u - (unsigned)a) : a; }
static __device__ inline long long kw_absolute(long long a) {
  return a < 0 ? (long long)(0ull - (unsigned long long)a) : a;
}

)";

constexpr const char* kExtremes = R"(// NaN where a side is.
static __device__ inline float kw_maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a > b || a != a ? a : b;
#endif
}
static __device__ inline float kw_minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a < b || a != a ? a : b;
#endif
}
static __device__ inline double kw_maximum(double a, double b) { return a > b || a != a ? a : b; }
static __device__ inline double kw_minimum(double a, double b) { return a < b || a != a ? a : b; }

)";

constexpr const char* kWhole =
    R"(// Without the fraction; NaN is 0, what is out of range the nearest number.
static __device__ inline int kw_to_i32(float x) { return __float2int_rz(x); }
static __device__ inline int kw_to_i32(double x) { return x == x ? __double2int_rz(x) : 0; }
static __device__ inline unsigned long long kw_to_u64(float x) { return x > 0 ? __float2ull_rz(x) : 0; }
static __device__ inline unsigned long long kw_to_u64(double x) { return x > 0 ? __double2ull_rz(x) : 0; }
static __device__ inline long long kw_to_i64(float x) { return x == x ? __float2ll_rz(x) : 0; }
static __device__ inline long long kw_to_i64(double x) { return x == x ? __double2ll_rz(x) : 0; }

)";

// An infinity below becomes a number, of which the quotient is -0 as well.
constexpr const char* kActivations =
    R"(static __device__ inline float kw_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
static __device__ inline float kw_silu(float x) { return kw_maximum(x, -1e30f) / (1.0f + expf(-x)); }
static __device__ inline float kw_gelu_tanh(float x) {
  return kw_maximum(x, -1e30f) / (1.0f + expf(-1.5957691f * (x + 0.044715f * x * x * x)));
}
static __device__ inline double kw_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static __device__ inline double kw_silu(double x) { return kw_maximum(x, -1e30) / (1.0 + exp(-x)); }
static __device__ inline double kw_gelu(double x) {
  return 0.5 * kw_maximum(x, -1e30) * erfc(x * -0.70710678118654752);
}
static __device__ inline double kw_gelu_tanh(double x) {
  return kw_maximum(x, -1e30) / (1.0 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
}

)";

constexpr const char* kApproximate = R"(static __device__ inline float kw_exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
static __device__ inline float kw_reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

)";

constexpr const char* kShortActivations =
    R"(// For results that are rounded to 16 bits: within 2^-15 of the value. Powers are too low or too high at first, so
// that no tail is lost.
static __device__ inline float kw_gate(float x, float power) {
  return x * (0x1p-32f * kw_reciprocal(0x1p-32f + kw_exp2(power - 32.0f)));
}
static __device__ inline float kw_sigmoid_short(float x) { return kw_gate(1.0f, x * -1.442695041f); }
static __device__ inline float kw_silu_short(float x) {
  return kw_gate(kw_maximum(x, -1e30f), x * -1.442695041f);
}
static __device__ inline float kw_gelu_tanh_short(float x) {
  return kw_gate(kw_maximum(x, -1e30f), x * fmaf(x * x, -0.102943241f, -2.302208198f));
}
// max(x, 0) - z * Phi(-z) with z = |x|; Phi(-z) * exp(z^2/2) is a polynomial in 1 / (z + 2.2), over z + 2.2.
static __device__ inline float kw_gelu_short(float x) {
  const float z = fminf(fabsf(x), 14.5f);
  const float q = kw_reciprocal(z + 2.2f);
  float s = fmaf(q, 7.93595351f, -12.1629047f);
  s = fmaf(s, q, 4.39960576f);
  s = fmaf(s, q, 1.18658758f);
  s = fmaf(s, q, 0.898519183f);
  s = fmaf(s, q, 0.398460425f);
  float above;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(above) : "f"(x), "f"(-0.0f));
  return fmaf(z * q * kw_exp2(fmaf(z * -0.721347520f, z, 64.0f)), s * -0x1p-64f, above);
}

)";

constexpr const char* kVector = R"(// Neighbouring elements that are loaded and stored at once.
template <class T, int n> struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) kw_vector { T at[n]; };

)";

constexpr const char* kRepeated = R"(// 16 bytes that many blocks read.
template <class V> static __device__ inline V kw_repeated(const V* from) {
  unsigned word[4];
  asm volatile("ld.global.nc.L1::evict_last.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
               : "l"(__cvta_generic_to_global(from)));
  V vector;
  static_assert(sizeof(vector) == sizeof(word), "16 bytes");
  memcpy(&vector, word, sizeof(word));
  return vector;
}

)";

constexpr const char* kCopyAsync = R"(// Copies elements to shared memory beside the computation.
template <int bytes> static __device__ inline void kw_copy_async(void* to, const void* from) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(bytes)
                 : "memory");
}

)";

constexpr const char* kCombine =
    R"(// Integers wrap.
struct kw_sum {
  template <class T> static __device__ T of(T a, T b) { return a + b; }
  static __device__ int of(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
  static __device__ long long of(long long a, long long b) {
    return (long long)((unsigned long long)a + (unsigned long long)b);
  }
};
struct kw_prod {
  template <class T> static __device__ T of(T a, T b) { return a * b; }
  static __device__ int of(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
  static __device__ long long of(long long a, long long b) {
    return (long long)((unsigned long long)a * (unsigned long long)b);
  }
};
struct kw_max {
  static __device__ float of(float a, float b) { return kw_maximum(a, b); }
  static __device__ double of(double a, double b) { return kw_maximum(a, b); }
  static __device__ int of(int a, int b) { return max(a, b); }
  static __device__ long long of(long long a, long long b) { return max(a, b); }
};
struct kw_min {
  static __device__ float of(float a, float b) { return kw_minimum(a, b); }
  static __device__ double of(double a, double b) { return kw_minimum(a, b); }
  static __device__ int of(int a, int b) { return min(a, b); }
  static __device__ long long of(long long a, long long b) { return min(a, b); }
};
// The values of `width` threads that differ in threadIdx.x alone, combined; all of them get it.
template <class Op, int width, int rows, class T> static __device__ T kw_combine(T value) {
  constexpr bool is_even = width <= 32 ? (width & (width - 1)) == 0 : width % 32 == 0;
  constexpr int lanes = !is_even ? 1 : width < 32 ? width : 32;
#pragma unroll
  for (int far = lanes / 2; far > 0; far /= 2)
    value = Op::of(value, __shfl_xor_sync(0xffffffffu, value, far, lanes));
  if constexpr (width > lanes) {
    constexpr int parts = width / lanes;
    __shared__ T part[rows][parts];
    const int row = threadIdx.y + blockDim.y * threadIdx.z;
    if (threadIdx.x % lanes == 0)
      part[row][threadIdx.x / lanes] = value;
    __syncthreads();
    value = part[row][0];
#pragma unroll
    for (int p = 1; p < parts; ++p)
      value = Op::of(value, part[row][p]);
    __syncthreads();
  }
  return value;
}

)";

} // namespace

std::string cuda_prelude(const std::set<std::string>& needs) {
  constexpr std::array<std::pair<const char*, const char*>, 21> parts = {
      {{"begin", kBegin},
       {"inf", kInf},
       {"nan", kNan},
       {"bf16", kCudaBf16},
       {"f16", kCudaF16},
       {"f8e4m3", kCudaF8E4M3},
       {"f8e5m2", kCudaF8E5M2},
       {"packed_bf16", kPackedBf16},
       {"packed_f16", kPackedF16},
       {"division", kDivision},
       {"absolute", kAbsolute},
       {"within", kWithin},
       {"extremes", kExtremes},
       {"whole", kWhole},
       {"activations", kActivations},
       {"approximate", kApproximate},
       {"short_activations", kShortActivations},
       {"vector", kVector},
       {"repeated", kRepeated},
       {"copy_async", kCopyAsync},
       {"combine", kCombine}}};
  std::string text;
  const auto is_needed = [&](const std::string& name) {
    return needs.contains(name) || (name == "approximate" && needs.contains("short_activations")) ||
           (name == "extremes" && (needs.contains("activations") || needs.contains("combine") ||
                                   needs.contains("short_activations")));
  };
  for (const auto& [name, code] : parts)
    if (is_needed(name))
      text += code;
  if (needs.contains("gelu"))
    text += gelu_text();
  if (needs.contains("gelu_by_tails"))
    text += gelu_by_tails_text();
  return text;
}

} // namespace kawara::emit
