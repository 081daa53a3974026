#pragma once

#include "program/program.h"
#include "scalar/algebra.h"
#include "support/result.h"

#include <cstdint>
#include <vector>

namespace kawara::program {

/// Elements of one tensor, row-major, each a value of its element type in some algebra.
using Elements = std::vector<scalar::Value>;

/// What `program` means (interpret.h) when data are values of `algebra`.
///
/// `tensors` has the elements of every tensor, in the program's order, all of them zero where
/// nothing is given; they are changed to what the program leaves. Values of parameters are those
/// that `required_shapes` accepts, `shapes` what it answers. The error says which access is outside
/// its tensor, or that an integer was divided by zero.
Result<Done, std::string> interpret_over(const scalar::Algebra& algebra, const Program& program,
                                         const std::vector<int64_t>& params,
                                         const std::vector<std::vector<int64_t>>& shapes,
                                         std::vector<Elements>& tensors);

/// How many statements run at these sizes; at most `limit` are counted.
uint64_t count_instances(const Program& program, const std::vector<int64_t>& params,
                         uint64_t limit);

} // namespace kawara::program
