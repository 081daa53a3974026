#include "poly/isl/coalesced.h"

#include "poly/isl/context.h"

#include <gtest/gtest.h>
#include <isl/aff.h>
#include <isl/set.h>

namespace kawara::poly {
namespace {

TEST(Coalesced, KeepsTheHolesOfStridedSets) {
  const ContextPtr context = make_context();
  const isl::set set(context->get(),
                     "{ [x] : 0 <= x <= 1; [x] : exists (e : x = 2 e and 0 <= e <= 3) }");
  EXPECT_TRUE(coalesced(set).is_equal(set));
}

TEST(Coalesced, KeepsTheHolesOfRelationsAndFunctions) {
  const ContextPtr context = make_context();
  const isl::map map(context->get(),
                     "{ [x] -> [0] : 0 <= x <= 1; [x] -> [0] : exists (e : x = 2 e and "
                     "0 <= e <= 3) }");
  EXPECT_TRUE(coalesced(map).is_equal(map));
  const isl::pw_aff function(context->get(),
                             "{ [x] -> [(0)] : 0 <= x <= 1; [x] -> [(0)] : exists (e : "
                             "x = 2 e and 1 <= e <= 3); [x] -> [(1)] : x = 3 }");
  EXPECT_EQ(isl_pw_aff_is_equal(coalesced(function).get(), function.get()), isl_bool_true);
}

TEST(Coalesced, JoinsNeighbours) {
  const ContextPtr context = make_context();
  const isl::set set(context->get(), "{ [x] : 0 <= x <= 3; [x] : 4 <= x <= 9 }");
  EXPECT_EQ(isl_set_n_basic_set(coalesced(set).get()), 1);
}

} // namespace
} // namespace kawara::poly
