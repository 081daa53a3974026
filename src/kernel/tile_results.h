#pragma once

#include "kernel/collective_form.h"

namespace kawara::kernel {

/// The nests around a product's reduction, each thread doing the cells of the tile that it has
/// (fragment.h): results begin in its private buffer, and leave it through what the nests compute.
///
/// A tensor that the copy engine can write gets its cells by way of a shared buffer, 128 bytes of each row at a
/// time and two such panels in turns, so that the next tile's products run while they are written.
class TileResults {
public:
  /// `part`: the private buffer that stands for the result. Tiles have `rows` and `columns`.
  TileResults(Kernel& kernel, const Launch& launch, const CollectiveForm& form, uint32_t part,
              int64_t rows, int64_t columns)
      : kernel_(kernel), launch_(launch), form_(form), part_(part), rows_(rows), columns_(columns) {
  }

  Block before();                 ///< the reduction
  Block after(bool keeps_result); ///< it; with the result itself if something else reads it
  Block at_end() const;           ///< of a block's last tile
  std::optional<uint32_t> buffer() const { return panels_; } ///< shared, if one is needed

private:
  /// A nest, and where the result's cells are for it: in the private buffer, or in the tensor.
  struct Work {
    TileNest nest;
    bool loads_part = true, stores_part = true;
  };
  /// Columns from `first` on, in groups of eight.
  struct Columns {
    int64_t first = 0, count = 0;
  };
  /// One panel of the shared buffer.
  struct Panel {
    Expr number;
    int64_t width = 0;
  };
  Block run(const Work&);
  Block through_panels(const Work&, const TileAccess& to, int64_t width);
  std::optional<TileAccess> bulk_target(const Work&) const;
  Block cells(const Work&, const Columns&, const std::optional<Panel>&);
  Block pair_of_cells(const Work&, const Expr& group, const Expr& half,
                      const std::optional<Panel>&);
  TileNest copy_of_result() const;
  bool is_private(const Work&) const;
  Expr leader() const;

  Kernel& kernel_;
  const Launch& launch_;
  const CollectiveForm& form_;
  uint32_t part_;
  int64_t rows_, columns_;
  std::optional<uint32_t> panels_;
};

/// A name that no buffer has.
std::string unique_buffer_name(const Kernel&, const std::string& name);

} // namespace kawara::kernel
