#pragma once

#include "schedule/auto/product/product.h"
#include "schedule/auto/product/register_tile.h"

namespace kawara::schedule {

/// How threads share a product's result: in so many blocks of rows and of columns.
struct ThreadGrid {
  int64_t row_parts = 1, column_parts = 1;
  /// The blocks of all iterations of the outer loops are the iterations of one parallel loop. What
  /// several blocks read is copied before it. Otherwise threads share the outermost loop or the
  /// rows.
  bool is_one_loop = false;
};

/// Threads that a product is worth: all cores, or one. `speed`: multiplications at a time, relative
/// to plain vectors.
int64_t threads_for(const Product&, const target::Cpu&, double speed);

/// Whether operands are copied for the product.
struct Copies {
  bool left = false, right = false;
  int64_t left_elements = 1; ///< that an element of the left one becomes
};

/// Whether blocks of rows and columns can be shared at all; threads share one loop of the nest
/// otherwise.
bool may_share_blocks(const Product&);
/// How many outer loops, from the outermost, that one loop counts through: those that have
/// iterations enough for so many threads, so that nothing else is cut for them. 0 where there are
/// not.
size_t shared_outer_loops(const Product&, int64_t threads);

/// The grid that keeps that many threads busy with the fewest steps, edges and what blocks read
/// counted.
ThreadGrid thread_grid(const Product&, const RegisterTile&, int64_t lanes, int64_t element_bytes,
                       const Copies&, double speed, int64_t threads, const target::Cpu&);

/// The least number of blocks of columns, not below `least`, that with `outer` iterations of other
/// loops for each of them leaves few threads waiting; `least` where there is none.
int64_t even_blocks(int64_t least, int64_t most, int64_t outer, int64_t threads);

} // namespace kawara::schedule
