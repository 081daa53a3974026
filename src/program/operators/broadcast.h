#pragma once

#include "program/operators/definition.h"

namespace kawara::program::operators {

/// Shape that all of them are stretched to, aligned at the last dimension; nothing when they do not
/// fit.
std::optional<Shape> broadcast(const std::vector<Shape>& shapes);

/// An element-wise program over operands that are stretched to one shape, written with as few
/// dimensions as possible: neighbours that every operand treats alike are merged, extents of 1 left
/// out.
class Elementwise {
public:
  /// Operands 0 to `count` - 1, those that are there; the first output will have the broadcast
  /// shape. Refuses shapes that do not fit. `shapes` overrides the operands' shapes (for old
  /// alignments).
  Elementwise(Definition& definition, size_t count, std::vector<Shape> shapes = {});

  const Shape& shape() const { return full_; } ///< of the output, before merging
  /// Value of operand k at the current index.
  std::string operator[](size_t k) const { return definition_.element(k, index_.at(k)); }
  /// Declares an output of that type and stores `value` to it.
  void store(DataType type, const std::string& value);
  const std::string& index() const { return free_; } ///< of the merged output: "i0, i1"

private:
  Definition& definition_;
  Shape full_, merged_;
  std::vector<std::string> index_;
  std::string free_;
  size_t outputs_ = 0;
};

} // namespace kawara::program::operators
