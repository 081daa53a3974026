#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::target {

enum class Arch : uint8_t { Aarch64, X86_64 };
std::string_view name_of(Arch);

/// Instruction sets that change what code is generated.
enum class Feature : uint8_t {
  Neon,
  Fp16,
  Dotprod,
  I8mm,
  Bf16,
  Sve, // aarch64
  Sse2,
  Avx2,
  Fma,
  Avx512f,
  Avx512vnni,
  Avx512bf16,
  Avx512fp16,
  AmxBf16,
  AmxInt8, // x86-64
};
inline constexpr uint32_t kFeatureCount = 15;
std::string_view name_of(Feature); ///< "neon", "avx512f", "amx_bf16"

/// A set of features.
class Features {
public:
  Features() = default;
  Features(std::initializer_list<Feature> features) {
    for (const Feature f : features)
      add(f);
  }
  bool has(Feature f) const { return (bits_ >> static_cast<uint32_t>(f) & 1U) != 0; }
  void add(Feature f) { bits_ |= 1U << static_cast<uint32_t>(f); }
  std::vector<std::string> names() const; ///< in the order of the enumeration
  friend bool operator==(const Features&, const Features&) = default;

private:
  uint32_t bits_ = 0;
};

/// Sizes in bytes as one core sees them; 0 where there is no such cache.
struct Caches {
  int64_t l1d = 0;
  int64_t l2 = 0;
  int64_t l3 = 0;
  int64_t line = 0;
  friend bool operator==(const Caches&, const Caches&) = default;
};

/// The facts about a processor that schedules and code depend on. Data, no behaviour.
struct Cpu {
  std::string name; ///< for people: "neoverse-n1", a vendor's brand string
  Arch arch = Arch::Aarch64;
  Features features;
  int64_t vector_bytes = 16;     ///< widest vector register that is used
  int64_t vector_registers = 32; ///< architectural, of that width
  int64_t cores = 1;             ///< that this process may use
  Caches caches;
};

/// The machine this runs on. What cannot be found out is filled with cautious values, so every
/// field but `l3` is positive.
Cpu detect_cpu();

/// A fixed machine, for tests and for output that must not depend on the host; nothing for a name
/// that is not in `named_cpus()`.
std::optional<Cpu> named_cpu(std::string_view name);
std::vector<std::string> named_cpus();

/// Caches described by a folder in the form of /sys/devices/system/cpu/cpu0/cache; 0 where it says
/// nothing or nonsense.
Caches caches_from_folder(const std::filesystem::path& folder);

/// `vector_bytes` and `vector_registers` follow from the architecture and the features.
void set_vector_shape(Cpu&);

/// Whether the processor adds and multiplies f16, twice as many at a time as f32.
bool has_f16_arithmetic(const Cpu&);

/// Bytes of the smallest element that a load brings into all lanes by itself; smaller ones take a
/// unit that computes besides.
int64_t least_broadcast(const Cpu&);

/// Lanes of an element of `element_bytes` bytes in one vector register; at least 1.
int64_t vector_lanes(const Cpu&, int64_t element_bytes);

/// A table of all fields, one per line; sizes as "64 KiB".
std::string print(const Cpu&);

} // namespace kawara::target
