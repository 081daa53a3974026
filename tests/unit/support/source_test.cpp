#include "support/source.h"

#include <gtest/gtest.h>

namespace kawara {
namespace {

TEST(LineColumn, counts_from_one) {
  const auto source = make_source("a.kw", "ab\ncd");
  EXPECT_EQ(line_column(*source, 0).line, 1U);
  EXPECT_EQ(line_column(*source, 0).column, 1U);
  EXPECT_EQ(line_column(*source, 2).line, 1U); // the newline belongs to its line
  EXPECT_EQ(line_column(*source, 2).column, 3U);
  EXPECT_EQ(line_column(*source, 4).line, 2U);
  EXPECT_EQ(line_column(*source, 4).column, 2U);
  EXPECT_EQ(line_column(*source, 99).column, 3U);
}

TEST(LineText, is_without_line_ends) {
  const auto source = make_source("a.kw", "ab\r\n\ncd");
  EXPECT_EQ(line_text(*source, 1), "ab");
  EXPECT_EQ(line_text(*source, 2), "");
  EXPECT_EQ(line_text(*source, 3), "cd");
  EXPECT_EQ(line_text(*source, 4), "");
}

} // namespace
} // namespace kawara
