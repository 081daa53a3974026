#pragma once

#include "kernel/gpu/warpgroup/collective_form.h"

#include <map>
#include <variant>

namespace kawara::kernel {

/// A store to all elements of the tile's rows and columns, or to all rows (`columns` empty). A
/// store to a buffer of rows inside columns combines along the row.
struct ChainNest {
  TileAxis rows;
  std::optional<TileAxis> columns;
  Store store;
};

/// A product by a collective instruction. `a` may be a buffer of the block.
struct ChainProduct {
  const program::Instruction* instruction = nullptr;
  TileAxis rows, columns, depth;
  TileAccess a, b, result; ///< as in CollectiveForm
};

using ChainItem = std::variant<ChainNest, ChainProduct>;

/// Where a buffer of the block has the tile's rows, and its columns; one of rows alone has none.
struct ChainBuffer {
  size_t row = 0;
  std::optional<size_t> column;
};

/// What a block does for its rows of a chain of products: blocks of columns one after the other,
/// each with products, arithmetic on their results and combinations along rows.
///
///   `before`        m[i] = -inf, total[i] = 0, acc[i, d] = 0
///   for k_0:  `inside`
///                   s[i, j] = 0
///                   s[i, j] += Q[i_0 + i, d] * K[k_0 + j, d]       # wgmma...
///                   m[i] max= s[i, j]
///                   p[i, j] = exp(s[i, j] - m[i]) ...
///                   acc[i, d] += p[i, j] * V[k_0 + j, d]           # wgmma...
///   `after`         out[i_0 + i, d] = acc[i, d] / total[i]
struct ChainForm {
  std::vector<ChainItem> before, inside, after;
  For steps;                               ///< the loop around `inside`, its body left out
  std::map<uint32_t, ChainBuffer> buffers; ///< of the block, which only it touches
};

/// The body of a launch of one thread as such a form, with two products or more; nothing when it is
/// another. Where all columns are one block, `steps` is a loop of one iteration over a new
/// variable.
std::optional<ChainForm> chain_form(Kernel&, const Launch&);

/// Buffers that an item loads or stores.
std::set<uint32_t> touched_by(const ChainItem&);

} // namespace kawara::kernel
