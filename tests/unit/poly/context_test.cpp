#include "scops.h"

namespace kawara::poly {
namespace {

// isl's C++ objects are copied where others are moved, so both sides of a move hold some; a context that
// is let go while one of them lives is never freed.
TEST(Context, BothSidesOfAMoveKeepIt) {
  Scop from = scop_of(kGemm);
  {
    const Scop to = std::move(from);
    EXPECT_TRUE(static_cast<bool>(to.context_owner));
  }
  EXPECT_TRUE(static_cast<bool>(from.context_owner));
}

} // namespace
} // namespace kawara::poly
