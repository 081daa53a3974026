#include "target/cpu.h"

#include "support/text.h"

#include <charconv>
#include <fstream>
#include <sched.h>
#include <thread>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <array>
#include <cpuid.h>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>
#else
#error "Kawara runs on aarch64 and x86-64"
#endif

namespace kawara::target {
namespace {

std::string first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return std::string(trim(line));
}

/// "64K", "1M", "32768"; 0 for anything else.
int64_t size_from_text(std::string_view text) {
  int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  constexpr int64_t kLargest = int64_t{1} << 40;
  if (error != std::errc() || value <= 0 || value > kLargest)
    return 0;
  if (unit == "K")
    return value << 10;
  if (unit == "M")
    return value << 20;
  return unit.empty() ? value : 0;
}

#if defined(__aarch64__)

constexpr Arch kHostArch = Arch::Aarch64;

/// Bits of AT_HWCAP and AT_HWCAP2 as the kernel's ABI fixes them; old headers lack some names.
Features host_features() {
  const uint64_t first = getauxval(AT_HWCAP);
  const uint64_t second = getauxval(AT_HWCAP2);
  Features features{Feature::Neon}; // part of the base architecture
  const auto add_if = [&](uint64_t word, unsigned bit, Feature feature) {
    if ((word >> bit & 1U) != 0)
      features.add(feature);
  };
  add_if(first, 10, Feature::Fp16);    // asimdhp
  add_if(first, 20, Feature::Dotprod); // asimddp
  add_if(first, 22, Feature::Sve);
  add_if(second, 13, Feature::I8mm);
  add_if(second, 14, Feature::Bf16);
  return features;
}

/// Name of the core by its part number in the identification register.
std::string host_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("CPU part"))
      continue;
    const std::string_view part = trim(std::string_view(line).substr(line.find(':') + 1));
    if (part == "0xd0c")
      return "neoverse-n1";
    if (part == "0xd40")
      return "neoverse-v1";
    if (part == "0xd49")
      return "neoverse-n2";
    if (part == "0xd4f")
      return "neoverse-v2";
    return "aarch64 part " + std::string(part);
  }
  return "aarch64";
}

#else

constexpr Arch kHostArch = Arch::X86_64;

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

/// All zero for a leaf that the processor does not have.
Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0)
    return {};
  return r;
}

/// Which register files the operating system saves; without that, an instruction set is unusable.
uint64_t saved_state() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

/// Linux keeps tiles only for processes that have asked; in others the first of them is the last
/// instruction. Threads and children have what their parent was granted.
bool may_use_tiles() {
#ifdef __linux__
  constexpr long kRequestPermission = 0x1023,
                 kTileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Features host_features() {
  const Registers one = cpuid(1, 0), seven = cpuid(7, 0), seven_one = cpuid(7, 1);
  const auto bit = [](uint32_t word, unsigned at) { return (word >> at & 1U) != 0; };
  const uint64_t saved = bit(one.c, 27) ? saved_state() : 0;
  const bool has_ymm = (saved & 0x6U) == 0x6U;
  const bool has_zmm = (saved & 0xE6U) == 0xE6U;
  const bool has_tiles = (saved & 0x60000U) == 0x60000U && bit(seven.d, 24) && may_use_tiles();
  Features features{Feature::Sse2}; // part of the base architecture
  const auto add_if = [&](bool present, Feature feature) {
    if (present)
      features.add(feature);
  };
  add_if(has_ymm && bit(seven.b, 5), Feature::Avx2);
  add_if(has_ymm && bit(one.c, 12), Feature::Fma);
  add_if(has_zmm && bit(seven.b, 16), Feature::Avx512f);
  add_if(has_zmm && bit(seven.c, 11), Feature::Avx512vnni);
  add_if(has_zmm && bit(seven_one.a, 5), Feature::Avx512bf16);
  add_if(has_zmm && bit(seven.d, 23), Feature::Avx512fp16);
  add_if(has_tiles && bit(seven.d, 22), Feature::AmxBf16);
  add_if(has_tiles && bit(seven.d, 25), Feature::AmxInt8);
  return features;
}

/// The brand string, which the processor spells in three pieces of 16 characters.
std::string host_name() {
  std::array<char, 49> brand{};
  for (uint32_t k = 0; k < 3; ++k) {
    const Registers r = cpuid(0x80000002U + k, 0);
    std::memcpy(brand.data() + 16 * k, &r, sizeof r);
  }
  const std::string_view name = trim(std::string_view(brand.data()));
  return name.empty() ? "x86_64" : std::string(name);
}

#endif

/// Cores this process may run on: a container or `taskset` can allow fewer than there are.
int64_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return CPU_COUNT(&allowed);
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Where the system says nothing, sizes that nearly every processor has: schedules then tile a bit
/// smaller than they could, which costs little.
void fill_gaps(Caches& caches) {
  const auto use = [](int64_t& field, int64_t cautious) { field = field > 0 ? field : cautious; };
  use(caches.l1d, 32 * 1024);
  use(caches.l2, 256 * 1024);
  use(caches.line, 64);
}

} // namespace

Caches caches_from_folder(const std::filesystem::path& folder) {
  Caches caches;
  for (int k = 0; k < 8; ++k) {
    const auto index = folder / ("index" + std::to_string(k));
    if (first_line(index / "type") == "Instruction")
      continue;
    const std::string level = first_line(index / "level");
    const int64_t size = size_from_text(first_line(index / "size"));
    if (level == "1")
      caches.l1d = size;
    else if (level == "2")
      caches.l2 = size;
    else if (level == "3")
      caches.l3 = size;
    else
      continue;
    const int64_t line = size_from_text(first_line(index / "coherency_line_size"));
    caches.line = line > 0 ? line : caches.line;
  }
  return caches;
}

Cpu detect_cpu() {
  Cpu cpu;
  cpu.name = host_name();
  cpu.arch = kHostArch;
  cpu.features = host_features();
  cpu.cores = usable_cores();
  cpu.caches = caches_from_folder("/sys/devices/system/cpu/cpu0/cache");
  fill_gaps(cpu.caches);
  set_vector_shape(cpu);
  return cpu;
}

} // namespace kawara::target
