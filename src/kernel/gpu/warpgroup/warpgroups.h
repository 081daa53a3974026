#pragma once

#include "kernel/kernel.h"
#include "target/gpu.h"

namespace kawara::kernel {

/// Turns launches whose blocks compute tiles of a product by a collective instruction
/// (collective_form.h) into launches of warpgroups that run it, and a warp that brings the
/// operands.
///
///   before   launch blocks(16, 32) threads(1):
///              acc[i, j] = 0
///              for k_0:  # pipeline(4)
///                for i: for j: for k:  # wgmma.m64n256k16.bf16
///                  acc[i, j] += A[128*block_y + i, 64*k_0 + k] * B[64*k_0 + k, 256*block_x + j]
///              C[...] = acc[i, j]
///   after    launch blocks(132) threads(4, 8, 9):
///              mbarrier full[4] of 1, empty[4] of 8
///              if thread_z < 8:                           two warpgroups, each 64 rows of the tile
///                for tile in range(block_x, 512, 132):
///                  c[...] = 0
///                  for k_0: { await full; wgmma c += A_tiles * B_tiles; arrive at empty }
///                  C_tiles[...] = c[...]; bulk C = C_tiles
///              else, on one thread:
///                for tile: for k_0: { await empty; bulk A_tiles = A, bulk B_tiles = B, to full }
///
/// Each thread has the elements of the result that fragment.h says. Edges of tensors are TMA's
/// affair: it reads zeros and leaves out what lies outside. A result whose rows it cannot write is
/// stored by threads, with conditions, by way of panels where there are many (copied_panels.cpp).
/// An operand whose rows are not multiples of 16 bytes is copied first, to rows that are
/// (padded_rows.h); so is one of f32 whose reduction runs down its rows, transposed
/// (transposed_copy.h).
///
/// Tensors that results are made of besides the product, element by element (a residual), come to
/// shared memory as panels of the tile, by another warp and a ring of their own
/// (epilogue_operands.h); the ring of operands becomes shorter where they need its room.
///
/// A right operand that is the same for all tiles (few columns, a short reduction: the weights of a
/// net's first layers) comes once and stays, if there is room.
///
/// Where rows of operands split cache lines, blocks of a cluster compute neighbouring tiles and
/// bring parts of what all of them read (target/tile_clusters.h, tile_walk.h).
///
/// A launch of several products in which one reads the result of another is left to chain_groups.h.
///
/// An operand that is an image under a window (Buffer::window) is brought from the image, place by
/// place.
///
/// Needs    operands of constant shape of which one of the two dimensions that move is the last,
///          not written in the launch; a GPU that has the instruction. Elsewhere the loops stay.
Kernel warpgroups(Kernel, const target::Gpu&);

} // namespace kawara::kernel
