#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Which elements of a tile of `64 * warpgroups` rows the threads of a collective instruction have.
/// Threads are numbered (x, y, z) in blocks of 4 x 8 x warps, so that z is the warp:
///
///   row     16 * z + 8 * half + y          half in 0..1
///   column  8 * group + 2 * x + place      place in 0..1
///   element    4 * group + 2 * half + place   of the thread's private buffer
inline constexpr int64_t kFragmentX = 4, kFragmentY = 8, kThreadsOfWarp = 32, kWarpsOfGroup = 4,
                         kRowsOfGroup = 64;

struct FragmentPlace {
  Expr half, group, place;
};
inline Expr fragment_row(const Launch& launch, const FragmentPlace& at) {
  return scalar::var(launch.thread_vars[2]) * scalar::int_lit(16) + at.half * scalar::int_lit(8) +
         scalar::var(launch.thread_vars[1]);
}
inline Expr fragment_column(const Launch& launch, const FragmentPlace& at) {
  return at.group * scalar::int_lit(8) + scalar::var(launch.thread_vars[0]) * scalar::int_lit(2) +
         at.place;
}
inline Expr fragment_element(const FragmentPlace& at) {
  return at.group * scalar::int_lit(4) + at.half * scalar::int_lit(2) + at.place;
}

} // namespace kawara::kernel
