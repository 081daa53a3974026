#include "unit/tune/hash_bench.h"

#include "tune/measure/subprocess.h"
#include "tune/ranks/rank_messages.h"
#include "tune/ranks/ranks.h"

#include <gtest/gtest.h>

#include <csignal>

namespace kawara::tune {
namespace {

TEST(Ranks, get_portions_by_their_speed) {
  std::vector<Helper> helpers{{1, 2, 0, false, 0}, {2, 2, 0, false, 0}, {3, 2, 0, false, 0}};
  EXPECT_EQ(portion_of(60, helpers, 0), 10u);
  helpers[0].speed = 30;
  helpers[1].speed = 10;
  helpers[2].speed = 1;
  EXPECT_EQ(portion_of(60, helpers, 0), 21u);
  EXPECT_EQ(portion_of(60, helpers, 1), 7u);
  EXPECT_EQ(portion_of(60, helpers, 2), 2u) << "at least one for each worker";
  EXPECT_EQ(portion_of(1, helpers, 2), 1u);
  helpers[0].is_lost = true;
  EXPECT_EQ(portion_of(60, helpers, 1), 27u);
}

TEST(Ranks, understand_each_other) {
  const RankAnswer answer{3, 4, 5, Measured{Outcome::Crashed, "why", {{1, 2}, {3, 4}}}, false};
  const auto back = answer_from(answer_message(answer));
  ASSERT_TRUE(back && back->measured);
  EXPECT_EQ(back->index, 5u);
  EXPECT_EQ(back->measured->outcome, Outcome::Crashed);
  EXPECT_EQ(back->measured->samples.theirs, (std::vector<double>{3, 4}));
  const auto batch =
      batch_from(measure_message({1, 2, {7, 9}, {"a", "b"}, {3, 0.5, 2, 1, 1.5, true}}));
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->indices, (std::vector<size_t>{7, 9}));
  EXPECT_EQ(batch->effort.unlikely, 1.5);
  EXPECT_TRUE(batch->effort.anew);
  const Task task = small_reference()->task;
  const auto sent = task_from(task_message({8, task, 2, {}}));
  ASSERT_TRUE(sent && *sent);
  EXPECT_EQ(key_of((**sent).task).program, key_of(task).program);
  EXPECT_EQ((**sent).task.sizes, task.sizes);
  EXPECT_TRUE(is_stop(stop_message()));
  for (const char* other : {"", "{}", "[1]", "{\"is\": 4}", "{\"is\": \"nothing\"}"}) {
    EXPECT_FALSE(answer_from(other));
    EXPECT_FALSE(batch_from(other));
    EXPECT_FALSE(task_from(other));
    EXPECT_FALSE(is_stop(other));
  }
}

TEST(Ranks, need_open_mpi) {
  const auto opened = Mpi::open("no-such-library.so");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "K0641");
}

TEST(Apart, gives_text_errors_and_losses_back) {
  EXPECT_EQ(*run_in_subprocess([]() -> Parsed<std::string> { return std::string("fine"); }),
            "fine");
  const auto refused = run_in_subprocess([]() -> Parsed<std::string> {
    Diagnostic d;
    d.code = "K0520";
    d.headline = "no input is called `y`";
    d.help.push_back({"there is", "x", true});
    return fail(Diagnostics{d});
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().code, "K0520");
  EXPECT_EQ(refused.error().front().help.front().text, "x");
  const auto lost = run_in_subprocess([]() -> Parsed<std::string> {
    ::raise(SIGKILL);
    return std::string();
  });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().front().code, "K0640");
}

} // namespace
} // namespace kawara::tune
