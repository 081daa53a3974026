#include "rules/proof.h"
#include "rules/sample.h"

#include <gtest/gtest.h>

namespace kawara::rules {
namespace {

using rewrite::Rule;

Rule rule_of(const std::string& text) {
  const auto rules = rewrite::parse_rules(make_source("test.rules", text));
  EXPECT_TRUE(rules) << render(rules.error());
  return rules->front();
}

/// Every second rule, from `first` on.
void prove_all(size_t first) {
  const auto& rules = rewrite::standard_rules();
  for (size_t k = first; k < rules.size(); k += 2) {
    // Far more than any of them needs: a busy machine must not make a proof fail.
    const Verdict verdict = prove(rules[k], 30'000);
    EXPECT_TRUE(verdict.is_proved) << rules[k].name << ": " << verdict.failure;
  }
}

TEST(Proofs0, EveryRuleIsProved) { prove_all(0); }
TEST(Proofs1, EveryRuleIsProved) { prove_all(1); }

TEST(Numbers, EveryRuleAgreesOnNumbers) {
  for (const Rule& rule : rewrite::standard_rules()) {
    const NumericCheck check = check_numerically(rule, 3, 11);
    EXPECT_EQ(check.agreed, 3) << rule.name << ": " << check.failure;
  }
}

TEST(Numbers, ThereAreManyRules) {
  size_t written = 0;
  std::string last;
  for (const Rule& rule : rewrite::standard_rules()) {
    written += rule.text != last;
    last = rule.text;
  }
  EXPECT_GE(written, 60U);
}

/// What is wrong must not be proved, and numbers must show it.
class Wrong : public testing::TestWithParam<const char*> {};

TEST_P(Wrong, RuleIsRejected) {
  const Rule rule = rule_of(GetParam());
  EXPECT_FALSE(prove(rule).is_proved) << GetParam();
  EXPECT_NE(check_numerically(rule, 20, 5).failure, "") << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Rejected, Wrong,
    testing::Values(
        "rule a exact MatMul(x, y) -> MatMul(y, x)",
        "rule b exact Transpose(Transpose(x, perm=p), perm=q) -> Transpose(x, perm=take(q, p))",
        "rule c rounding Relu(Add(x, y)) -> Add(Relu(x), Relu(y))",
        "rule d rounding Sub(x, y) -> Sub(y, x)",
        "rule e exact Slice(Slice(x, starts=s, counts=c, steps=d), starts=t, counts=e, steps=f)"
        " -> Slice(x, starts=s + t, counts=e, steps=d * f)",
        "rule f rounding ReduceMax(Add(x, y), axes=a, keepdims=k)"
        " -> Add(ReduceMax(x, axes=a, keepdims=k), ReduceMax(y, axes=a, keepdims=k))"
        " where dims(x) == dims(y)",
        "rule g exact Concat(x, y, axis=k) -> Concat(y, x, axis=k)",
        "rule h rounding ReduceMean(Concat(x, y, axis=k), axes=[k], keepdims=1)"
        " -> Add(ReduceMean(x, axes=[k], keepdims=1), ReduceMean(y, axes=[k], keepdims=1))",
        "rule i rounding Conv(Mul(x, c), w, ..k) -> Mul(Conv(x, w, ..k), c)"
        " where rank(x) == 4, dims(c) == [1, dim(x, 1), 1, 1]"));

/// Equal over the reals is not equal bit by bit.
TEST(Rejected, SumsInAnotherOrderAreNotExact) {
  EXPECT_FALSE(prove(rule_of("rule a exact Add(Add(x, y), z) -> Add(x, Add(y, z))")).is_proved);
  EXPECT_FALSE(
      prove(rule_of("rule b exact MatMul(MatMul(x, y), z) -> MatMul(x, MatMul(y, z))")).is_proved);
  EXPECT_FALSE(
      prove(rule_of("rule c exact ReduceSum(Transpose(x, perm=p), axes=a, keepdims=1)"
                    " -> Transpose(ReduceSum(x, axes=sorted(take(p, a)), keepdims=1), perm=p)"))
          .is_proved);
}

/// A rule that applies nowhere is no rule.
TEST(Rejected, NoInstanceIsNoProof) {
  const Verdict verdict = prove(rule_of("rule a exact Relu(x) -> Relu(x) where rank(x) == 9"));
  EXPECT_FALSE(verdict.is_proved);
  EXPECT_EQ(verdict.failure, "no instance");
}

} // namespace
} // namespace kawara::rules
