#pragma once

#include "kernel/kernel.h"

#include <set>

namespace kawara::emit {

/// Which values of a kernel are made from elements. Their sums and products wrap, which in C and
/// CUDA signed ones may not; positions never do, and compilers may rely on that.
class ElementValues {
public:
  explicit ElementValues(const kernel::Kernel&);

  /// Whether the value depends on an element, or on a variable that does; so does any that the
  /// kernel does not know.
  bool has(const scalar::Expr& value) const;

private:
  size_t known_;
  std::set<uint32_t> variables_;
};

} // namespace kawara::emit
