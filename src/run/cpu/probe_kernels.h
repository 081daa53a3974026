#pragma once

#include "kernel/kernel.h"
#include "run/cpu/executable.h"
#include "target/intrinsic.h"

#include <memory>
#include <vector>

namespace kawara::run {

/// A block of accumulators: rows times vectors a row.
struct ProbeTile {
  scalar::Elem elem = scalar::Elem::F32;
  uint16_t lanes = 1;
  int64_t vectors = 1;
  int64_t rows = 1;
};

inline constexpr int64_t kProbeDepth = 64; ///< of the multiply-add loop

/// For each thread t a small matrix product in registers: kProbeDepth * kProbeDepth times
/// acc[r, c] += a[r] * b[k, c], the columns c in vectors. The right operand changes from step to
/// step, so that no product can be made outside the loop; the left one stays in registers, so that
/// loads do not set the pace. Arguments a, b, out; parameter threads.
kernel::Kernel multiply_add_kernel(const ProbeTile&);

/// The same loop around one instruction: `sums` accumulators, each of which takes one instruction a
/// step. Arguments a, b (as long as one register each), out; parameter threads.
kernel::Kernel instruction_kernel(const target::Intrinsic&, int64_t sums);

/// Of the operand or result of the instruction that takes the most room: a vector, or a tile of
/// many.
int64_t largest_register_bytes(const target::Intrinsic&);

/// Ways to go through arrays of f32 from end to end.
enum class Stream : uint8_t {
  Read,  ///< s += a[i]
  Write, ///< a[i] = s
  Copy,  ///< a[i] = b[i]
  Triad, ///< a[i] = b[i] * s + c[i]
};
int64_t arrays_of(Stream);

/// For each thread t, `repeats` times one walk over n elements of arrays [threads, n]; n is a
/// multiple of the elements per iteration. Arguments a, b, c, s; parameters threads, repeats, n. Of
/// b, Read takes an element for each element per iteration and thread, where it adds up.
kernel::Kernel stream_kernel(Stream, const ProbeTile&);

Executable loaded_probe(const kernel::Kernel&, const std::shared_ptr<ThreadPool>&);

/// Seconds of the fastest sample within `seconds`: limits are what the machine can do undisturbed.
double fastest_call(const Executable&, const std::vector<void*>& arguments,
                    const std::vector<int64_t>& params, double seconds = 0.04);

} // namespace kawara::run
