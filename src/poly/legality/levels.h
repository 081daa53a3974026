#pragma once

#include "poly/row_pairs.h"
#include "poly/syntactic/prover.h"

#include <optional>
#include <vector>

namespace kawara::poly {

/// What an order does to pairs of iterations of two statements, step by step. Every level is worked
/// out once: the order, the parallel loops and the lanes all ask for the pairs that agree in the
/// steps above.
class Levels {
public:
  Levels(const Scop&, const isl::map& pairs, StmtId source, StmtId sink, std::vector<Step> steps);

  /// Pairs that agree in the first steps.
  const isl::map& tied(size_t steps);
  /// Those whose source comes later at a step.
  const isl::map& late(size_t step);
  /// Those whose source comes earlier.
  isl::map early(size_t step);
  /// Those less than `width` iterations ahead.
  isl::map early_within(size_t step, int64_t width);

  const isl::map& none() const { return none_; }
  const std::vector<Step>& steps() const { return steps_; }
  /// The step that the loop at this depth is by itself; nothing when it decides nothing.
  std::optional<size_t> step_at(size_t depth) const;

private:
  bool is_none(size_t step) const { return is_over_ && step + 1 >= tied_.size(); }

  RowPairs rows_;
  std::vector<Step> steps_;
  isl::map none_;
  std::vector<isl::map> tied_, late_;
  bool is_over_ = false; ///< the last of `tied_` is empty, hence all that would follow
};

/// Whether all pairs agree in the `depth` outermost rows.
bool agree_above(const Scop&, const Order&, const isl::map& pairs, StmtId source, StmtId sink,
                 size_t depth);

/// Those of the pairs whose source runs before the sink, where these steps and then the sequence
/// decide that.
isl::map pairs_in_order(const Scop&, const isl::map& pairs, StmtId source, StmtId sink,
                        const std::vector<Step>& steps, int order);

} // namespace kawara::poly
