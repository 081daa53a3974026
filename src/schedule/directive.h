#pragma once

#include "poly/axis.h"
#include "scalar/type.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kawara::schedule {

/// A loop as the user names it: `i`, `i.0`, or `S1.i` where the name occurs in several nests.
struct LoopName {
  std::optional<std::string> statement;
  std::string loop;
  friend bool operator==(const LoopName&, const LoopName&) = default;
};

// One struct per directive; what each does, needs and refuses stands on the card in its header
// (split.h, tile.h, ...).
struct Split {
  LoopName loop;
  int64_t size = 0;
  friend bool operator==(const Split&, const Split&) = default;
};
struct Tile {
  std::vector<std::pair<LoopName, int64_t>> loops;
  friend bool operator==(const Tile&, const Tile&) = default;
};
struct Interchange {
  LoopName a, b;
  friend bool operator==(const Interchange&, const Interchange&) = default;
};
struct Reorder {
  std::vector<LoopName> loops;
  friend bool operator==(const Reorder&, const Reorder&) = default;
};
struct Skew {
  LoopName loop, by;
  int64_t factor = 1;
  friend bool operator==(const Skew&, const Skew&) = default;
};
struct Shift {
  LoopName loop;
  int64_t amount = 0;
  friend bool operator==(const Shift&, const Shift&) = default;
};
struct Reverse {
  LoopName loop;
  friend bool operator==(const Reverse&, const Reverse&) = default;
};
struct Coalesce {
  LoopName outer, inner;
  friend bool operator==(const Coalesce&, const Coalesce&) = default;
};
struct Fuse {
  LoopName a, b;
  friend bool operator==(const Fuse&, const Fuse&) = default;
};
struct Distribute {
  LoopName loop;
  friend bool operator==(const Distribute&, const Distribute&) = default;
};
/// A statement and where it runs: `S0[0, i, 1, j+1, 0]`.
struct ArrangedStatement {
  /// A loop around the statement, and what is added to its value.
  struct Around {
    std::string loop;
    int64_t shift = 0;
    friend bool operator==(const Around&, const Around&) = default;
  };
  std::string statement;
  std::vector<Around> loops;   ///< outermost first
  std::vector<int64_t> places; ///< before the first loop, and in the body of each
  friend bool operator==(const ArrangedStatement&, const ArrangedStatement&) = default;
};
struct Arrange {
  std::vector<ArrangedStatement> statements;
  friend bool operator==(const Arrange&, const Arrange&) = default;
};
struct Cut {
  LoopName loop;
  int64_t at = 0;
  friend bool operator==(const Cut&, const Cut&) = default;
};
struct Isolate {
  LoopName loop;
  friend bool operator==(const Isolate&, const Isolate&) = default;
};
struct ComputeAt {
  std::string statement;
  LoopName loop;
  friend bool operator==(const ComputeAt&, const ComputeAt&) = default;
};
/// Dimension `dim` gets the next multiple of `to` as its extent.
struct RoundedDim {
  int64_t dim = 0, to = 1;
  friend bool operator==(const RoundedDim&, const RoundedDim&) = default;
};
struct Stage {
  std::string tensor;
  LoopName loop;
  std::optional<int64_t> panel, width; ///< both or none
  std::vector<RoundedDim> rounded =
      {}; ///< in the order of the dimensions; not empty: zeros fill the buffer up
  friend bool operator==(const Stage&, const Stage&) = default;
};
struct Pack {
  std::string tensor;
  std::optional<LoopName> loop;                    ///< none: once, before everything that reads
  std::optional<scalar::Elem> type = std::nullopt; ///< of the buffer; none: the tensor's
  std::optional<std::string> reader = {}; ///< the statement whose reads count; none: all reads
  friend bool operator==(const Pack&, const Pack&) = default;
};
struct StoreAt {
  std::string tensor;
  LoopName loop;
  friend bool operator==(const StoreAt&, const StoreAt&) = default;
};
struct StoreIn {
  std::string tensor, other;
  friend bool operator==(const StoreIn&, const StoreIn&) = default;
};
/// One dimension of a layout, made from dimension `dim` of the tensor.
struct LayoutPart {
  enum class Kind : uint8_t {
    Whole,  ///< `d1`
    Blocks, ///< `d1/16`: which block of 16
    Inside, ///< `d1%16`: where in its block
  };
  int64_t dim = 0;
  Kind kind = Kind::Whole;
  int64_t block = 1;
  friend bool operator==(const LayoutPart&, const LayoutPart&) = default;
};
struct Layout {
  std::string tensor;
  std::vector<LayoutPart> parts;                   ///< outermost first
  std::optional<scalar::Elem> type = std::nullopt; ///< of the elements there; none: the tensor's
  friend bool operator==(const Layout&, const Layout&) = default;
};
struct Pad {
  std::string tensor;
  int64_t dim = 0;
  int64_t by = 0;
  std::optional<int64_t> to = std::nullopt; ///< instead of `by`: up to a multiple, with zeros
  friend bool operator==(const Pad&, const Pad&) = default;
};
struct Extend {
  LoopName loop;
  int64_t to = 1;
  friend bool operator==(const Extend&, const Extend&) = default;
};
struct Fold {
  std::string tensor;
  LoopName loop;
  std::optional<int64_t> size; ///< none: the smallest that keeps what is live
  friend bool operator==(const Fold&, const Fold&) = default;
};
struct Promote {
  std::string tensor;
  LoopName loop;
  friend bool operator==(const Promote&, const Promote&) = default;
};
struct Prefetch {
  std::string tensor;
  LoopName loop;
  int64_t ahead = 1;
  friend bool operator==(const Prefetch&, const Prefetch&) = default;
};
struct Inline {
  std::string statement;
  friend bool operator==(const Inline&, const Inline&) = default;
};
struct Unroll {
  LoopName loop;
  std::optional<int64_t> factor;
  friend bool operator==(const Unroll&, const Unroll&) = default;
};
struct UnrollAndJam {
  LoopName loop;
  int64_t factor = 0;
  friend bool operator==(const UnrollAndJam&, const UnrollAndJam&) = default;
};
struct Vectorize {
  LoopName loop;
  std::optional<int64_t> width;
  friend bool operator==(const Vectorize&, const Vectorize&) = default;
};
struct Parallel {
  LoopName loop;
  friend bool operator==(const Parallel&, const Parallel&) = default;
};
struct Tensorize {
  LoopName loop;
  std::string instruction;
  friend bool operator==(const Tensorize&, const Tensorize&) = default;
};
struct Bind {
  LoopName loop;
  poly::Axis axis = poly::Axis::None;
  friend bool operator==(const Bind&, const Bind&) = default;
};
struct Pipeline {
  LoopName loop;
  int64_t stages = 2;
  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};
struct Rfactor {
  LoopName loop;
  std::optional<scalar::Elem> type = std::nullopt; ///< of the partial results; none: the tensor's
  friend bool operator==(const Rfactor&, const Rfactor&) = default;
};
struct Online {
  std::vector<LoopName> loops; ///< two or more
  friend bool operator==(const Online&, const Online&) = default;
};
struct Auto {
  friend bool operator==(const Auto&, const Auto&) = default;
};
struct Group;

using Directive =
    std::variant<Split, Tile, Interchange, Reorder, Skew, Shift, Reverse, Coalesce, Fuse,
                 Distribute, Arrange, Cut, Isolate, ComputeAt, Stage, Pack, StoreAt, StoreIn,
                 Layout, Pad, Extend, Fold, Promote, Prefetch, Inline, Unroll, UnrollAndJam,
                 Vectorize, Tensorize, Parallel, Bind, Pipeline, Rfactor, Online, Auto, Group>;

/// `[d; d; ...]`: judged as a whole, after the last.
struct Group {
  std::vector<Directive> members;
  friend bool operator==(const Group&, const Group&);
};

} // namespace kawara::schedule
