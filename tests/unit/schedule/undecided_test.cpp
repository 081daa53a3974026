#include "programs.h"

namespace kawara::schedule {
namespace {

TEST(Undecided, is_refused_and_said_so) {
  const Schedule start = initial(kJacobi);
  Environment poor = test_environment();
  poor.quota = 1;
  const auto result = apply(start, directives("reverse(i)"), poor);
  ASSERT_FALSE(result);
  const Diagnostic d = explain(start, result.error(), poor);
  EXPECT_EQ(d.code, "K0206");
  EXPECT_NE(render(d).find("Whether the order keeps the meaning was not found out"),
            std::string::npos)
      << render(d);
}

TEST(Undecided, ProposalsHaveALimitToo) {
  const Schedule start = initial(kGemm);
  Environment poor = test_environment();
  poor.quota = 1;
  const auto result = apply(start, directives("promote(C, k)"), poor);
  ASSERT_FALSE(result);
  const Diagnostic d = explain(start, result.error(), poor);
  EXPECT_EQ(d.code, "K0206");
  EXPECT_NE(render(d).find("takes more than 4 operations"), std::string::npos) << render(d);
}

} // namespace
} // namespace kawara::schedule
