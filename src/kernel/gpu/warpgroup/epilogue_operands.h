#pragma once

#include "kernel/gpu/warpgroup/tile_elements.h"

namespace kawara::kernel {

/// Tensors that results are made of besides a product, brought to shared memory by a warp of their
/// own, panel by panel and ahead of the warps that compute: over the end of a tile, as far as the
/// ring goes.
///
///   for tile: for each panel:                      the other side (TileElements)
///     await source_empty[slot]                       await source_full[slot]
///     bulk R_panels[slot] = R, to source_full        C_tiles[...] = c[...] + R_panels[slot, ...]
///                                                    arrive at source_empty[slot]
class EpilogueOperands {
public:
  /// A tile of `rows` that leaves by the panels that begin with the columns `first`.
  EpilogueOperands(Kernel& kernel, std::vector<TileAccess> tensors, std::vector<int64_t> first,
                   int64_t rows)
      : kernel_(kernel), tensors_(std::move(tensors)), first_(std::move(first)), rows_(rows) {}

  /// Chooses how many `stages` of `stage` bytes and how many panels there shall be in `room` bytes,
  /// and leaves out tensors for which there is none. Returns the stages, no more than given.
  int64_t share(int64_t room, int64_t stage, int64_t stages);
  bool empty() const { return tensors_.empty(); }

  /// Adds the barriers, which `groups` warpgroups tell when a slot is empty, and the shared
  /// buffers; what the other side needs. Its ring is defined in `counters`.
  PanelSources add(Launch& launch, int64_t groups, Block& counters);
  Block bring(Block& counters); ///< a tile, by one thread
  std::vector<uint32_t> buffers() const;

private:
  int64_t bytes_of_slot() const;

  Kernel& kernel_;
  std::vector<TileAccess> tensors_;
  std::vector<int64_t> first_;
  int64_t rows_, slots_ = 0;
  PanelSources added_;
};

} // namespace kawara::kernel
