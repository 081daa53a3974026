#pragma once

#include "schedule/auto_product.h"
#include "schedule/register_tile.h"

namespace kawara::schedule {

/// How threads share a product's result: in so many blocks of rows and of columns.
struct ThreadGrid {
  int64_t row_parts = 1, column_parts = 1;
  /// The blocks of all iterations of the outer loops are the iterations of one parallel loop. What several blocks read is
  /// copied before it. Otherwise threads share the outermost loop or the rows.
  bool is_one_loop = false;
};

/// Threads that a product is worth: all cores, or one. `speed`: multiplications at a time, relative to plain vectors.
int64_t threads_for(const Product&, const target::Cpu&, double speed);

/// Whether operands are copied for the product.
struct Copies {
  bool left = false, right = false;
};

/// Whether blocks of rows and columns can be shared at all; threads share one loop of the nest otherwise.
bool may_share_blocks(const Product&);
/// Whether that loop is the outermost, of which there are enough iterations: nothing else is cut for threads.
bool shares_outermost(const Product&);

/// The grid that keeps that many threads busy with the fewest steps, edges and what blocks read counted.
ThreadGrid thread_grid(const Product&, const RegisterTile&, int64_t lanes, int64_t element_bytes,
                       const Copies&, double speed, int64_t threads, const target::Cpu&);

/// The least number of blocks of columns, not below `least`, that with `outer` iterations of other loops for each of them
/// leaves few threads waiting; `least` where there is none.
int64_t even_blocks(int64_t least, int64_t most, int64_t outer, int64_t threads);

} // namespace kawara::schedule
