#include "program/rewrites/blocked_scans.h"
#include "program/rewrites/running_elements.h"

#include "unit/program/same_elements.h"

namespace kawara::program {
namespace {

Program parsed_scan(const std::string& text) {
  auto program = parse(make_source("scan.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return *std::move(program);
}

/// The program in blocks computes the same; its listing. Integers: no order of sums changes them.
std::string in_blocks(const std::string& text, int64_t block = 8, int64_t least = 16) {
  const Program plain = parsed_scan(text);
  const auto other = with_blocked_scan(plain, block, least);
  EXPECT_TRUE(other) << text;
  if (!other)
    return "";
  expect_same_elements(plain, *other);
  return print(*other);
}

bool has_blocks(const std::string& text, int64_t block = 8, int64_t least = 16) {
  return with_blocked_scan(parsed_scan(text), block, least).has_value();
}

const std::string kPrefix = "input x: i32[37]\noutput s: i32[37]\ns[0] = x[0]\n"
                            "for i in range(1, 37):\n    s[i] = s[i - 1] + x[i]\n";

TEST(BlockedScan, HasSumsOfBlocksAndARest) {
  const std::string text = in_blocks(kPrefix);
  EXPECT_NE(text.find("s_total[i_block] += x[i_block * 8 + i + 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("s_start[0] = s[0]"), std::string::npos) << text;
  EXPECT_NE(text.find("s_start[i_block] = s_start[i_block - 1] + s_total[i_block - 1]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("for i in range(32, 36)"), std::string::npos) << text;
}

TEST(BlockedScan, HasNoRestWhereBlocksAreWhole) {
  const std::string text = in_blocks("input x: i32[33]\noutput s: i32[33]\ns[0] = x[0]\n"
                                     "for i in range(1, 33):\n    s[i] = s[i - 1] + x[i]\n");
  EXPECT_EQ(text.find("for i in range(32"), std::string::npos) << text;
  EXPECT_NE(text.find("for i_block in range(4)"), std::string::npos) << text;
}

TEST(BlockedScan, TakesEveryOperatorAndDirection) {
  for (const std::string value :
       {"x[i] + s[i - 1]", "max(s[i - 1], x[i])", "min(x[i] * 2, s[i - 1])", "s[i - 1] - x[i]",
        "s[i - 1] + x[i] + y[2 * i]", "x[i] + (y[i] + s[i - 1])", "s[i - 1] * (x[i] % 3)"})
    in_blocks("input x: i64[40], y: i64[80]\noutput s: i64[40]\ns[3] = 5\n"
              "for k in range(3):\n    s[k] = 0\n"
              "for i in range(4, 40):\n    s[i] = " +
              value + "\n");
  in_blocks("input x: i32[50]\noutput s: i32[50]\ns[49] = x[49]\n"
            "for i in range(48, -1, -1):\n    s[i] = s[i + 1] + x[i]\n");
  in_blocks("input x: i32[50]\noutput s: i32[101, 2]\nfor k in range(101):\n"
            "    for c in range(2):\n        s[k, c] = 0\n"
            "for i in range(50):\n    s[2 * i + 2, 1] = s[2 * i, 1] + x[i]\n");
}

TEST(BlockedScan, LeavesScalarsToRunningElements) {
  const std::string text = "input x: i32[50]\noutput s: i32[50]\ntemp t: i32\nt = 7\n"
                           "for i in range(50):\n    t += x[i]\n    s[i] = t\n";
  EXPECT_FALSE(has_blocks(text));
  in_blocks(print(with_running_elements(parsed_scan(text), [](const auto&) { return true; })));
}

TEST(BlockedScan, OfManyBlocksIsRewrittenAgain) {
  std::string text = "input x: i32[700]\noutput s: i32[700]\ns[0] = x[0]\n"
                     "for i in range(1, 700):\n    s[i] = s[i - 1] + x[i]\n";
  int times = 0;
  for (auto other = with_blocked_scan(parsed_scan(text), 4, 32); other;
       other = with_blocked_scan(parsed_scan(text), 4, 32)) {
    expect_same_elements(parsed_scan(text), *other);
    text = print(*other);
    ASSERT_LE(++times, 4);
  }
  EXPECT_EQ(times, 3) << text; // 699, 174 and 43 elements
}

TEST(BlockedScan, StaysWhereItIsShortOrNone) {
  EXPECT_TRUE(has_blocks(kPrefix, 8, 36));
  EXPECT_FALSE(has_blocks(kPrefix, 8, 37));
  const auto with = [](const std::string& value, const std::string& more = "") {
    return "input x: i32[40]\noutput s: i32[40]\ns[0] = 1\ns[1] = 1\n"
           "for i in range(2, 40):\n    s[i] = " +
           value + "\n" + more;
  };
  EXPECT_TRUE(has_blocks(with("s[i - 1] + x[i]")));
  EXPECT_FALSE(has_blocks(with("s[i - 2] + x[i]")));
  EXPECT_FALSE(has_blocks(with("s[i - 1] + s[i - 2]")));
  EXPECT_FALSE(has_blocks(with("s[i - 1] * x[i] + x[i]")));
  EXPECT_FALSE(has_blocks(with("x[i] - s[i - 1]")));
  EXPECT_FALSE(has_blocks(with("s[i - 1] + x[i]", "    s[0] = 2\n")));
  // Inside another loop rows run side by side.
  EXPECT_FALSE(has_blocks("input x: i32[3, 40]\noutput s: i32[3, 40]\nfor r in range(3):\n"
                          "    s[r, 0] = 0\n    for i in range(1, 40):\n"
                          "        s[r, i] = s[r, i - 1] + x[r, i]\n"));
}

TEST(BlockedScan, LeavesTheOrderOfFloatsToTheContract) {
  const auto of = [](const std::string& numerics, const std::string& elem) {
    return "numerics " + numerics + "\ninput x: " + elem + "[40]\noutput s: " + elem +
           "[40]\ns[0] = x[0]\nfor i in range(1, 40):\n    s[i] = s[i - 1] + x[i]\n";
  };
  EXPECT_TRUE(has_blocks(of("rounding", "f32")));
  EXPECT_TRUE(has_blocks(of("fast", "f64")));
  EXPECT_FALSE(has_blocks(of("exact", "f32")));
  EXPECT_TRUE(has_blocks(of("exact", "i32")));
  // Every store rounds.
  EXPECT_FALSE(has_blocks(of("fast", "bf16")));
}

} // namespace
} // namespace kawara::program
