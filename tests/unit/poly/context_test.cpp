#include "unit/poly/scops.h"

#include <isl/set.h>

namespace kawara::poly {
namespace {

// isl's C++ objects are copied where others are moved, so both sides of a move hold some; a context
// that is let go while one of them lives is never freed.
TEST(Context, BothSidesOfAMoveKeepIt) {
  Scop from = scop_of(kGemm);
  {
    const Scop to = std::move(from);
    EXPECT_TRUE(static_cast<bool>(to.context_owner));
  }
  EXPECT_TRUE(static_cast<bool>(from.context_owner));
}

/// Takes thousands of operations.
void ask_much(const Context& context) {
  const isl::set all(context.get(), "{ [i, j, k] : 0 <= i, j, k < 10 and (i + 3j) mod 7 = k }");
  for (int n = 0; n < 20; ++n)
    if (!all.subtract(isl::set(context.get(), "{ [i, j, k] : 2i > j + k }")).lexmin().is_empty())
      continue;
}

TEST(Context, AQuestionInsideAnotherHasAQuotaOfItsOwn) {
  const ContextPtr context = make_context();
  bool is_inner_finished = true;
  EXPECT_TRUE(within_quota(*context, kDefaultQuota, [&] {
    is_inner_finished = within_quota(*context, 10, [&] { ask_much(*context); });
    ask_much(*context);
  }));
  EXPECT_FALSE(is_inner_finished);
  // And the outer one has its own again, after an inner one that finished.
  EXPECT_FALSE(within_quota(*context, 10, [&] {
    EXPECT_TRUE(within_quota(*context, kDefaultQuota, [&] { ask_much(*context); }));
    ask_much(*context);
  }));
  EXPECT_TRUE(within_quota(*context, kDefaultQuota, [&] { ask_much(*context); }));
}

TEST(Context, AnAnswerThatWasNoneDoesNotCount) {
  const ContextPtr context = make_context();
  const isl::set all(context->get(), "{ [i, j, k] : 0 <= i, j, k < 10 and (i + 3j) mod 7 = k }");
  // A C function that runs out says nothing.
  EXPECT_FALSE(within_quota(*context, 10, [&] {
    isl_set_free(isl_set_lexmin(all.copy()));
    EXPECT_FALSE(within_quota(*context, kDefaultQuota, [] {})) << "the outer one must find out";
  }));
}

// isl's reader takes what it was not given for a mistake in the text.
TEST(Context, RunsOutWhileATextIsRead) {
  const ContextPtr context = make_context();
  for (unsigned long quota = 1; quota < 200; ++quota)
    EXPECT_NO_THROW(within_quota(*context, quota, [&] {
      isl::map(context->get(), "{ [a, b] -> [c] : a <= c < b }");
    })) << quota;
  EXPECT_FALSE(within_quota(*context, 20,
                            [&] { isl::map(context->get(), "{ [a, b] -> [c] : a <= c < b }"); }));
  EXPECT_THROW(within_quota(*context, kDefaultQuota, [&] { isl::map(context->get(), "{ a"); }),
               isl::exception);
}

} // namespace
} // namespace kawara::poly
