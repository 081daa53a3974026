#pragma once

#include "poly/scop.h"

namespace kawara::poly {

/// Dependences for people to read.
struct ShownDependences {
  std::vector<Dependence> all;
  bool is_exact = true;
};

/// The exact ones (`exact_dependences`), where `quota` operations on sets find them. Else all pairs
/// of iterations that touch one element: the exact ones are among them.
ShownDependences shown_dependences(const Scop&, unsigned long quota = 500'000);

} // namespace kawara::poly
