#pragma once

#include "kernel/kernel.h"

#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace kawara::estimate {

/// An index: a constant, multiples of variables, and multiples of what is no plain variable.
struct Place {
  int64_t constant = 0;
  std::vector<std::pair<uint32_t, int64_t>> variables;
  std::vector<std::pair<scalar::Expr, int64_t>> others;
};

/// `count` runs of `bytes` each, `stride` bytes apart, counted from the start of a buffer.
struct Access {
  enum class Kind : uint8_t { Load, Store, Request };
  Kind kind = Kind::Load;
  uint32_t buffer = 0;
  Place at; ///< in bytes
  int64_t bytes = 0, count = 1, stride = 0;
  std::optional<scalar::Expr> guard; ///< where it happens under a condition
};

struct AccessStep;
using AccessCode = std::vector<AccessStep>;

struct AccessLoop {
  uint32_t var = 0;
  Place lo, hi;
  int64_t step = 1;
  AccessCode body;
};
struct AccessBranch {
  scalar::Expr cond;
  AccessCode then, otherwise;
};
struct AccessSet {
  uint32_t var = 0;
  Place value;
};
struct AccessStep {
  std::variant<Access, AccessLoop, AccessBranch, AccessSet> step;
};

struct Accesses {
  std::vector<AccessCode> parts; ///< one for each statement of the body
  int64_t assumed = 0;           ///< conditions on data; they are taken to hold
};

/// What a kernel does to memory, in its order, and nothing else. Loads that were done before in the
/// same run of statements, with nothing stored to the buffer since, are left out. Nothing where an
/// address or a bound depends on data, or the kernel is one for a GPU.
std::optional<Accesses> accesses_of(const kernel::Kernel&, std::span<const int64_t> params);

} // namespace kawara::estimate
