#pragma once

#include "kernel/kernel.h"

#include <functional>

namespace kawara::kernel {

/// Copies the bodies of loops marked unroll.
///
///   before   for i in range(0, 4):  # unroll          for i in range(0, N):  # unroll(4)
///              S(i)                                     S(i)
///   after    S(0); S(1); S(2); S(3)                   for i in range(0, N // 4 * 4, 4):
///                                                       S(i); S(i + 1); S(i + 2); S(i + 3)
///                                                     for i in range(N // 4 * 4, N): S(i)
///
/// Complete unrolling needs a constant number of iterations and at most kMaxCopies statements
/// afterwards; elsewhere the loop stays. Loops that are also vectorised are left to `vectorize`.
///
/// With `Unrolled::Known`, loops stay whose bodies have loops of unknown length: triangles that are
/// cut by tiles have dozens of them, and their copies save nothing and take LLVM seconds. A branch
/// without such a loop (a full tile) is worth copies, up to kManyStores stores of the kernel.
/// Threads of a GPU have more loads under way in copies of any loop.
enum class Unrolled : uint8_t { Any, Known };
Kernel unroll(Kernel, Unrolled = Unrolled::Any);

inline constexpr int64_t kMaxCopies = 2048;
inline constexpr int64_t kManyStores = 250;

/// The body of `loop` for iterations first, first + 1, ..., count of them, starting at value `at`.
Block copies_of_body(Kernel&, const For& loop, const Expr& at, int64_t count);
/// The loop over `factor` iterations at once, whose body `copies` makes for those from a value on,
/// and then the loop as it is for what is left.
Block unroll_by(Kernel&, For loop, int64_t factor, const std::function<Block(const Expr&)>& copies);

} // namespace kawara::kernel
