#pragma once

#include "poly/equalities.h"

#include <optional>
#include <vector>

namespace kawara::poly {

/// Comparisons of rows of two statements as relations on the whole of their spaces: the pairs they
/// are met with lie within the domains already, and comparisons without domains are much cheaper.
class RowPairs {
public:
  RowPairs(const Scop& scop, StmtId source, StmtId sink);

  isl::map less(const Expr& source, const Expr& sink) const;
  isl::map greater(const Expr& source, const Expr& sink) const;
  isl::map equal(const Expr& source, const Expr& sink) const;
  /// The least and the greatest distance from source to sink over all pairs and parameter values,
  /// each missing where there is no end to it; nothing where the rows have cases.
  using Distance = std::pair<std::optional<int64_t>, std::optional<int64_t>>;
  std::optional<Distance> distance(const isl::map& pairs, const Expr& source,
                                   const Expr& sink) const;

private:
  enum class Comparison : uint8_t { Less, Greater, Equal };
  isl::map compared(Comparison, const Expr& source, const Expr& sink) const;
  /// Both rows on pairs as points; nothing where one has cases.
  std::optional<std::pair<isl::aff, isl::aff>> functions(const Expr& source,
                                                         const Expr& sink) const;

  const Scop& scop_;
  StmtId source_, sink_;
  isl::space space_;
};

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
