#include "target/intrinsic.h"

#include "target/warpgroup_products.h"

namespace kawara::target {
namespace {

// Meanings. Products of small integers are exact in i32, sums wrap: these are exact in any order.

constexpr std::string_view kDot4OfI8 = "input a: i8[4], b: i8[4, 4]\n"
                                       "inout c: i32[4]\n"
                                       "for j in range(4):\n"
                                       "    for k in range(4):\n"
                                       "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kDot4OfU8 = "input a: u8[4], b: u8[4, 4]\n"
                                       "inout c: i32[4]\n"
                                       "for j in range(4):\n"
                                       "    for k in range(4):\n"
                                       "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kDot4OfU8AndI8 = "input a: u8[4], b: i8[4, 4]\n"
                                            "inout c: i32[4]\n"
                                            "for j in range(4):\n"
                                            "    for k in range(4):\n"
                                            "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kDot4OfI8AndU8 = "input a: i8[4], b: u8[4, 4]\n"
                                            "inout c: i32[4]\n"
                                            "for j in range(4):\n"
                                            "    for k in range(4):\n"
                                            "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kTileOfI8 = "input a: i8[2, 8], b: i8[2, 8]\n"
                                       "inout c: i32[2, 2]\n"
                                       "for i in range(2):\n"
                                       "    for j in range(2):\n"
                                       "        for k in range(8):\n"
                                       "            c[i, j] += a[i, k] * b[j, k]\n";
constexpr std::string_view kTileOfU8 = "input a: u8[2, 8], b: u8[2, 8]\n"
                                       "inout c: i32[2, 2]\n"
                                       "for i in range(2):\n"
                                       "    for j in range(2):\n"
                                       "        for k in range(8):\n"
                                       "            c[i, j] += a[i, k] * b[j, k]\n";
constexpr std::string_view kTileOfU8AndI8 = "input a: u8[2, 8], b: i8[2, 8]\n"
                                            "inout c: i32[2, 2]\n"
                                            "for i in range(2):\n"
                                            "    for j in range(2):\n"
                                            "        for k in range(8):\n"
                                            "            c[i, j] += a[i, k] * b[j, k]\n";
constexpr std::string_view kFour = "input a: f32[1], b: f32[4]\n"
                                   "inout c: f32[4]\n"
                                   "for j in range(4):\n"
                                   "    c[j] += a[0] * b[j]\n";
constexpr std::string_view kEight = "input a: f32[1], b: f32[8]\n"
                                    "inout c: f32[8]\n"
                                    "for j in range(8):\n"
                                    "    c[j] += a[0] * b[j]\n";
constexpr std::string_view kSixteen = "input a: f32[1], b: f32[16]\n"
                                      "inout c: f32[16]\n"
                                      "for j in range(16):\n"
                                      "    c[j] += a[0] * b[j]\n";
constexpr std::string_view kEightOfF16 = "input a: f16[1], b: f16[8]\n"
                                         "inout c: f16[8]\n"
                                         "for j in range(8):\n"
                                         "    c[j] += a[0] * b[j]\n";
constexpr std::string_view kThirtyTwoOfF16 = "input a: f16[1], b: f16[32]\n"
                                             "inout c: f16[32]\n"
                                             "for j in range(32):\n"
                                             "    c[j] += a[0] * b[j]\n";
constexpr std::string_view kDot2OfBf16 = "input a: bf16[2], b: bf16[4, 2]\n"
                                         "inout c: f32[4]\n"
                                         "for j in range(4):\n"
                                         "    for k in range(2):\n"
                                         "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kTileOfBf16 = "input a: bf16[2, 4], b: bf16[2, 4]\n"
                                         "inout c: f32[2, 2]\n"
                                         "for i in range(2):\n"
                                         "    for j in range(2):\n"
                                         "        for k in range(4):\n"
                                         "            c[i, j] += a[i, k] * b[j, k]\n";
constexpr std::string_view kWideDot2OfI16 = "input a: i16[2], b: i16[16, 2]\n"
                                            "inout c: i32[16]\n"
                                            "for j in range(16):\n"
                                            "    for k in range(2):\n"
                                            "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kDot2OfI16 = "input a: i16[2], b: i16[8, 2]\n"
                                        "inout c: i32[8]\n"
                                        "for j in range(8):\n"
                                        "    for k in range(2):\n"
                                        "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kWideDot4 = "input a: u8[4], b: i8[16, 4]\n"
                                       "inout c: i32[16]\n"
                                       "for j in range(16):\n"
                                       "    for k in range(4):\n"
                                       "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kWideDot4Transposed = "input a: i8[4], b: u8[16, 4]\n"
                                                 "inout c: i32[16]\n"
                                                 "for j in range(16):\n"
                                                 "    for k in range(4):\n"
                                                 "        c[j] += a[k] * b[j, k]\n";
constexpr std::string_view kWideDot2OfBf16 = "input a: bf16[2], b: bf16[16, 2]\n"
                                             "inout c: f32[16]\n"
                                             "for j in range(16):\n"
                                             "    for k in range(2):\n"
                                             "        c[j] += a[k] * b[j, k]\n";

// Tiles: rows of `b` hold groups of neighbouring rows of the right matrix.
constexpr std::string_view kTileOfBf16Pairs =
    "input a: bf16[16, 16, 2], b: bf16[16, 16, 2]\n"
    "inout c: f32[16, 16]\n"
    "for i in range(16):\n"
    "    for k in range(16):\n"
    "        for j in range(16):\n"
    "            for l in range(2):\n"
    "                c[i, j] += a[i, k, l] * b[k, j, l]\n";
constexpr std::string_view kTileOfI8Groups = "input a: i8[16, 16, 4], b: i8[16, 16, 4]\n"
                                             "inout c: i32[16, 16]\n"
                                             "for i in range(16):\n"
                                             "    for k in range(16):\n"
                                             "        for j in range(16):\n"
                                             "            for l in range(4):\n"
                                             "                c[i, j] += a[i, k, l] * b[k, j, l]\n";
constexpr std::string_view kTileOfU8Groups = "input a: u8[16, 16, 4], b: u8[16, 16, 4]\n"
                                             "inout c: i32[16, 16]\n"
                                             "for i in range(16):\n"
                                             "    for k in range(16):\n"
                                             "        for j in range(16):\n"
                                             "            for l in range(4):\n"
                                             "                c[i, j] += a[i, k, l] * b[k, j, l]\n";
constexpr std::string_view kTileOfU8AndI8Groups =
    "input a: u8[16, 16, 4], b: i8[16, 16, 4]\n"
    "inout c: i32[16, 16]\n"
    "for i in range(16):\n"
    "    for k in range(16):\n"
    "        for j in range(16):\n"
    "            for l in range(4):\n"
    "                c[i, j] += a[i, k, l] * b[k, j, l]\n";
constexpr std::string_view kTileOfI8AndU8Groups =
    "input a: i8[16, 16, 4], b: u8[16, 16, 4]\n"
    "inout c: i32[16, 16]\n"
    "for i in range(16):\n"
    "    for k in range(16):\n"
    "        for j in range(16):\n"
    "            for l in range(4):\n"
    "                c[i, j] += a[i, k, l] * b[k, j, l]\n";

std::vector<Register> accumulate(std::string_view sum, uint16_t sums, std::string_view elem,
                                 uint16_t lanes) {
  return {{'c', sum, sums}, {'a', elem, lanes}, {'b', elem, lanes}};
}

/// llvm.fma(x, y, z) is x * y + z.
std::vector<Register> fused(std::string_view elem, uint16_t lanes) {
  return {{'a', elem, lanes}, {'b', elem, lanes}, {'c', elem, lanes}};
}

std::vector<Intrinsic> neon() {
  using enum Feature;
  const auto dot = accumulate("i32", 4, "i8", 16);
  std::vector<Register> dot_transposed = dot;
  std::swap(dot_transposed[1], dot_transposed[2]);
  constexpr Arch kArm = Arch::Aarch64;
  return {
      {"neon.fmla",
       kFour,
       kArm,
       {Neon},
       Strictness::Rounding,
       1.0,
       "llvm.fma.v4f32",
       fused("f32", 4),
       "fmla"},
      {"neon.fmla_f16",
       kEightOfF16,
       kArm,
       {Neon, Fp16},
       Strictness::Rounding,
       1.0,
       "llvm.fma.v8f16",
       fused("f16", 8),
       "fmla"},
      {"neon.sdot",
       kDot4OfI8,
       kArm,
       {Neon, Dotprod},
       Strictness::Exact,
       1.0,
       "llvm.aarch64.neon.sdot.v4i32.v16i8",
       dot,
       "sdot"},
      {"neon.udot",
       kDot4OfU8,
       kArm,
       {Neon, Dotprod},
       Strictness::Exact,
       1.0,
       "llvm.aarch64.neon.udot.v4i32.v16i8",
       dot,
       "udot"},
      // With a source in all lanes LLVM takes the other spelling, sudot.
      {"neon.usdot",
       kDot4OfU8AndI8,
       kArm,
       {Neon, I8mm},
       Strictness::Exact,
       1.0,
       "llvm.aarch64.neon.usdot.v4i32.v16i8",
       dot,
       "dot"},
      // The same instruction with its sources exchanged.
      {"neon.sudot",
       kDot4OfI8AndU8,
       kArm,
       {Neon, I8mm},
       Strictness::Exact,
       1.0,
       "llvm.aarch64.neon.usdot.v4i32.v16i8",
       dot_transposed,
       "dot"},
      {"neon.smmla",
       kTileOfI8,
       kArm,
       {Neon, I8mm},
       Strictness::Exact,
       1.0,
       "llvm.aarch64.neon.smmla.v4i32.v16i8",
       dot,
       "smmla"},
      {"neon.ummla",
       kTileOfU8,
       kArm,
       {Neon, I8mm},
       Strictness::Exact,
       1.0,
       "llvm.aarch64.neon.ummla.v4i32.v16i8",
       dot,
       "ummla"},
      {"neon.usmmla",
       kTileOfU8AndI8,
       kArm,
       {Neon, I8mm},
       Strictness::Exact,
       1.0,
       "llvm.aarch64.neon.usmmla.v4i32.v16i8",
       dot,
       "usmmla"},
      {"neon.bfdot",
       kDot2OfBf16,
       kArm,
       {Neon, Bf16},
       Strictness::Fast,
       1.0,
       "llvm.aarch64.neon.bfdot.v4f32.v8bf16",
       accumulate("f32", 4, "bf16", 8),
       "bfdot"},
      {"neon.bfmmla",
       kTileOfBf16,
       kArm,
       {Neon, Bf16},
       Strictness::Fast,
       1.0,
       "llvm.aarch64.neon.bfmmla",
       accumulate("f32", 4, "bf16", 8),
       "bfmmla"},
  };
}

std::vector<Intrinsic> x86() {
  using enum Feature;
  constexpr Arch kX86 = Arch::X86_64;
  return {
      {"avx2.fmadd",
       kEight,
       kX86,
       {Avx2, Fma},
       Strictness::Rounding,
       1.0,
       "llvm.fma.v8f32",
       fused("f32", 8),
       "vfmadd"},
      {"avx512.fmadd",
       kSixteen,
       kX86,
       {Avx512f},
       Strictness::Rounding,
       1.0,
       "llvm.fma.v16f32",
       fused("f32", 16),
       "vfmadd"},
      {"avx512.fmadd_f16",
       kThirtyTwoOfF16,
       kX86,
       {Avx512f, Avx512fp16},
       Strictness::Rounding,
       1.0,
       "llvm.fma.v32f16",
       fused("f16", 32),
       "vfmadd"},
      // i8 times i8 is done on i16: operands are packed as i16, see `pack`.
      {"avx2.vpmaddwd",
       kDot2OfI16,
       kX86,
       {Avx2},
       Strictness::Exact,
       2.0,
       "llvm.x86.avx2.pmadd.wd",
       {{'a', "i16", 16}, {'b', "i16", 16}},
       "vpmaddwd",
       true},
      {"avx512.vpdpwssd",
       kWideDot2OfI16,
       kX86,
       {Avx512f, Avx512vnni},
       Strictness::Exact,
       1.0,
       "llvm.x86.avx512.vpdpwssd.512",
       accumulate("i32", 16, "i32", 16),
       "vpdpwssd"},
      {"avx512.vpdpbusd",
       kWideDot4,
       kX86,
       {Avx512f, Avx512vnni},
       Strictness::Exact,
       1.0,
       "llvm.x86.avx512.vpdpbusd.512",
       accumulate("i32", 16, "i32", 16),
       "vpdpbusd"},
      // The same instruction with its sources exchanged.
      {"avx512.vpdpbusd_transposed",
       kWideDot4Transposed,
       kX86,
       {Avx512f, Avx512vnni},
       Strictness::Exact,
       1.0,
       "llvm.x86.avx512.vpdpbusd.512",
       {{'c', "i32", 16}, {'b', "i32", 16}, {'a', "i32", 16}},
       "vpdpbusd"},
      // Half as fast as a multiply-add of f32 or slower: convolutions took 3.0 to 3.7 ms on a
      // Sapphire Rapids where converted once to f32 they take 1.5 to 2.2.
      {"avx512.vdpbf16ps",
       kWideDot2OfBf16,
       kX86,
       {Avx512f, Avx512bf16},
       Strictness::Fast,
       2.0,
       "llvm.x86.avx512bf16.dpbf16ps.512",
       accumulate("f32", 16, "bf16", 32),
       "vdpbf16ps"},
  };
}

/// A tile does 16 x 16 x 16 groups in 16 cycles, while two pipes do a vector each in every cycle:
/// as many as 32 of them.
constexpr double kTileCost = 32.0;

Intrinsic tile(std::string_view name, std::string_view program, Feature needs,
               Strictness strictness, std::string_view llvm, std::vector<Register> arguments,
               std::string_view mnemonic) {
  Intrinsic one{name,      program, Arch::X86_64,         {needs}, strictness,
                kTileCost, llvm,    std::move(arguments), mnemonic};
  one.is_tile = true;
  return one;
}

std::vector<Intrinsic> amx() {
  const auto bytes = accumulate("i32", 256, "i8", 1024);
  return {tile("amx.tdpbf16ps", kTileOfBf16Pairs, Feature::AmxBf16, Strictness::Fast,
               "llvm.x86.tdpbf16ps.internal", accumulate("f32", 256, "bf16", 512), "tdpbf16ps"),
          tile("amx.tdpbssd", kTileOfI8Groups, Feature::AmxInt8, Strictness::Exact,
               "llvm.x86.tdpbssd.internal", bytes, "tdpbssd"),
          tile("amx.tdpbuud", kTileOfU8Groups, Feature::AmxInt8, Strictness::Exact,
               "llvm.x86.tdpbuud.internal", bytes, "tdpbuud"),
          tile("amx.tdpbusd", kTileOfU8AndI8Groups, Feature::AmxInt8, Strictness::Exact,
               "llvm.x86.tdpbusd.internal", bytes, "tdpbusd"),
          tile("amx.tdpbsud", kTileOfI8AndU8Groups, Feature::AmxInt8, Strictness::Exact,
               "llvm.x86.tdpbsud.internal", bytes, "tdpbsud")};
}

} // namespace

const std::vector<Intrinsic>& intrinsics() {
  static const std::vector<Intrinsic> all = [] {
    std::vector<Intrinsic> list = neon();
    for (auto& more : {x86(), amx(), warpgroup_products()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

const Intrinsic* find_intrinsic(std::string_view name) {
  for (const Intrinsic& one : intrinsics())
    if (one.name == name)
      return &one;
  return nullptr;
}

bool is_available(const Intrinsic& intrinsic, const Cpu& cpu) {
  if (intrinsic.is_collective || intrinsic.arch != cpu.arch)
    return false;
  for (uint32_t f = 0; f < kFeatureCount; ++f)
    if (intrinsic.needs.has(static_cast<Feature>(f)) && !cpu.features.has(static_cast<Feature>(f)))
      return false;
  return true;
}

bool is_available(const Intrinsic& intrinsic, const Gpu& gpu) {
  return intrinsic.is_collective && gpu.arch == "sm_90a";
}

} // namespace kawara::target
