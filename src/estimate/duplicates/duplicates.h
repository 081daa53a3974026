#pragma once

#include "estimate/duplicates/window.h"
#include "program/program.h"

#include <span>

namespace kawara::estimate {

/// A tensor whose elements a statement reads through windows that overlap.
struct Duplicates {
  std::string statement, tensor;
  Window window;
  Loads loads;
};

/// The reads of a program in which a dimension is followed by several loops, at these sizes: of
/// windows of convolutions and pools, not of products of matrices, whose workspace would be the
/// tensor itself. Left out are reads under loops whose lengths depend on other loops, and such that
/// use a loop in two dimensions.
std::vector<Duplicates> duplicates(const program::Program&, std::span<const int64_t> sizes);

} // namespace kawara::estimate
