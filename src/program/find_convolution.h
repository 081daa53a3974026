#pragma once

#include "program/program.h"

#include <optional>
#include <vector>

namespace kawara::program {

/// A convolution of f32 by a window of 3 x 3, as its parts: iterators by number, outermost first.
struct Convolution {
  size_t root = 0; ///< node of the body that holds it
  uint32_t statement = 0;
  std::optional<uint32_t> begin; ///< sets each cell of the result to zero first, in the same loops
  uint32_t result = 0, image = 0, weights = 0;
  std::vector<const Loop*> loops; ///< around the statement
  uint32_t y = 0, x = 0, c = 0, r = 0, s = 0;
  int64_t height = 0, width = 0;    ///< of the result
  std::vector<uint32_t> of_image;   ///< the other iterators of the result that move the image
  std::vector<uint32_t> of_weights; ///< and those that move the weights
};

/// The first convolution of the program: an update with + in loops from 0 with step 1 of constant length, alone in its
/// outermost loop but for statements that begin its cells; the last two indices of the result are loops, those of the
/// image these plus the window's, those of the weights the window's; one other loop is reduced. `loops` point into the
/// program.
std::optional<Convolution> find_convolution(const Program&);

/// The iterator that an index is; nothing for anything else.
std::optional<uint32_t> single_iterator(const Expr&);
/// Of a loop from 0 with step 1 and a constant end.
std::optional<int64_t> length_of(const Loop&);

} // namespace kawara::program
