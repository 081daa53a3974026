#pragma once

#include "program/program.h"

#include <optional>
#include <vector>

namespace kawara::program::fusion {

using Extents = std::vector<int64_t>;

/// A statement alone in perfectly nested loops from 0 to `extents`.
struct PlainNest {
  uint32_t statement = 0;
  Extents extents;
};

/// The node of a body as such a nest.
std::optional<PlainNest> plain_nest(const BodyNode&);
BodyNode body_of(const PlainNest&, const std::vector<std::string>& names);

/// Shape of a tensor whose extents are all numbers, as operators' programs have them.
Extents extents_of(const Tensor&);
std::vector<Expr> shape_of(const Extents&);

/// Iterator `i` when the index is just that.
std::optional<uint32_t> bare_iter(const Expr&);

/// The nest assigns every element of its tensor once, element (i, j, ...) in iteration (i, j, ...).
bool is_map(const Program&, const PlainNest&);

/// All nests are maps: the program computes element by element.
bool is_map(const Program&);

/// The program with dimensions of extent 1 left out of all tensors.
Program without_unit_dims(Program);

/// The coarsest shape that both can be cut to, dimension by dimension. Nothing for different
/// numbers of elements.
std::optional<Extents> common_refinement(const Extents&, const Extents&);

/// The program with `tensor` declared as `shape`, which cuts dimensions of its shape, and loops cut
/// to fit. Nothing when the program is no map or uses an index in another way than as such.
std::optional<Program> refined(const Program&, uint32_t tensor, const Extents& shape);

} // namespace kawara::program::fusion
