#pragma once

#include "kernel/gpu/warpgroup/epilogue_operands.h"

namespace kawara::kernel {

/// The nests around a product's reduction: results begin in each thread's private buffer, and leave
/// it through what the nests compute.
class TileResults {
public:
  /// `part`: the private buffer that stands for the result. Tiles have `rows` and `columns`.
  TileResults(Kernel& kernel, const Launch& launch, const CollectiveForm& form, uint32_t part,
              int64_t rows, int64_t columns)
      : kernel_(kernel), form_(form), elements_(kernel, launch, rows), rows_(rows),
        columns_(columns) {
    elements_.set_part(form.result.buffer, {part, TilePart::Form::Elements});
    elements_.allow_copied_panels();
  }

  /// What the first nest after the reduction that reads such tensors reads of them
  /// (TileElements::sources_of), for its panels.
  EpilogueOperands sources() const;
  void set_sources(PanelSources sources);
  Block before();                 ///< the reduction
  Block ask_ahead() const;        ///< for what the nests after it read (TileElements::ask_ahead)
  Block after(bool keeps_result); ///< it; with the result itself if something else reads it
  Block at_end() const { return elements_.at_end(); } ///< of a block's last tile
  std::optional<uint32_t> buffer() const {
    return elements_.buffer();
  } ///< shared, if one is needed

private:
  TileNest copy_of_result() const;
  const TileNest* nest_with_sources() const;

  Kernel& kernel_;
  const CollectiveForm& form_;
  TileElements elements_;
  int64_t rows_, columns_;
};

} // namespace kawara::kernel
