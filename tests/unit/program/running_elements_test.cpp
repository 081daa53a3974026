#include "program/rewrites/running_elements.h"

#include "program/rewrites/find_scan.h"
#include "unit/program/same_elements.h"

namespace kawara::program {
namespace {

Program parsed_scan(const std::string& text) {
  auto program = parse(make_source("scan.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return *std::move(program);
}

Program in_elements(const Program& plain) {
  return with_running_elements(plain, [](const RunningScan&) { return true; });
}

/// The rewritten program, whose elements are the same; integers: no order of sums changes them.
std::string rewritten(const std::string& text) {
  const Program plain = parsed_scan(text), other = in_elements(plain);
  expect_same_elements(plain, other);
  return print(other);
}

bool is_left_alone(const std::string& text) {
  const Program plain = parsed_scan(text);
  return print(in_elements(plain)) == print(plain);
}

/// The lines of a loop body, after a start of the scalar.
std::string scan_with(const std::string& body, const std::string& loop = "range(40)") {
  return "input x: i32[40]\ninout s: i32[40]\ntemp t: i32\nt = 3\nfor i in " + loop + ":\n" + body;
}

const std::string kUpdate = "    t += x[i]\n", kStore = "    s[i] = t\n";

TEST(RunningElements, TakeTheScalarsPlace) {
  const std::string text = rewritten(scan_with(kUpdate + kStore));
  EXPECT_NE(text.find("s[0] = 3 + x[0]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("for i in range(1, 40):\n    s[i] = s[i - 1] + x[i]\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("t ="), std::string::npos) << text;
}

TEST(RunningElements, MayLeaveOutTheirOwnTerm) {
  const std::string text = rewritten(scan_with(kStore + kUpdate));
  EXPECT_NE(text.find("s[0] = 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("for i in range(1, 40):\n    s[i] = s[i - 1] + x[i - 1]\n"),
            std::string::npos)
      << text;
}

TEST(RunningElements, KeepAScalarThatOthersRead) {
  for (const std::string& body : {kUpdate + kStore, kStore + kUpdate}) {
    const std::string text = rewritten("output last: i32\n" + scan_with(body) + "last = t\n");
    EXPECT_NE(text.find("\nt = 3\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\nt = s[39]"), std::string::npos) << text;
  }
  // A scalar of the caller, and one that two loops use in turn.
  rewritten("input x: i32[40]\noutput s: i32[40]\ninout t: i32\nfor i in range(40):\n" + kUpdate +
            kStore);
  rewritten(scan_with(kUpdate + kStore) + "t = 5\nfor i in range(40):\n" + kUpdate +
            "    x2[i] = t\n" + "output x2: i32[40]\n");
}

TEST(RunningElements, TakeEveryOperatorAndDirection) {
  for (const std::string update : {"t = t + x[i]", "t = x[i] + t", "t = t - x[i]", "t max= x[i]",
                                   "t = min(t, x[i] * 2)", "t *= x[i] % 3"})
    rewritten(scan_with("    " + update + "\n" + kStore));
  for (const std::string loop : {"range(7, 33)", "range(39, -1, -1)", "range(20, 3, -1)"})
    for (const std::string& body : {kUpdate + kStore, kStore + kUpdate})
      EXPECT_FALSE(is_left_alone(scan_with(body, loop)));
  rewritten(scan_with(kUpdate + kStore, "range(39, -1, -1)"));
  rewritten(scan_with(kStore + kUpdate, "range(20, 3, -1)"));
}

TEST(RunningElements, OfRowsBeginAnewInEach) {
  const std::string text =
      rewritten("input x: i32[5, 40]\noutput s: i32[5, 40]\ntemp t: i32\nfor r in range(5):\n"
                "    t = r\n    for i in range(40):\n        t += x[r, i]\n"
                "        s[r, i] = t\n");
  EXPECT_NE(text.find("s[r, i] = s[r, i - 1] + x[r, i]"), std::string::npos) << text;
  rewritten("input x: i32[5, 40]\noutput s: i32[5, 40], t: i32[5]\nfor r in range(5):\n"
            "    t[r] = 0\n    for i in range(40):\n        t[r] += x[r, i]\n"
            "        s[r, i] = t[r]\n");
}

TEST(RunningElements, OfOpenSizesAreGuarded) {
  const std::string text = "param N\ninput x: i32[N]\noutput s: i32[N], last: i32\ntemp t: i32\n"
                           "t = 7\nfor i in range(N):\n    t += x[i]\n    s[i] = t\nlast = t\n";
  const Program open = in_elements(parsed_scan(text));
  EXPECT_NE(print(open).find("if 0 < N:\n    s[0] = t + x[0]"), std::string::npos) << print(open);
  for (const int64_t size : {0, 1, 2, 9})
    expect_same_elements(parsed_scan(text), open, {size});
}

TEST(RunningElements, StayWhereTheLoopDoesMore) {
  EXPECT_FALSE(is_left_alone(scan_with(kUpdate + kStore)));
  EXPECT_TRUE(is_left_alone(scan_with("    t += x[i] + s[i]\n" + kStore))); // reads what is stored
  EXPECT_TRUE(is_left_alone(scan_with("    t = t + t\n" + kStore)));
  EXPECT_TRUE(is_left_alone(scan_with("    t = t * x[i] + 1\n" + kStore)));
  EXPECT_TRUE(is_left_alone(scan_with(kUpdate + "    s[i] = t * 2\n")));
  EXPECT_TRUE(is_left_alone(scan_with(kUpdate + "    s[0] = t\n")));
  EXPECT_TRUE(is_left_alone(scan_with(kUpdate + kStore + kStore)));
  EXPECT_TRUE(is_left_alone(scan_with(kUpdate + kStore, "range(0, 40, 2)")));
  EXPECT_TRUE(is_left_alone("numerics exact\ninput x: f32[40]\noutput s: f32[40]\ntemp t: f32\n"
                            "t = 0\nfor i in range(40):\n    t += x[i]\n    s[i] = t\n"));
  EXPECT_TRUE(is_left_alone("input x: bf16[40]\noutput s: bf16[40]\ntemp t: bf16\n"
                            "t = 0\nfor i in range(40):\n    t += x[i]\n    s[i] = t\n"));
}

TEST(RunningElements, AreToldWhatTheyAreChosenBy) {
  const Program plain = parsed_scan(scan_with(kUpdate + kStore));
  std::optional<RunningScan> asked;
  const Program same = with_running_elements(plain, [&](const RunningScan& scan) {
    asked = scan;
    return false;
  });
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->elem, scalar::Elem::I32);
  EXPECT_EQ(asked->loops, 0U);
  EXPECT_EQ(asked->length, 40);
  EXPECT_EQ(print(same), print(plain));
}

TEST(ScannedTensors, AreFoundInRowsAndInScalars) {
  EXPECT_EQ(scanned_tensors(parsed_scan(scan_with(kUpdate + kStore))), std::set<uint32_t>{1});
  EXPECT_EQ(scanned_tensors(parsed_scan("input x: i32[3, 40]\noutput s: i32[3, 40]\n"
                                        "for r in range(3):\n    s[r, 0] = 0\n"
                                        "    for i in range(1, 40):\n"
                                        "        s[r, i] = s[r, i - 1] + x[r, i]\n")),
            std::set<uint32_t>{1});
  EXPECT_EQ(scanned_tensors(parsed_scan(scan_with("    s[i] = x[i]\n"))), std::set<uint32_t>{});
}

} // namespace
} // namespace kawara::program
