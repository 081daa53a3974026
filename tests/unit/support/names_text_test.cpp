#include "support/names_text.h"

#include <gtest/gtest.h>

namespace kawara {
namespace {

TEST(NamesText, counts_before_it_says_is_or_are) {
  EXPECT_EQ(names_text("The model", "input", {}), "The model has no inputs.");
  EXPECT_EQ(names_text("The model", "input", {"x"}), "The model's only input is x.");
  EXPECT_EQ(names_text("The program", "output", {"y", "z"}), "The program's outputs are y, z.");
}

} // namespace
} // namespace kawara
