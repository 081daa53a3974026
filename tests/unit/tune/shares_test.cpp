#include "unit/tune/hash_bench.h"

#include "driver/kernels/kernels.h"
#include "tune/measure/pool.h"
#include "tune/tuner/shares.h"
#include "tune/tuner/tasks.h"

#include <gtest/gtest.h>

namespace kawara::tune {
namespace {

TaskState state(double uses, double first, std::vector<double> best) {
  TaskState s;
  s.uses = uses;
  s.first_seconds = first;
  s.best = std::move(best);
  // Kinds of their own, so that none is measured by another.
  s.kind = std::to_string(uses) + std::to_string(first);
  return s;
}

TEST(Shares, give_each_task_a_first_turn) {
  std::vector<TaskState> tasks{state(1, 0, {}), state(1, 0, {}), state(1, 0, {})};
  for (size_t k = 0; k < tasks.size(); ++k) {
    ASSERT_EQ(next_task(tasks), k);
    tasks[k].first_seconds = 1;
    tasks[k].best.push_back(1);
  }
}

TEST(Shares, prefer_what_costs_most) {
  EXPECT_EQ(next_task({state(1, 1, {1}), state(1, 10, {10})}), 1u);
  EXPECT_EQ(next_task({state(30, 1, {1}), state(1, 10, {10})}), 0u) << "used in thirty places";
}

TEST(Shares, prefer_what_still_gains) {
  const std::vector<double> stuck{5, 5, 5, 5, 5, 5}, falling{9, 8, 7, 6.5, 6, 5};
  EXPECT_EQ(next_task({state(1, 5, stuck), state(1, 10, falling)}), 1u);
  EXPECT_EQ(next_task({state(1, 10, falling), state(1, 5, stuck)}), 0u);
}

TEST(Shares, hope_for_a_task_far_behind_its_kind) {
  TaskState fast = state(1, 1, {1, 1, 1, 1}), slow = state(1, 1, {1, 1, 1, 1});
  fast.kind = slow.kind = "product";
  fast.work = 100; // as long for ten times the work
  slow.work = 10;
  EXPECT_EQ(next_task({fast, slow}), 1u);
}

TEST(Shares, leave_out_what_is_finished) {
  std::vector<TaskState> tasks{state(1, 9, {9}), state(1, 1, {1})};
  tasks[0].is_finished = true;
  EXPECT_EQ(next_task(tasks), 1u);
  tasks[1].is_finished = true;
  EXPECT_FALSE(next_task(tasks));
}

SharedTask shared_task(const std::string& name, int64_t size, int64_t uses) {
  driver::Request request;
  request.text = make_source("t.kw", "param N\ninput A: f32[N, N]\noutput C: f32[N, N]\n"
                                     "C[i, j] = A[j, i]\n");
  request.sizes["N"] = size;
  auto task = task_of(std::move(request), small_reference()->task.environment, 2);
  if (!task)
    throw std::runtime_error(render(task.error()));
  return {name, *std::move(task), uses};
}

TEST(Tasks, without_work_are_left_out) {
  const auto kept = worth_tuning(
      {shared_task("tiny", 4, 1), shared_task("large", 100, 1), shared_task("often", 40, 20)});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].name, "often");
  EXPECT_EQ(kept[1].name, "large");
}

TEST(Tasks, share_a_budget) {
  TasksOptions options;
  options.each.budget = {60, 120};
  options.each.limits = {10, 0.3, 0.3, int64_t{1} << 30};
  const MakeMeasurer make = [](const std::shared_ptr<const Reference>&) {
    return std::make_unique<Pool>(hash_benches(), 2, Limits{10, 0.3, 0.3, int64_t{1} << 30});
  };
  const auto reports = tune_tasks({shared_task("often", 30, 50), shared_task("once", 31, 1)}, make,
                                  nullptr, options);
  ASSERT_TRUE(reports) << render(reports.error());
  ASSERT_EQ(reports->size(), 2u);
  EXPECT_EQ((*reports)[0].report.progress.trials + (*reports)[1].report.progress.trials, 120);
  EXPECT_GT((*reports)[1].report.progress.trials, 0);
  EXPECT_GT((*reports)[0].rounds, 2 * (*reports)[1].rounds) << "fifty uses against one";
  for (const TaskReport& task : *reports) {
    ASSERT_TRUE(task.report.best);
    EXPECT_LT(task.seconds, task.default_seconds);
  }
}

TEST(Model, takes_schedules_that_are_known) {
  const std::string text = "input A: f32[8, 8]\noutput C: f32[8, 8]\nC[i, j] = A[j, i]\n";
  driver::Kernels kernels;
  std::vector<std::string> asked;
  kernels.use([&](const driver::Request& request) {
    asked.push_back(request.text->text);
    return make_source("known", "interchange(i, j)");
  });
  ASSERT_TRUE(kernels.compile(text));
  ASSERT_TRUE(kernels.compile(text));
  EXPECT_EQ(asked, std::vector<std::string>{text});
  EXPECT_EQ(kernels.uses().at(text), 2);
  // What is refused is not used, and nothing is lost.
  kernels.use([](const driver::Request&) { return make_source("known", "split(x, 4)"); });
  EXPECT_TRUE(kernels.compile("input A: f32[8]\noutput C: f32[8]\nC[i] = A[i]\n"));
}

} // namespace
} // namespace kawara::tune
