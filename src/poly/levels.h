#pragma once

#include "poly/scop.h"

#include <optional>
#include <vector>

namespace kawara::poly {

/// Rows of statements under an order, as functions on the whole of their spaces: the pairs they are compared on lie within the
/// domains already, and comparisons without domains are much cheaper. Made when they are asked for.
class RowFunctions {
public:
  RowFunctions(const Scop& scop, const Order& order);
  const isl::pw_aff& at(StmtId, size_t depth);

private:
  const Scop& scop_;
  const Order& order_;
  std::vector<std::vector<std::optional<isl::pw_aff>>> made_;
};

/// By iterator of the source: the iterator of the sink that has the same name and in every pair the same value. Without
/// expression: none.
std::vector<Expr> twins_of(const Scop&, const isl::map& pairs, StmtId source, StmtId sink);

/// Which of the shared loops have the same value on both sides of every pair, seen from the text of their rows: they are
/// the same function of iterators that the pairs have in common. Nothing is decided there, and left
/// out of the sets such loops (tiles, mostly) cost nothing.
std::vector<bool> loops_in_common(const Order&, const std::vector<Expr>& twins, StmtId source,
                                  StmtId sink, size_t shared_loops);

/// What an order does to pairs of iterations of two statements, loop by loop. Every level is worked out once: the
/// order, the parallel loops and the lanes all ask for the pairs that agree in the loops above.
class Levels {
public:
  Levels(const isl::map& pairs, RowFunctions& rows, StmtId source, StmtId sink,
         std::vector<bool> in_common = {});

  /// Pairs that agree in the loops above `depth`.
  const isl::map& tied(size_t depth);
  /// Those whose source comes later at `depth`.
  const isl::map& late(size_t depth);
  /// Those whose source comes earlier at `depth`.
  isl::map early(size_t depth);
  /// Those less than `width` iterations ahead.
  isl::map early_within(size_t depth, int64_t width);

  const isl::map& none() const { return none_; }

private:
  bool is_in_common(size_t depth) const { return depth < in_common_.size() && in_common_[depth]; }
  bool is_none(size_t depth) const;

  const isl::pw_aff& source(size_t depth) { return rows_.at(source_, depth); }
  const isl::pw_aff& sink(size_t depth) { return rows_.at(sink_, depth); }

  RowFunctions& rows_;
  StmtId source_, sink_;
  std::vector<bool> in_common_;
  isl::map none_;
  std::vector<isl::map> tied_, late_;
  bool is_over_ = false; ///< the last of `tied_` is empty, hence all that would follow
};

/// Whether all pairs agree in the `depth` outermost rows.
bool agree_above(const Scop&, const Order&, const isl::map& pairs, StmtId source, StmtId sink,
                 size_t depth);

/// Those of the pairs whose source runs before the sink.
isl::map pairs_in_order(const Scop&, const Order&, const isl::map& pairs, StmtId source,
                        StmtId sink);

} // namespace kawara::poly
