#pragma once

#include "kernel/gpu/chain/chain_shape.h"
#include "kernel/gpu/warpgroup/tile_elements.h"

namespace kawara::kernel {

/// What a thread keeps for a chain: filled while it is built.
struct ChainRegisters {
  std::vector<uint32_t> buffers; ///< private
  Block counters;                ///< variables that go on over all tiles of a block
};

/// Nests of a chain, each thread doing the elements that it has.
class ChainNests {
public:
  /// Tiles have that many `rows`; `widths` are those of chain_widths.
  ChainNests(Kernel& kernel, const ChainForm& form, TileElements& elements,
             ChainRegisters& registers, int64_t rows, const std::map<uint32_t, int64_t>& widths)
      : kernel_(kernel), form_(form), elements_(elements), registers_(registers), rows_(rows),
        widths_(widths), mask_(chain_mask(form)) {}

  Block run(const ChainNest&);
  /// What has to be true of a product's operand that is a buffer of the block: zeros outside its
  /// bounds.
  Block prepare(const ChainProduct&);
  uint32_t add_private(const std::string& name, scalar::Elem, int64_t elements);

private:
  Block zeros_outside(const TileNest&, int64_t width);
  Block combine(const TileNest&, int64_t width);
  Store with_known_scalars(Store);

  Kernel& kernel_;
  const ChainForm& form_;
  TileElements& elements_;
  ChainRegisters& registers_;
  int64_t rows_;
  const std::map<uint32_t, int64_t>& widths_;
  std::optional<ChainMask> mask_;
  std::vector<std::pair<Expr, uint32_t>> scalars_;
};

} // namespace kawara::kernel
