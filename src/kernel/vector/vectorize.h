#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// What becomes of the iterations that fill no vector, where their number is known: narrower
/// vectors, of registers as long as they fill some, then one of the lanes that are left; or one by
/// one.
enum class Rest : uint8_t { NarrowVector, OneByOne };

/// Loops marked vector(W) do W iterations at once, statement by statement; what is left runs one by
/// one, or as a narrower vector (`Rest`).
///
///   before   for j in range(0, N):  # vector(4)
///              C[i, j] += A[i, k] * B[k, j]
///   after    let j_rest = N // 4 * 4
///            for j in range(0, j_rest, 4):
///              C[i, ramp(j, 1, 4)] += broadcast(A[i, k], 4) * B[k, ramp(j, 1, 4)]
///            for j in range(j_rest, N): ...
///
/// A known multiple of W has no rest, and of fewer iterations than W there is nothing else; few
/// vectors (kMaxVectors, fewer of exp and the like) are written out without a loop. An update of
/// one element by all lanes goes through vector accumulators, several of them so that additions
/// need not wait for each other, and is combined once after the loop. Where other statements or
/// functions need the registers (of `register_bytes`; 0: not known), there is one, and lanes of a
/// sum are added up until they fill two registers. A statement whose store is no vector store runs
/// lane by lane between the others; a loop of such statements alone stays as it is, but for
/// `Rest::OneByOne`. Selects that differ from lane to lane compute both
/// arms where their loads may always be done (if_convert.h). Loops with inner loops, with
/// conditions that differ from lane to lane, or with definitions of indices, stay as they are.
Kernel vectorize(Kernel, Rest, int64_t register_bytes = 0);

inline constexpr int64_t kMaxVectors = 8;

} // namespace kawara::kernel
