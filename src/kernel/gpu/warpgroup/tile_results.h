#pragma once

#include "kernel/gpu/warpgroup/tile_sources.h"

namespace kawara::kernel {

/// The nests around a product's reduction: results begin in each thread's private buffer, and leave it
/// through what the nests compute.
class TileResults {
public:
  /// `part`: the private buffer that stands for the result. Tiles have `rows` and `columns`.
  TileResults(Kernel& kernel, const Launch& launch, const CollectiveForm& form, uint32_t part,
              int64_t rows, int64_t columns)
      : kernel_(kernel), form_(form), cells_(kernel, launch, rows), rows_(rows), columns_(columns) {
    cells_.set_part(form.result.buffer, {part, TilePart::Form::Cells});
  }

  /// What the first nest after the reduction that reads such tensors reads of them (TileCells::sources_of), for its panels.
  TileSources sources() const;
  void set_sources(PanelSources sources);
  Block before();                 ///< the reduction
  Block ask_ahead() const;        ///< for what the nests after it read (TileCells::ask_ahead)
  Block after(bool keeps_result); ///< it; with the result itself if something else reads it
  Block at_end() const { return cells_.at_end(); }                   ///< of a block's last tile
  std::optional<uint32_t> buffer() const { return cells_.buffer(); } ///< shared, if one is needed

private:
  TileNest copy_of_result() const;
  const TileNest* nest_with_sources() const;

  Kernel& kernel_;
  const CollectiveForm& form_;
  TileCells cells_;
  int64_t rows_, columns_;
};

} // namespace kawara::kernel
