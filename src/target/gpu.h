#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::target {

/// Multiply-adds count as two operations; per second, dense, whole chip.
struct GpuRates {
  double f64 = 0, f32 = 0;                            ///< without tensor cores
  double tf32 = 0, bf16 = 0, f16 = 0, f8 = 0, i8 = 0; ///< tensor cores; 0: there are none
  friend bool operator==(const GpuRates&, const GpuRates&) = default;
};

/// The facts about an NVIDIA GPU that schedules and code depend on. Data, no behaviour.
struct Gpu {
  std::string name; ///< for people: "NVIDIA H200"
  std::string arch; ///< what code is made for: "sm_90a"
  int64_t multiprocessors = 0;
  int64_t shared_per_block = 0;          ///< bytes a block can ask for
  int64_t shared_per_multiprocessor = 0; ///< bytes
  int64_t registers_per_multiprocessor = 0;
  int64_t registers_per_thread = 0; ///< at most
  int64_t threads_per_multiprocessor = 0;
  int64_t l2 = 0;       ///< bytes
  double bandwidth = 0; ///< bytes per second to device memory, read and written
  GpuRates rates;
};

/// A GPU by the architecture that code is made for, with the figures of its largest common card;
/// nothing for one that is not in `named_gpus()`.
std::optional<Gpu> named_gpu(std::string_view arch);
std::vector<std::string> named_gpus();

/// A table of all fields, one per line.
std::string print(const Gpu&);

} // namespace kawara::target
