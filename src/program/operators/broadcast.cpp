#include "program/operators/broadcast.h"

#include "support/text.h"

#include <algorithm>

namespace kawara::program::operators {
namespace {

/// Extent of dimension d (of `rank`, aligned at the end).
int64_t extent(const Shape& shape, size_t d, size_t rank) {
  const size_t missing = rank - shape.size();
  return d < missing ? 1 : shape[d - missing];
}

} // namespace

std::optional<Shape> broadcast(const std::vector<Shape>& shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes)
    rank = std::max(rank, shape.size());
  Shape out(rank, 1);
  for (const Shape& shape : shapes)
    for (size_t d = 0; d < rank; ++d) {
      const int64_t e = extent(shape, d, rank);
      if (e == 1 || e == out[d])
        continue;
      if (out[d] != 1)
        return std::nullopt;
      out[d] = e;
    }
  return out;
}

Elementwise::Elementwise(Definition& definition, size_t count, std::vector<Shape> shapes)
    : definition_(definition), index_(count) {
  if (shapes.empty())
    for (size_t k = 0; k < count; ++k)
      shapes.push_back(definition.shape(k));
  const auto full = broadcast(shapes);
  if (!full) {
    std::vector<std::string> texts;
    for (const Shape& shape : shapes)
      texts.push_back(graph::text_of(shape));
    definition.refuse("the shapes " + join(texts, " and ") + " cannot be broadcast together");
    return;
  }
  full_ = *full;
  // For every merged dimension, which operands vary in it.
  std::vector<std::vector<bool>> varies;
  for (size_t d = 0; d < full_.size(); ++d) {
    if (full_[d] == 1)
      continue;
    std::vector<bool> here;
    for (const Shape& shape : shapes)
      here.push_back(extent(shape, d, full_.size()) != 1);
    if (!varies.empty() && varies.back() == here) {
      merged_.back() *= full_[d];
    } else {
      varies.push_back(here);
      merged_.push_back(full_[d]);
    }
  }
  free_ = indices("i", merged_.size());
  for (size_t k = 0; k < count; ++k) {
    Shape own;
    std::vector<std::string> index;
    for (size_t d = 0; d < merged_.size(); ++d)
      if (varies[d][k]) {
        own.push_back(merged_[d]);
        index.push_back("i" + std::to_string(d));
      }
    index_[k] = join(index, ", ");
    definition.declare_operand(k, own);
  }
}

void Elementwise::store(DataType type, const std::string& value) {
  definition_.output(type, full_);
  definition_.declare_output(outputs_, merged_);
  definition_.add_line(at("Y" + std::to_string(outputs_), free_) + " = " +
                       Definition::stored(type, value));
  ++outputs_;
}

} // namespace kawara::program::operators
