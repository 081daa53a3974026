#include "unit/schedule/programs.h"

// Copies that transpose: how many elements a square has.

namespace kawara::schedule {
namespace {

std::string transposed(const std::string& elem, const std::string& value) {
  const Schedule made = for_one_core_of(
      "neoverse-n1", "input X: " + elem + "[512, 512]\noutput Y: " + elem +
                         "[512, 512]\nfor i in range(512):\n    for j in range(512):\n"
                         "        Y[i, j] = " +
                         value + "\n");
  return "\n" + poly::print(made.order, poly::names_of_statements(made.scop));
}

const std::string kOfFour = "\n"
                            "for i.0:  # parallel\n"
                            "  for j.0:\n"
                            "    for i.1.0:\n"
                            "      for i.1.1:  # unroll\n"
                            "        for j.1:  # vector(16)\n"
                            "          S0\n";

TEST(AutoTransposed, squares_have_as_many_elements_as_a_vector_of_results) {
  EXPECT_EQ(transposed("f32", "X[j, i]"), kOfFour);
  EXPECT_EQ(transposed("f16", "X[j, i]"), kOfFour) << "computed in f32";
}

TEST(AutoTransposed, bytes_are_transposed_over_as_they_lie) {
  const std::string bytes = "\n"
                            "for i.0:  # parallel\n"
                            "  for j.0:\n"
                            "    for i.1.0:\n"
                            "      for j.1.0:\n"
                            "        for i.1.1:  # unroll\n"
                            "          for j.1.1:  # vector(16)\n"
                            "            S0\n";
  EXPECT_EQ(transposed("i8", "X[j, i]"), bytes);
  EXPECT_EQ(transposed("u8", "X[j, i]"), bytes);
  EXPECT_EQ(transposed("i8", "X[j, i] + 1"), kOfFour) << "an addition is of i32";
}

} // namespace
} // namespace kawara::schedule
