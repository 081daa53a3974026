#include "target/cpu.h"

#include "support/check.h"
#include "support/text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace kawara::target {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

/// The fixed machines. Cores are kept small so that expected texts stay readable.
std::vector<Cpu> table() {
  using enum Feature;
  std::vector<Cpu> cpus{
      {"neoverse-n1",
       Arch::Aarch64,
       {Neon, Fp16, Dotprod},
       0,
       0,
       4,
       {64 * kKiB, kMiB, 32 * kMiB, 64}},
      {"neoverse-v1",
       Arch::Aarch64,
       {Neon, Fp16, Dotprod, I8mm, Bf16, Sve},
       0,
       0,
       4,
       {64 * kKiB, kMiB, 32 * kMiB, 64}},
      {"generic-aarch64", Arch::Aarch64, {Neon}, 0, 0, 2, {32 * kKiB, 512 * kKiB, 0, 64}},
      {"haswell", Arch::X86_64, {Sse2, Avx2, Fma}, 0, 0, 4, {32 * kKiB, 256 * kKiB, 8 * kMiB, 64}},
      {"znver4",
       Arch::X86_64,
       {Sse2, Avx2, Fma, Avx512f, Avx512vnni, Avx512bf16},
       0,
       0,
       8,
       {32 * kKiB, kMiB, 32 * kMiB, 64}},
      {"sapphirerapids",
       Arch::X86_64,
       {Sse2, Avx2, Fma, Avx512f, Avx512vnni, Avx512bf16, Avx512fp16, AmxBf16, AmxInt8},
       0,
       0,
       8,
       {48 * kKiB, 2 * kMiB, 60 * kMiB, 64}},
      {"generic-x86_64", Arch::X86_64, {Sse2}, 0, 0, 2, {32 * kKiB, 256 * kKiB, 0, 64}},
  };
  for (Cpu& cpu : cpus)
    set_vector_shape(cpu);
  return cpus;
}

std::string size_text(int64_t bytes) {
  if (bytes == 0)
    return "none";
  if (bytes % kMiB == 0)
    return fmt::format("{} MiB", bytes / kMiB);
  if (bytes % kKiB == 0)
    return fmt::format("{} KiB", bytes / kKiB);
  return fmt::format("{} B", bytes);
}

} // namespace

std::string_view name_of(Arch arch) { return arch == Arch::Aarch64 ? "aarch64" : "x86_64"; }

std::string_view name_of(Feature feature) {
  constexpr std::array<std::string_view, kFeatureCount> kNames{
      "neon", "fp16",    "dotprod",    "i8mm",       "bf16",       "sve",      "sse2",    "avx2",
      "fma",  "avx512f", "avx512vnni", "avx512bf16", "avx512fp16", "amx_bf16", "amx_int8"};
  return kNames.at(static_cast<size_t>(feature));
}

std::vector<std::string> Features::names() const {
  std::vector<std::string> found;
  for (uint32_t k = 0; k < kFeatureCount; ++k)
    if (has(static_cast<Feature>(k)))
      found.emplace_back(name_of(static_cast<Feature>(k)));
  return found;
}

std::optional<Cpu> named_cpu(std::string_view name) {
  for (Cpu& cpu : table())
    if (cpu.name == name)
      return std::move(cpu);
  return std::nullopt;
}

std::vector<std::string> named_cpus() {
  std::vector<std::string> names;
  for (const Cpu& cpu : table())
    names.push_back(cpu.name);
  return names;
}

void set_vector_shape(Cpu& cpu) {
  const bool has_512 = cpu.features.has(Feature::Avx512f);
  const bool is_arm = cpu.arch == Arch::Aarch64;
  // Vectors of a length that is known only at run time are not used, so SVE counts as NEON here.
  cpu.vector_bytes = has_512 ? 64 : cpu.features.has(Feature::Avx2) ? 32 : 16;
  cpu.vector_registers = is_arm || has_512 ? 32 : 16;
}

bool has_f16_arithmetic(const Cpu& cpu) {
  return cpu.features.has(Feature::Fp16) || cpu.features.has(Feature::Avx512fp16);
}

int64_t least_broadcast(const Cpu& cpu) { return cpu.arch == Arch::X86_64 ? 4 : 1; }

int64_t vector_lanes(const Cpu& cpu, int64_t element_bytes) {
  KAWARA_CHECK(element_bytes > 0, fmt::format("element of {} bytes", element_bytes));
  return std::max<int64_t>(cpu.vector_bytes / element_bytes, 1);
}

std::string print(const Cpu& cpu) {
  const std::array<std::pair<std::string_view, std::string>, 10> rows{{
      {"name", cpu.name},
      {"arch", std::string(name_of(cpu.arch))},
      {"features", join(cpu.features.names(), " ")},
      {"vector", fmt::format("{} bytes", cpu.vector_bytes)},
      {"registers", fmt::format("{}", cpu.vector_registers)},
      {"cores", fmt::format("{}", cpu.cores)},
      {"L1 data", size_text(cpu.caches.l1d)},
      {"L2", size_text(cpu.caches.l2)},
      {"L3", size_text(cpu.caches.l3)},
      {"line", fmt::format("{} bytes", cpu.caches.line)},
  }};
  std::string text;
  for (const auto& [what, value] : rows)
    text += fmt::format("{:<10} {}\n", what, value);
  return text;
}

} // namespace kawara::target
