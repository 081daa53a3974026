#include "schedule/tree/extent.h"

#include "unit/schedule/programs.h"

// How many values loops run through in one go: counted where the text of rows is enough, else from
// sets.

namespace kawara::schedule {
namespace {

using Runs = std::vector<int64_t>;

using RunOf = std::optional<int64_t>(const poly::Scop&, const poly::Order&, poly::LoopId);

/// By loop around the last statement, outermost first; 0 where it depends on sizes.
Runs runs(const std::string& program, const std::string& text, RunOf& run_of = longest_run) {
  const auto made = apply(initial(program), directives(text), test_environment());
  EXPECT_TRUE(made) << text;
  Runs out;
  if (!made)
    return out;
  const auto last = static_cast<uint32_t>(made->scop.statements.size() - 1);
  for (const poly::LoopId loop : poly::path_of(made->order, poly::StmtId{last}))
    out.push_back(run_of(made->scop, made->order, loop).value_or(0));
  return out;
}

constexpr const char* kPair = R"(output C: f32[30, 100], D: f32[30, 100]
for i in range(30):
    for j in range(100):
        C[i, j] = 1
for i in range(30):
    for j in range(100):
        D[i, j] = 2
)";

/// A parameter, though nothing depends on it: sets have to be asked.
Runs runs_by_sets(const std::string& program, const std::string& text) {
  return runs("param P\n" + program, text);
}

TEST(Extent, blocks_of_an_iterator_are_counted) {
  const std::string tiles = "split(S1.j, 32); split(S1.i, 7); split(S1.j.1, 6); ";
  EXPECT_EQ(runs(kPair, tiles), (Runs{5, 7, 4, 6, 6}));
  for (const std::string& text :
       {std::string(), tiles, tiles + "reorder(S1.j.0, S1.j.1.0, S1.i.0, S1.j.1.1, S1.i.1)",
        // What is left of a block of 7 in blocks of 16.
        std::string("split(S1.i, 16); split(S1.i.1, 7); interchange(S1.i.0, S1.i.1.0)"),
        std::string("reverse(S1.j); split(S1.j, 9)"),
        std::string("skew(S1.i, S1.j, 2); split(S1.i, 8)"),
        std::string("fuse(S0.i, S1.i); fuse(S0.j, S1.j); split(S1.j, 30)")})
    EXPECT_EQ(runs(kPair, text), runs_by_sets(kPair, text)) << text;
}

TEST(Extent, statements_that_run_over_different_values_are_not_counted_one_by_one) {
  // Together from 0 to 19, though each runs over ten values.
  constexpr const char* kApart = R"(output C: f32[10], D: f32[20]
for i in range(10):
    C[i] = 1
for i in range(10, 20):
    D[i] = 2
)";
  const std::string text = "fuse(S0.i, S1.i); split(S1.i, 16)";
  EXPECT_EQ(runs(kApart, text), (Runs{2, 16}));
  EXPECT_EQ(runs(kApart, text), runs_by_sets(kApart, text));
}

TEST(Extent, a_bound_far_above_what_is_assumed_tells_default_schedules_nothing) {
  // A size that may be anything below 2^31 would be cut into parts of 2^30.
  const auto bounded = [](const std::string& bound, RunOf& run_of) {
    return runs("param N\nassume N <= " + bound +
                    "\noutput C: f32[N, 3000]\nfor i in range(N):\n    for j in range(3000):\n"
                    "        C[i, j] = 1\n",
                "", run_of);
  };
  EXPECT_EQ(bounded("64", known_run), (Runs{64, 3000}));
  EXPECT_EQ(bounded("2147483648", known_run), (Runs{0, 3000}));
  EXPECT_EQ(bounded("2147483648", longest_run), (Runs{2147483648, 3000}));
}

} // namespace
} // namespace kawara::schedule
