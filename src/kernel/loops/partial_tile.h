#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// A loop of a register tile whose bounds are constant where `conditions` hold.
struct TileLoop {
  uint32_t var = 0;
  int64_t lo = 0, hi = 0;
  std::vector<Expr> conditions;
};

/// The nest of a register tile where not all of its loops are full, as smaller tiles that keep
/// their elements in registers over the reduction as well: the loops that are short move out of it,
/// a vector at a time, then element by element.
///
///   before   for k: for i in range(0, min(8, M - 8*i_0)):
///              for j in range(0, min(12, N - 12*j_0)): S
///   after    if M - 8*i_0 >= 8:
///              for j_v in range(0, j_rest, 4):
///                for k: for i in range(0, 8): for j in range(j_v, j_v + 4): S
///              for j in range(j_rest, min(12, ...)): for k: for i in range(0, 8): S
///            else:
///              for i in range(0, min(8, M - 8*i_0)): ...  the same for one row, full or not
///
/// Needs    a perfect nest with a loop that moves no store, whose statements are updates that may
///          be done in any order: of buffers that the nest does not read, with reassociation
///          allowed. Empty elsewhere.
Block partial_tile(Kernel&, const For& nest, const std::vector<TileLoop>& tile);

/// What is made of sums, in a tile that is not full: no copies of it for each row.
Stmt without_unrolled_rows(Stmt);
/// Whether something in the nest is added up.
bool has_update(const For& nest);

} // namespace kawara::kernel
