#pragma once

#include "schedule/auto/product/product.h"

namespace kawara::schedule {

/// A nest in which a few neighbouring elements are added up for each result, and nothing else is
/// used again: a pool, a convolution of single channels, a stencil. Positions are those of the
/// nest's loops.
struct SmallWindow {
  Nest nest;
  std::vector<size_t> outer;  ///< that move the result, but for the lanes
  size_t lanes = 0;           ///< moves it to the neighbouring element
  std::vector<size_t> window; ///< that reduce
  size_t rolled = 0;          ///< of these, the outermost: the others are spelled out
  int64_t vector = 1;         ///< lanes of a vector
  int64_t width = 1;          ///< results side by side, each added up in a register
  std::optional<size_t>
      rows;           ///< of `outer`: a load that differs from lane to lane serves all of them
  int64_t height = 1; ///< of these at a time
  std::optional<int64_t> unrolled = std::nullopt; ///< steps at a time; none: spelled out whole
  poly::StmtId update() const { return nest.statements.front(); }
};

/// The loop of a window's results that runs in lanes, where `best` is what is best for any nest.
/// Neighbouring taps may look better than results with strides; but of fewer taps than lanes of a
/// line nothing runs in lanes (docs/notes/short_sums.md).
std::optional<size_t> window_lanes(const Schedule&, const Nest&, const NestFacts&,
                                   std::optional<size_t> best, const target::Cpu&);

/// The loop of the columns of a product that fill less than half of a wide vector and have so short
/// sums that lanes along these cost more to be added up than empty lanes do; none where it is no
/// such product.
std::optional<size_t> lanes_of_few_columns(const Schedule&, const Nest&, const NestFacts&,
                                           const target::Cpu&);

/// The nest as such a window, with `lanes` in lanes, `vector` of them in a vector; what so many
/// threads share best is outermost. With `may_roll`, a window that slides along the lanes and has
/// too many steps to spell out keeps its outermost loops.
std::optional<SmallWindow> small_window(const Schedule&, const Nest&, const NestFacts&,
                                        size_t lanes, int64_t vector, int64_t cores, bool may_roll);

/// The nest as a window whose loads are neighbours along a loop that its results are not: that loop
/// in lanes, and several of those results side by side that are neighbours, which are transposed
/// when they are done.
std::optional<SmallWindow> transposed_window(const Nest&, const NestFacts&, int64_t vector,
                                             int64_t registers);

/// The nest as a fused nest of the window (schedule/auto/product/product.h). Functions that become
/// dozens of operations run on more vectors at a time than a window has, in loops of their own.
std::optional<FusedNest> fused_nest_of(const Schedule&, const Nest&, const SmallWindow&);

/// Vectors side by side, each added up in a register over the whole window. `before` and `after`:
/// what starts the results and what is made of them, in the same loops.
std::vector<Directive> window_plan(const Schedule&, const SmallWindow&,
                                   const std::vector<FusedNest>& before = {},
                                   const std::vector<FusedNest>& after = {});

} // namespace kawara::schedule
