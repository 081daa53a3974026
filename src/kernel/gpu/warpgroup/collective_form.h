#pragma once

#include "kernel/kernel.h"
#include "program/interpret/instruction.h"

#include <optional>

namespace kawara::kernel {

/// A loop over one direction of a block's tile: from 0 to `hi`, at most `most` iterations.
struct TileAxis {
  uint32_t var = 0;
  Expr hi;
  int64_t most = 0;
};

/// A tensor that a tile of a product reads or writes: the element (line, other) of the tile is
/// `base` plus line along dimension `line` and the other along dimension `other`.
struct TileAccess {
  uint32_t buffer = 0;
  std::vector<Expr> base; ///< by dimension
  size_t line = 0, other = 0;
};

/// Stores to every element of the tile, in loops over its rows and columns.
struct TileNest {
  TileAxis rows, columns;
  std::vector<Store> stores;
};

/// What a block does for one tile of a product whose innermost loops run as a collective
/// instruction.
///
///   nests `before`           acc[i, j] = 0
///   for k_0: for i: for j: for k:  # wgmma...
///     acc[i, j] += A[i_0 + i, k_0 + k] * B[k_0 + k, j_0 + j]
///   nests `after`            C[i_0 + i, j_0 + j] = max(acc[i, j] + b[j_0 + j], 0)
struct CollectiveForm {
  const program::Instruction* instruction = nullptr;
  TileAxis rows, columns, depth;
  TileAccess a, b;   ///< line: rows or columns; other: depth
  TileAccess result; ///< line: rows; other: columns
  For steps; ///< the loop around the update, its body left out; one iteration when there was none
  std::vector<For> around;         ///< more such loops around that one, outermost first
  std::vector<uint32_t> allocated; ///< around all of it
  std::vector<TileNest> before, after;
};

/// The body of a launch of one thread as such a form; nothing when it is another.
std::optional<CollectiveForm> collective_form(const Kernel&, const Launch&);

/// Iterations of a loop in steps of 1, counted from 0; nothing when no constant is known to be
/// above them.
std::optional<TileAxis> axis_of(const For&);

/// Whether running `axis` up to `full` adds only elements outside the buffer: where the axis is
/// shorter, the buffer ends along that dimension of the access.
bool ends_with_buffer(const Kernel&, const TileAxis&, int64_t full, const TileAccess&,
                      size_t dimension);

/// The bounds of an axis that may be below `full`, one by one.
std::vector<Expr> short_bounds(const TileAxis&, int64_t full);

/// An access that moves by one element along `line` in one dimension, and along `other` in another.
/// `vars` are those of all loops of the tile.
std::optional<TileAccess> tile_access(uint32_t buffer, const std::vector<Expr>& index,
                                      uint32_t line, uint32_t other,
                                      const std::set<uint32_t>& vars);

/// e minus var, when e is var plus what does not depend on `vars`.
std::optional<Expr> base_of(const Expr& e, uint32_t var, const std::set<uint32_t>& vars);

} // namespace kawara::kernel
