#pragma once

#include "program/program.h"
#include "support/result.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::program {

/// A convolution by a window of 3 x 3, added up in f32, as its parts: iterators by number,
/// outermost first.
struct Convolution {
  size_t root = 0; ///< node of the body that holds it
  uint32_t statement = 0;
  std::optional<uint32_t>
      begin; ///< sets each element of the result to zero first, in the same loops
  uint32_t result = 0, image = 0, weights = 0;
  std::vector<const Loop*> loops; ///< around the statement
  uint32_t y = 0, x = 0, c = 0, r = 0, s = 0;
  size_t image_rows = 0, image_columns = 0; ///< dimensions of the image
  std::vector<size_t> image_order;  ///< its dimensions: those of images, rows, columns, channels
  int64_t height = 0, width = 0;    ///< of the result
  std::vector<uint32_t> of_image;   ///< the other iterators of the result that move the image
  std::vector<uint32_t> of_weights; ///< and those that move the weights
};

/// Why a program has none: what stands in the way where it comes nearest to one, and what to do.
struct NoConvolution {
  int stage = 0; ///< how far it came
  Span where;
  std::string why, instead;
};

/// The first convolution of the program: an update with + in loops from 0 with step 1 of constant
/// length, alone in its outermost loop but for statements that begin its elements. Two indices of
/// the image are loops of the result plus loops of the window, rows before columns; every other
/// index of the three tensors is a loop; one other loop is reduced. So channels may stand before
/// rows and columns or behind them. `loops` point into the program.
Result<Convolution, NoConvolution> find_convolution(const Program&);

/// A factor of a convolution's product: an element of f32, or one of f16 or bf16 that is converted
/// to it. Nothing for anything else.
const scalar::Load* factor_of(const Expr&);
/// The iterator that an index is; nothing for anything else.
std::optional<uint32_t> single_iterator(const Expr&);
/// Of a loop from 0 with step 1 and a constant end.
std::optional<int64_t> length_of(const Loop&);

} // namespace kawara::program
