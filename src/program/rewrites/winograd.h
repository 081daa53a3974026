#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// The program with one of its convolutions by 3 x 3 windows computed in tiles of m x m results, m
/// 2 or 4 (Winograd's F(m x m, 3 x 3)): with t = m + 2, windows and tiles of the image are
/// transformed to t x t values each, which are multiplied and added up channel by channel, t * t
/// products of matrices, and transformed back.
///
///   before   for n, k, y, x: for c, r, s: out[n, k, y, x] += X[n, c, y + r, x + s] * W[k, c, r, s]
///   after    for c:          for s, k: R[a, s, c, k] = (G W)[a, s]       one statement for each a
///                            for a, k: U[a, b, c, k] = (R G')[a, b]         one for each b
///            for v, n, h:    for j, c: Q[a, j, p, c] = (B' X)[a, j]    tile p: (n, v, h)
///                            for a, c: V[a, b, p, c] = (Q B)[a, b]
///            for ab, p, k:   P[ab, p, k] = sum(c, V[ab, p, c] * U[ab, c, k])
///            for v, n, h:    for b, k: S[y, b, p, k] = (A' P)[y, b]
///                            for y, k: T[y, x, p, k] = (S A)[y, x]
///                            for y, x, k: out[n, k, m*v + y, m*h + x] = T[y, x, p, k]
///
/// 36 multiplications become 16 (m = 2) for each 2 x 2 results, 144 become 36 (m = 4) for each 4 x
/// 4. All statements are ordinary ones: each transform is a matrix with known elements, written
/// out, by rows and then by columns, and neighbouring elements of everything it touches are
/// channels. So X has its channels last: a temp that nothing else reads is written so, of others
/// there is a copy; zeros stand behind it where m does not divide the result's height or width.
///
/// Changes rounding as no reassociation does, so it is for `numerics fast` only: nothing under any
/// other contract. The error of a result is at most `winograd_bound`.
///
/// `find_convolution` says what is recognised; channels may be last already, and an image that
/// holds whole tiles in that order is read unpacked. Nothing when there is none.
std::optional<Program> with_winograd(const Program&, int64_t m);

/// How far a result of `with_winograd` can be from the exact sum, over largest |X| times largest
/// |W|, to first order in the rounding error 2^-24:
///
///   2^-24 * (channels + 6 t) * s^2,     s the largest row sum of |A'| (|G| 1 * |B'| 1):
///                                        8 for m = 2, 48 for m = 4
///
/// The plain sum's bound is 2^-24 * (9 channels) * 9 channels of the same; for few channels
/// Winograd's is larger.
double winograd_bound(int64_t m, int64_t channels);
/// How far one is to be expected, with roundings as often up as down: the same with the root of
/// (channels + 6 t).
double winograd_error(int64_t m, int64_t channels);

} // namespace kawara::program
