#pragma once

// Products of matrices, and directives that run them by an instruction asked for by name.

#include "program/interpret/instruction.h"

#include <string>
#include <vector>

namespace kawara::instruction_schedules {

/// C = A * B with sums of their own statement, whatever the sizes.
inline std::string product_text(std::string_view left, std::string_view right,
                                std::string_view result, std::string_view numerics = "fast") {
  return "numerics " + std::string(numerics) + "\nparam M, N, K\ninput A: " + std::string(left) +
         "[M, K], B: " + std::string(right) + "[K, N]\noutput C: " + std::string(result) +
         "[M, N]\nfor i in range(M):\n    for j in range(N):\n        C[i, j] = 0\n"
         "for i in range(M):\n    for j in range(N):\n        for k in range(K):\n"
         "            C[i, j] += A[i, k] * B[k, j]\n";
}

/// Tiles and packs for an instruction with an axis of lanes and perhaps one of depth, then asks for
/// it.
inline std::string directives_for_lanes(const program::Instruction& instruction) {
  const int64_t lanes = instruction.result().shape.back();
  const int64_t depth = instruction.axes.size() > 1 ? instruction.extents.back() : 1;
  std::string text = "split(S1.j, " + std::to_string(2 * lanes) + "); split(S1.i, 3)";
  std::string inner = "S1.i.1, S1.j.1";
  std::string around = "S1.k";
  if (depth > 1) {
    text += "; split(S1.k, " + std::to_string(depth) + ")";
    inner += ", S1.k.1";
    around = "S1.k.0";
  }
  text +=
      "; reorder(S1.j.0, S1.i.0, " + around + ", " + inner + "); pack(B, S1.j.0); pack(A, S1.i.0)";
  text += "; unroll(S1.i.1); unroll(S2.j.1); unroll(S3.i.1)";
  if (depth > 1)
    text += "; unroll(S2.k.1); unroll(S3.k.1)";
  return text + "; tensorize(S1.j.1, " + std::string(instruction.data->name) + ")";
}

/// The same for an instruction with axes of rows, lanes and depth.
inline std::string directives_for_blocks(const program::Instruction& instruction) {
  const auto extent = [&](size_t axis) { return std::to_string(instruction.extents[axis]); };
  return "split(S1.i, " + extent(0) + "); split(S1.j, " + extent(1) + "); split(S1.k, " +
         extent(2) +
         "); reorder(S1.j.0, S1.i.0, S1.k.0, S1.i.1, S1.j.1, S1.k.1); pack(B, S1.j.0); "
         "pack(A, S1.i.0); tensorize(S1.i.1, " +
         std::string(instruction.data->name) + ")";
}

/// Tiles of 16 x 16 results, `group` elements of the reduction side by side, every loop whole; the
/// program has one statement.
inline std::string directives_for_tiles(const std::string& instruction, int64_t group) {
  const std::string g = std::to_string(group);
  return "split(i, 16); split(j, 16); split(k, " + std::to_string(16 * group) + "); split(k.1, " +
         g + "); reorder(i.0, j.0, k.0, i.1, k.1.0, j.1, k.1.1); pack(A, i.0); pack(B, j.0); " +
         "pad(A_packed, d1, to=16); pad(A_packed, d2, to=16); pad(A_packed, d3, to=" + g +
         "); pad(B_packed, d1, to=16); pad(B_packed, d2, to=16); pad(B_packed, d3, to=" + g +
         "); promote(C, S0.k.0); pad(C_held, d0, to=16); pad(C_held, d1, to=16); "
         "extend(S0.k.1.1, " +
         g + "); extend(S0.k.1.0, 16); extend(S0.i.1, 16); extend(S0.j.1, 16); tensorize(S0.i.1, " +
         instruction + ")";
}

/// A program, directives that name the instruction, and sizes at which to try them.
struct Case {
  std::string text, directives;
  std::vector<std::vector<int64_t>> sizes;
};

/// Cases for an instruction of a processor.
inline std::vector<Case> cases_for(const program::Instruction& instruction) {
  const auto name = [&](size_t k) {
    return std::string(scalar::name_of(instruction.operands[k].elem));
  };
  if (!instruction.data->is_tile) {
    const bool is_block = instruction.result().shape.size() > 1;
    return {{product_text(name(0), name(1), name(2)),
             is_block ? directives_for_blocks(instruction) : directives_for_lanes(instruction),
             {{3, 32, 8}, {4, 37, 9}, {1, 1, 1}, {7, 66, 5}, {2, 3, 0}, {6, 40, 50}}}};
  }
  std::vector<Case> cases;
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{5, 19, 130}, {17, 7, 65}}) {
    const auto text = [&](size_t s) { return std::to_string(sizes[s]); };
    cases.push_back(
        {"numerics fast\ninput A: " + name(0) + "[" + text(0) + ", " + text(2) +
             "], B: " + name(1) + "[" + text(2) + ", " + text(1) + "]\ninout C: " + name(2) + "[" +
             text(0) + ", " + text(1) + "]\nfor i in range(" + text(0) + "):\n    for j in range(" +
             text(1) + "):\n        for k in range(" + text(2) +
             "):\n            C[i, j] += A[i, k] * B[k, j]\n",
         directives_for_tiles(std::string(instruction.data->name), instruction.extents.back()),
         {{}}});
  }
  return cases;
}

/// How far results may lie from the interpreter's, for each unit of their size: integers are exact,
/// one rounding of f16 is coarse.
inline double tolerance_of(const program::Instruction& instruction) {
  const scalar::Elem result = instruction.result().elem;
  return scalar::is_integer(result) ? 0 : result == scalar::Elem::F16 ? 2e-2 : 1e-4;
}

} // namespace kawara::instruction_schedules
