#include "unit/tune/hash_bench.h"
#include "unit/tune/records.h"

#include "tune/database/recorded.h"
#include "tune/measure/prover.h"
#include "tune/space/space.h"
#include "tune/tuner/tuner.h"

#include <gtest/gtest.h>

namespace kawara::tune {
namespace {

TEST(Prover, agrees_with_the_judge_on_every_list) {
  const auto reference = small_reference();
  const auto& environment = reference->task.environment;
  const Space space(reference->initial, environment);
  Prover prover(*reference);
  Rng rng(3);
  int proved = 0;
  Point point = space.random(rng);
  for (int k = 0; k < 150; ++k) {
    const std::string text = text_of(point);
    const auto ours = prover.prove(text);
    const auto parsed = schedule::parse_directives(make_source("t", text));
    const auto theirs = schedule::apply(reference->initial, *parsed, environment);
    ASSERT_EQ(static_cast<bool>(ours), static_cast<bool>(theirs)) << text;
    if (ours) {
      EXPECT_EQ(schedule::listing(*ours), schedule::listing(*theirs)) << text;
    }
    proved += ours ? 1 : 0;
    point = k % 10 == 9 ? space.random(rng) : space.mutated(point, rng);
  }
  EXPECT_GT(proved, 10);
  EXPECT_GT(prover.taken_up(), 100);
}

TEST(Prover, says_the_code_of_a_refusal) {
  const auto reference = small_reference();
  Prover prover(*reference);
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_EQ(prover.prove("[split(i, 4); split(x, 4); unroll(i.1)]").error().reason, "K0201");
    EXPECT_EQ(prover.prove("splat(i)").error().reason, "K0230");
  }
  driver::Request request;
  request.text = make_source(
      "t.kw",
      "param N\ninout x: f32[N]\nfor i in range(1, N):\n    x[i] = 0.5 * x[i - 1] + x[i]\n");
  request.sizes["N"] = 50;
  const auto chain = reference_of(*task_of(request, reference->task.environment, 2));
  ASSERT_TRUE(chain);
  Prover strict(**chain);
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_TRUE(strict.prove("[split(i, 4); unroll(i.1)]"));
    EXPECT_EQ(strict.prove("[split(i, 4); parallel(i.0)]").error().reason, "K0204");
    EXPECT_EQ(strict.prove("[split(i, 4); vectorize(i.1, 4); unroll(i.1)]").error().reason,
              "K0205");
  }
}

TEST(Recorded, measures_each_candidate_once) {
  const Folder folder;
  const auto reference = small_reference();
  Database table = open(folder.file("t.db"));
  TuneOptions o;
  o.budget = {60, 60};
  o.limits = {10, 0.3, 0.3, int64_t{1} << 30};
  const auto search = [&](const MakeBench& make) {
    Pool pool(make, 2, o.limits);
    Recorded recorded(pool, table, key_of(reference->task));
    auto report = tune(reference, recorded, nullptr, o);
    if (!report)
      throw std::runtime_error(render(report.error()));
    return *std::move(report);
  };
  const TuneReport first = search(hash_benches());
  // Now nothing can be measured any more, and nothing has to be: no process is started.
  const TuneReport second =
      search([]() -> Parsed<std::unique_ptr<Bench>> { return fail(Diagnostics{{}}); });
  ASSERT_EQ(first.trials.size(), second.trials.size());
  for (size_t k = 0; k < first.trials.size(); ++k) {
    EXPECT_EQ(first.trials[k].directives, second.trials[k].directives);
    EXPECT_EQ(first.trials[k].outcome, second.trials[k].outcome);
    EXPECT_NEAR(first.trials[k].ratio, second.trials[k].ratio, 1e-12);
  }
}

} // namespace
} // namespace kawara::tune
