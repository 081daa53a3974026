#pragma once

#include "tune/space/structure.h"

#include <optional>
#include <vector>

namespace kawara::tune {

using DirectiveList = std::vector<Directive>;

/// A part of a loop that was cut: "i.0" of "i".
LoopName part_of(LoopName loop, const char* suffix);
void append(DirectiveList& list, DirectiveList more);

/// Directive lists for one nest of a structure; nothing where a rule does not apply. The structure,
/// the nest and the environment must outlive it.
class NestRules {
public:
  NestRules(const Structure& structure, const KnownNest& nest,
            const schedule::Environment& environment);

  /// Vectors along the loop that walks memory, threads outside.
  DirectiveList lanes() const;
  /// Blocks of every loop that may move; the vector loop innermost, the longest other one unrolled.
  DirectiveList tiles() const;
  /// Ansor's S S R S R S: blocks of the result, blocks of the reduction, registers. `is_packed`:
  /// with copies of the operands, each at the loop outside which it is used again.
  DirectiveList levels(bool is_packed) const;
  /// Partial results by lane, or by thread.
  DirectiveList partial(bool for_threads) const;
  /// Blocks of the first `depth` loops outside all others, the vector loop innermost: what
  /// neighbouring nests need to share the loops over blocks.
  DirectiveList blocks(size_t depth) const;

  LoopName name(size_t k) const { return name_in(structure_, nest_, k); }
  bool is_parallel_after(size_t k) const {
    return nest_.is_outermost && nest_.facts.is_parallel[k];
  }

private:
  size_t size() const { return nest_.nest.loops.size(); }
  std::optional<size_t> along_memory() const;
  std::optional<size_t> row_loop() const;
  std::optional<size_t> depth_loop() const;
  DirectiveList lanes_along(size_t v) const;
  DirectiveList packs(size_t v, size_t r, size_t k) const;

  const Structure& structure_;
  const KnownNest& nest_;
  const schedule::NestFacts& facts_;
  const schedule::Environment& environment_;
  int64_t lanes_;
};

} // namespace kawara::tune
