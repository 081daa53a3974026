#include "kernel/gpu/chain/empty_steps.h"

#include <gtest/gtest.h>

namespace kawara::kernel {
namespace {

using scalar::int_lit;

constexpr uint32_t kScores = 0, kBest = 1, kOld = 2, kFactor = 3, kTotal = 4; // buffers
constexpr uint32_t kStep = 0;                                                 // variables
const scalar::Type kFloat{scalar::Elem::F32, 1};
const std::set<uint32_t> kKept = {kBest, kTotal};

/// Steps of 64 columns; a row has no columns after its own.
class StepBuilder {
public:
  StepBuilder() {
    for (const uint32_t buffer : {kBest, kOld, kFactor, kTotal})
      form.buffers[buffer] = {0, std::nullopt};
    form.buffers[kScores] = {0, 1};
  }

  const Expr first = scalar::var(kStep) * int_lit(64);
  ChainForm form;

  /// buffer[i] op= value, where `value` is made of the row's variable.
  template <class F> void row(uint32_t buffer, ReduceOp op, const F& value) {
    const uint32_t i = next_++;
    form.inside.emplace_back(ChainNest{{i, int_lit(128), 128},
                                       std::nullopt,
                                       {buffer, {scalar::var(i)}, op, value(scalar::var(i))}});
  }
  /// buffer[i] op= scores[i, j] along the columns that the row has.
  void combine(uint32_t buffer, ReduceOp op, const Expr& columns_more = int_lit(0)) {
    const uint32_t i = next_++, j = next_++;
    const Expr end = scalar::simplify(scalar::var(i) - first + int_lit(1) + columns_more);
    const Expr hi = scalar::binary(scalar::BinaryOp::Min, int_lit(64), end);
    const Expr score = scalar::load(kScores, {scalar::var(i), scalar::var(j)}, kFloat);
    form.inside.emplace_back(ChainNest{
        {i, int_lit(128), 128}, TileAxis{j, hi, 64}, {buffer, {scalar::var(i)}, op, score}});
  }
  bool keeps() const { return keeps_rows_without_columns(form, first, kKept); }

private:
  uint32_t next_ = 1;
};

Expr element(uint32_t buffer, const Expr& row) { return scalar::load(buffer, {row}, kFloat); }

/// old = best; best max= scores; factor = exp(old - best).
StepBuilder rescaling() {
  StepBuilder step;
  step.row(kOld, ReduceOp::None, [](const Expr& i) { return element(kBest, i); });
  step.combine(kBest, ReduceOp::Max);
  step.row(kFactor, ReduceOp::None, [](const Expr& i) {
    return scalar::unary(scalar::UnaryOp::Exp, element(kOld, i) - element(kBest, i));
  });
  return step;
}

TEST(EmptySteps, a_rescaling_by_what_has_not_changed_keeps_the_row) {
  StepBuilder step = rescaling();
  step.row(kTotal, ReduceOp::Prod, [](const Expr& i) { return element(kFactor, i); });
  step.combine(kTotal, ReduceOp::Sum);
  EXPECT_TRUE(step.keeps());
}

TEST(EmptySteps, any_other_change_of_a_row_is_seen) {
  StepBuilder step = rescaling();
  step.row(kTotal, ReduceOp::Prod,
           [](const Expr& i) { return element(kFactor, i) * scalar::float_lit(0.5, kFloat); });
  EXPECT_FALSE(step.keeps());
  StepBuilder counted = rescaling();
  counted.row(kTotal, ReduceOp::Sum, [](const Expr&) { return scalar::float_lit(1, kFloat); });
  EXPECT_FALSE(counted.keeps());
}

TEST(EmptySteps, rows_must_be_without_columns) {
  StepBuilder step = rescaling();
  step.combine(kTotal, ReduceOp::Sum, int_lit(1)); // the last such row has one
  EXPECT_FALSE(step.keeps());
}

TEST(EmptySteps, values_of_an_earlier_step_are_not_there) {
  StepBuilder step;
  step.row(kTotal, ReduceOp::Prod, [](const Expr& i) { return element(kFactor, i); });
  EXPECT_FALSE(step.keeps());
}

} // namespace
} // namespace kawara::kernel
