#pragma once

#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <unordered_map>

namespace kawara::kernel {

/// Smallest and largest values that index expressions can have at a place, from the bounds of the
/// loops around it and the types of elements. Of a vector: over all lanes.
///
///   for i_0 in range(0, 32): for i_1 in range(0, min(32, 1000 - 32*i_0)): ...
///   32*i_0 + i_1 is in 0..1023
///
/// Unlike Ranges, each variable stands for itself, so nothing cancels; in return both ends come
/// with every answer. Index arithmetic is taken not to wrap, as everywhere; an end that does not
/// fit into 64 bits is absent.
///
/// A tracker (walk.h). Loops that do not nest may share a variable, and a Define may give it
/// another value: whoever asks has reported every loop and every Define on the way to the place, in
/// text order. What was reported last of a variable holds, also after the loop. Nothing is known of
/// a variable in a loop that assigns it, nor after an Assign.
class Intervals {
public:
  void enter(const For& loop);
  void enter(const Launch& launch);
  void leave(const OneOf<For, Launch> auto&) {}
  void after(const Define& s) { define(s.var, s.value); }
  void after(const OneOf<Assign, Combine> auto& s) { variables_.erase(s.var); }
  void define(uint32_t var, const Expr& value);

  scalar::Bounds of(const Expr&) const;

private:
  scalar::Bounds of_node(const Expr&) const;
  scalar::Bounds of_binary(const scalar::Binary&) const;
  std::unordered_map<uint32_t, scalar::Bounds> variables_;
};

} // namespace kawara::kernel
