#pragma once

#include "kernel/gpu/warpgroup/collective_form.h"
#include "kernel/gpu/warpgroup/group_parts.h"

#include <map>
#include <set>

namespace kawara::kernel {

/// A private buffer that stands for a buffer of the tile: what one thread has of it (fragment.h).
struct TilePart {
  enum class Form : uint8_t {
    Elements, ///< every element of the thread
    Rows,     ///< one element for each half; threads of the same row have the same value
    Lanes,    ///< one for each half and place: what is combined along a row, before threads are
  };
  uint32_t buffer = 0;
  Form form = Form::Elements;
};

/// Tensors that have an element for each of a result's (a residual), in shared memory: panels of
/// the tile, 128 bytes of each row, as the result leaves. A ring of them goes on over panels and
/// tiles.
struct PanelSources {
  uint32_t result = 0; ///< whose panels they follow
  std::map<uint32_t, uint32_t>
      panels; ///< by tensor: [slots, rows of the tile, elements of 128 bytes]
  /// By tensor: elements of a few groups of columns, which a thread loads before it stores any:
  /// compilers do not know that what it stores to shared memory lies elsewhere.
  std::map<uint32_t, uint32_t> ahead;
  Ring ring;
  uint32_t full = 0,
           empty = 0; ///< rows of Launch::mbarriers; a slot is empty when each warpgroup says so
};

/// Nests over a tile, each thread doing the elements that it has.
///
/// A tensor that TMA can write gets its elements by way of a shared buffer, 128 bytes of each row
/// at a time and two such panels in turns, so that the next tile's products run while they are
/// written.
class TileElements {
public:
  /// Columns whose sources are loaded at once.
  static constexpr int64_t kColumnsAhead = 16;

  /// Tiles have that many `rows`. Threads are those of `launch`.
  TileElements(Kernel& kernel, const Launch& launch, int64_t rows)
      : kernel_(kernel), launch_(launch), rows_(rows) {}

  /// There is shared memory for panels of 16 KiB a warpgroup. Then a tensor that TMA cannot write
  /// also gets its elements by way of panels: threads that have neighbouring elements of a row
  /// write them.
  void allow_copied_panels() { can_copy_ = true; }
  void set_part(uint32_t buffer, TilePart part) { parts_[buffer] = part; }
  const TilePart* part_of(uint32_t buffer) const;

  /// A nest over `columns` columns, and whether buffers that have parts are read and written there,
  /// or where they are.
  struct Work {
    TileNest nest;
    int64_t columns = 0;
    bool loads_parts = true, stores_parts = true;
  };
  Block run(const Work&);
  /// Tensors that `work` reads at the very elements of the result that it writes by panels, with
  /// elements as wide: what TMA can bring beforehand, panel by panel. Empty where results do not
  /// leave by panels.
  std::vector<TileAccess> sources_of(const Work&) const;
  /// The first column of each panel by which the result of `work` leaves.
  std::vector<int64_t> panels_of(const Work&) const;
  /// Asks the L1 for what `work` reads along its columns alone (a bias): otherwise results wait for
  /// it, panel after panel.
  Block ask_ahead(const Work&) const;
  void set_sources(PanelSources sources) { sources_ = std::move(sources); }
  /// It touches nothing but parts, and so needs no bounds.
  bool is_private(const Work&) const;
  /// Stores of `nest` to every row, its columns left out.
  Block run_rows(const TileNest& nest);
  /// For every element outside the bounds of the nest's columns: its part of the buffer becomes
  /// `value`. Only where some row of the warp has such elements.
  Block fill_outside(const TileNest& nest, int64_t columns, uint32_t buffer, const Expr& value);
  /// Whether some row of this warp ends before `columns`; nothing when none ever does.
  Expr is_partial(const TileNest& nest, int64_t columns) const;
  /// Inside the bounds of the nest's columns; nothing when all elements are.
  Expr is_inside(const TileNest& nest, int64_t columns) const;

  Block at_end() const;                                      ///< of a block's last tile
  std::optional<uint32_t> buffer() const { return panels_; } ///< shared, if one was needed

private:
  /// Columns from `first` on, in groups of eight.
  struct Columns {
    int64_t first = 0, count = 0;
  };
  /// One panel of the shared buffer.
  struct Panel {
    Expr number;
    int64_t first = 0, width = 0; ///< columns
  };
  struct Place;
  Block through_panels(const Work&, const TileAccess& to, int64_t width);
  void add_panels(const std::string& name, scalar::Elem, int64_t width, const Work&);
  static std::vector<int64_t> panels_of(const Work&, int64_t width);
  static int64_t buffers_of(const Work&,
                            int64_t width); ///< of shared memory and a warpgroup, for panels
  bool has_sources(const Work&) const;
  std::optional<TileAccess> source_of(const Work&, const scalar::Load&, int64_t bytes) const;
  std::optional<TileAccess> bulk_target(const Work&) const;
  std::optional<TileAccess> panel_target(const Work&) const;
  std::optional<uint32_t> copied_part(const Work&) const;
  Block through_copied_panels(const Work&, uint32_t source);
  bool has_pairs(const Work&) const;
  bool gains_by_panels(const Work&) const;
  For sums_to_panel(const TilePart&, const Panel&);
  Allocate rows_from_panel(const Work&, uint32_t source, const Panel&);
  Block elements(const Work&, const Columns&, const std::optional<Panel>&);
  Block elements_from_sources(const Work&, const Columns&, const Panel&);
  std::optional<uint32_t> source_element(const Expr&) const;
  Expr ahead_element(const Place&) const;
  Block pair_of_elements(const Work&, const Expr& group, const Expr& half,
                         const std::optional<Panel>&);
  Expr line_in(const Place&) const;
  Expr column_in(const Panel&, const Place&) const;
  Store placed(const Store&, const Work&, const Place&, const std::optional<Panel>&) const;
  Expr leader() const;

  Kernel& kernel_;
  const Launch& launch_;
  int64_t rows_;
  std::map<uint32_t, TilePart> parts_;
  std::set<uint32_t> partial_; ///< buffers whose parts have values within bounds only
  std::optional<uint32_t> panels_;
  std::optional<PanelSources> sources_;
  bool can_copy_ = false, is_copied_ = false; ///< by threads, panel after panel
};

} // namespace kawara::kernel
