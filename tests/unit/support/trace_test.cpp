#include "support/trace.h"

#include "support/check.h"

#include <gtest/gtest.h>

namespace kawara {
namespace {

/// A clock that moves on by one millisecond with every look at it.
TraceOptions ticking() {
  TraceOptions options;
  options.now = [ticks = 0]() mutable { return 1e-3 * ticks++; };
  return options;
}

TEST(Trace, stage_returns_the_result_and_counts_runs) {
  Trace trace(ticking());
  EXPECT_EQ(trace.stage("poly", [] { return 7; }), 7);
  trace.stage("poly", [] {});
  ASSERT_EQ(trace.times().size(), 1U);
  EXPECT_EQ(trace.times()[0].runs, 2U);
  EXPECT_DOUBLE_EQ(trace.times()[0].seconds, 2e-3);
}

TEST(Trace, table_shows_nesting_and_adds_outer_stages_only) {
  Trace trace(ticking());
  trace.stage("emit", [&] { trace.stage("optimise", [] {}); });
  trace.stage("run", [] {});
  EXPECT_EQ(trace.time_table(), "stage               ms   share   runs\n"
                                "emit             3.000   75.0%      1\n"
                                "  optimise       1.000   25.0%      1\n"
                                "run              1.000   25.0%      1\n"
                                "total            4.000\n");
}

TEST(Trace, a_stage_that_throws_is_still_closed) {
  Trace trace(ticking());
  EXPECT_THROW(trace.stage("poly", []() -> int { throw std::runtime_error("no"); }),
               std::runtime_error);
  trace.stage("kernel", [] {});
  EXPECT_EQ(trace.times()[1].depth, 0U);
}

TEST(Trace, prints_only_what_was_asked_for) {
  std::string shown;
  TraceOptions options = ticking();
  options.print_after = {"poly"};
  options.show = [&](std::string_view stage, const std::string& text) {
    shown += std::string(stage) + ": " + text + "\n";
  };
  Trace trace(options);
  const auto fine = [] { return std::vector<std::string>{}; };
  trace.after("poly", fine, [] { return std::string("a scop"); });
  trace.after("kernel", fine, []() -> std::string { throw std::logic_error("not wanted"); });
  EXPECT_EQ(shown, "poly: a scop\n");
}

TEST(Trace, counts_what_checks_said_over_all_runs) {
  Trace one(ticking()), other(ticking());
  one.count("proved");
  other.count("not completed");
  other.count("proved");
  one.add(other);
  EXPECT_NE(one.time_table().find("proofs of kernels: 1 not completed, 2 proved\n"),
            std::string::npos);
}

TEST(Trace, verify_turns_a_broken_artefact_into_an_internal_error) {
  const auto broken = [] { return std::vector<std::string>{"loop without end"}; };
  const auto print = [] { return std::string(); };
  EXPECT_NO_THROW(Trace().after("kernel", broken, print));
  TraceOptions options;
  options.verify = true;
  EXPECT_THROW(Trace(options).after("kernel", broken, print), InternalError);
}

TEST(Check, says_where_and_what) {
  try {
    KAWARA_CHECK(1 > 2, "numbers");
    FAIL() << "did not throw";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("expected 1 > 2: numbers"), std::string::npos);
  }
}

} // namespace
} // namespace kawara
