#pragma once

#include "run/cpu/threads.h"
#include "support/result.h"
#include "target/cpu.h"

#include <memory>
#include <optional>
#include <string>

namespace kawara::run {

/// Measured limits of the machine. FLOPs and bytes per second.
struct MachineLimits {
  int64_t threads = 1; ///< behind the `all` members
  double f32_flops_one = 0;
  double f32_flops_all = 0;
  double f64_flops_one = 0;
  double f64_flops_all = 0;
  double l1_bytes = 0; ///< one thread, data in that cache; 0 where there is none
  double l2_bytes = 0;
  double l3_bytes = 0;
  double memory_bytes_one = 0;
  double memory_bytes_all = 0;
  friend bool operator==(const MachineLimits&, const MachineLimits&) = default;
};

/// Measures in about half a second: multiply-adds on independent accumulators, and `a = b*s + c`
/// over arrays that fit each cache or none. Writes and reads count their bytes once.
MachineLimits probe_machine(const target::Cpu&, const std::shared_ptr<ThreadPool>&);

/// For keeping between runs. Nothing comes back from text that is not such a record.
std::string to_json(const MachineLimits&);
std::optional<MachineLimits> limits_from_json(const std::string& text);

} // namespace kawara::run
