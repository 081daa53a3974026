#pragma once

#include <cstdint>

namespace kawara::emit {

/// Part of a parallel loop: its iterations from `begin` (one of the loop's own values) up to `end`.
/// `thread` counts from 0 and is below the number of threads that scratch memory was planned for.
using ParallelBody = void (*)(void* env, int64_t begin, int64_t end, int64_t thread);

/// How the iterations of a parallel loop are handed out.
enum class Partition : int64_t {
  Static = 0,  ///< a contiguous share per thread, in a few pieces
  Dynamic = 1, ///< small contiguous pieces, taken by whoever is free: for uneven iterations
};

/// What generated code may call. Generated code knows the order of the members: see
/// emit/llvm/parallel.cpp and emit/llvm/stmt.cpp.
struct RuntimeApi {
  /// Runs lo, lo+step, ... < hi, cut into calls of `body`; returns when all have finished.
  void (*parallel_for)(const RuntimeApi*, int64_t lo, int64_t hi, int64_t step, Partition,
                       ParallelBody body, void* env);
  /// The calling thread's block for the private buffers of `Signature::scratch`.
  void* (*scratch)(const RuntimeApi*, int64_t thread);
  /// Not 0: the workspaces hold what an earlier call with the same constants prepared.
  int64_t is_prepared = 0;
};

/// Entry of a compiled kernel: argument buffers then workspace buffers, in the signature's order.
using KernelFunction = void (*)(void* const* buffers, const int64_t* params, const RuntimeApi*);

} // namespace kawara::emit
