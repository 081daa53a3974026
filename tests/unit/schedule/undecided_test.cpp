#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

/// What a directive is told when questions may take one operation.
std::string refusal_of(const char* program, const char* directive) {
  const Schedule start = initial(program);
  Environment poor = test_environment();
  poor.quota = 1;
  const auto result = apply(start, directives(directive), poor);
  return result ? "" : render(explain(start, result.error(), poor));
}

TEST(Undecided, is_refused_and_said_so) {
  const std::string said = refusal_of(kJacobi, "reverse(i)");
  EXPECT_NE(said.find("K0206"), std::string::npos) << said;
  EXPECT_NE(said.find("Whether the order keeps the meaning was not found out"), std::string::npos)
      << said;
}

TEST(Undecided, ProposalsHaveALimitToo) {
  const std::string said = refusal_of(kGemm, "promote(C, k)");
  EXPECT_NE(said.find("K0206"), std::string::npos) << said;
  EXPECT_NE(said.find("takes more than 4 operations"), std::string::npos) << said;
}

} // namespace
} // namespace kawara::schedule
