#include "program/interpret/sizes_from_arrays.h"

#include "unit/program/text_of.h"

#include <gtest/gtest.h>

namespace kawara::program {
namespace {

using Sizes = std::map<std::string, int64_t>;

Program program_with(const std::string& declarations) {
  return parsed(declarations + "\noutput y: f32[1]\ny[0] = 1\n");
}

Array of_shape(std::vector<int64_t> shape) { return {scalar::Elem::F32, std::move(shape)}; }

TEST(SizesFromArrays, AreReadFromShapes) {
  const Program program = program_with("param M, N, K\ninput A: f32[M, 2 * K + 1], B: f32[M + N]");
  EXPECT_EQ(sizes_from_arrays(program, {{"A", of_shape({4, 7})}, {"B", of_shape({9})}}, {}),
            (Sizes{{"M", 4}, {"N", 5}, {"K", 3}}));
  // The second shape tells N only with the first.
  EXPECT_EQ(sizes_from_arrays(program, {{"B", of_shape({9})}}, {}), Sizes{});
  EXPECT_EQ(sizes_from_arrays(program, {{"B", of_shape({9})}}, {{"M", 2}}),
            (Sizes{{"M", 2}, {"N", 7}}));
}

TEST(SizesFromArrays, WhatNoValueGivesTellsNothing) {
  const Program program = program_with("param K\ninput A: f32[2 * K + 1]");
  EXPECT_EQ(sizes_from_arrays(program, {{"A", of_shape({6})}}, {}), Sizes{});
  EXPECT_EQ(sizes_from_arrays(program, {{"A", of_shape({3, 3})}}, {}), Sizes{});
  EXPECT_EQ(sizes_from_arrays(program, {{"Z", of_shape({3})}}, {}), Sizes{});
}

TEST(SizesFromArrays, WhatIsKnownStays) {
  const Program program = program_with("param N\ninput A: f32[N]");
  EXPECT_EQ(sizes_from_arrays(program, {{"A", of_shape({6})}}, {{"N", 4}}), (Sizes{{"N", 4}}));
}

} // namespace
} // namespace kawara::program
