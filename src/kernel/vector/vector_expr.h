#pragma once

#include "kernel/vars.h"

#include <map>
#include <optional>

namespace kawara::kernel {

/// Turns expressions over a loop variable into expressions over `lanes` consecutive iterations.
///
/// What does not depend on the loop stays scalar; the variable becomes a ramp, and stays one under
/// additions of and multiplications with invariants, so that loads keep their shape. A load whose
/// last index alone is a ramp of stride 1 reads consecutive elements; any other vector index is a
/// gather.
class VectorExpr {
public:
  VectorExpr(uint32_t var, int64_t step, uint16_t lanes) : var_(var), step_(step), lanes_(lanes) {}

  /// A variable of the loop body that holds a vector now.
  void set_vector(uint32_t scalar_var, const Expr& vector) { vectors_[scalar_var] = vector; }

  bool varies(const Expr& e) const;
  /// Vector or (when invariant) scalar form; empty when there is none: a lane-dependent select
  /// between values that may not be computed for all lanes.
  Expr operator()(const Expr& e) const;
  /// The same, with an invariant broadcast to all lanes.
  Expr widened(const Expr& e) const;

private:
  Expr with_vector_children(const Expr& e) const;
  Expr index_algebra(const Expr& e) const;

  uint32_t var_;
  int64_t step_;
  uint16_t lanes_;
  std::map<uint32_t, Expr> vectors_;
};

/// The store with lanes along the last dimension; nothing where its elements are none of one ramp,
/// or its value has no lanes.
std::optional<Store> vector_store(const Store&, const VectorExpr&);

} // namespace kawara::kernel
