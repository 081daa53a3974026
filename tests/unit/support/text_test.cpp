#include "support/text.h"

#include "support/hash.h"

#include <gtest/gtest.h>

namespace kawara {
namespace {

TEST(Join, puts_the_separator_between) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
}

TEST(Split, keeps_empty_pieces) {
  EXPECT_EQ(split("a;;b", ';'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ';'), (std::vector<std::string_view>{""}));
}

TEST(Trim, works_at_both_ends) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
}

TEST(Closest, finds_a_slip) {
  const std::vector<std::string> names{"split", "tile", "interchange", "vectorize"};
  EXPECT_EQ(closest("interchagne", names), "interchange");
  EXPECT_EQ(closest("tyle", names), "tile");
  EXPECT_EQ(closest("vectorise", names), "vectorize");
}

TEST(Closest, does_not_guess_wildly) {
  EXPECT_EQ(closest("fuse", {"split", "tile"}), std::nullopt);
  EXPECT_EQ(closest("tile", {"tile"}), std::nullopt);
  EXPECT_EQ(closest("k", {"M", "N", "K"}), "K");
  EXPECT_EQ(closest("relu", {"Elu", "Relu"}), "Relu");
  EXPECT_EQ(closest("ab", {"xy"}), std::nullopt);
}

TEST(Printable, replaces_malformed_utf8_byte_by_byte) {
  EXPECT_EQ(printable("\xc3"), "?");               // cut short
  EXPECT_EQ(printable("\xe0\x80\x80"), "???");     // overlong
  EXPECT_EQ(printable("\xed\xa0\x80x"), "???x");   // surrogate
  EXPECT_EQ(printable("a\xe2\x80\xae b"), "a? b"); // right-to-left override
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(DisplayWidth, counts_columns) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("é"), 1U);
  EXPECT_EQ(display_width("e\xcc\x81"), 1U); // e and a combining accent
  EXPECT_EQ(display_width("瓦"), 2U);
}

TEST(Hash, is_fixed_for_all_time) {
  static_assert(hash_text("") == kHashSeed);
  static_assert(hash_text("a") == 0xaf63dc4c8601ec8cULL); // published FNV-1a value
  EXPECT_EQ(hash_text("b", hash_text("a")), hash_text("ab"));
  EXPECT_NE(hash_mix(hash_mix(0, 1), 2), hash_mix(hash_mix(0, 2), 1));
}

} // namespace
} // namespace kawara
