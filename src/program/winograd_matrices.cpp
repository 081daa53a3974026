#include "program/winograd_matrices.h"

namespace kawara::program {

std::optional<WinogradMatrices> winograd_matrices(int64_t m) {
  if (m == 2)
    return WinogradMatrices{{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                            {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
                            {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  if (m != 4)
    return std::nullopt;
  const double sixth = 1.0 / 6, twelfth = 1.0 / 12, small = 1.0 / 24;
  return WinogradMatrices{
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{0.25, 0, 0},
       {-sixth, -sixth, -sixth},
       {-sixth, sixth, -sixth},
       {small, twelfth, sixth},
       {small, -twelfth, sixth},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
}

} // namespace kawara::program
