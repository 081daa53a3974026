#include "schedule/auto/facts/access_table.h"

#include "poly/legality/witness.h"
#include "scalar/loads.h"
#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

#include <map>
#include <random>

namespace kawara::schedule {
namespace {

constexpr int64_t kExtent = 3;

/// A nest of three loops with an update whose indices are drawn, in an order that is drawn.
Schedule random_nest(uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](auto... all) {
    const std::vector<std::string> list{all...};
    return list[random() % list.size()];
  };
  const auto index = [&] {
    return draw("i", "j", "k", "i + j", "2 * k", "j + 1", "7 - i", "3", "k + 2 * i");
  };
  const auto access = [&](const std::string& tensor) {
    return fmt::format("{}[{}, {}]", tensor, index(), index());
  };
  std::string text = "input A: f32[20, 20], B: f32[20, 20]\ninout C: f32[20, 20]\n";
  text += fmt::format("for i in range({0}):\n  for j in range({0}):\n    for k in range({0}):\n",
                      kExtent);
  text += "      " + access("C") + " += " + access("A") + " * " + access("B") + "\n";
  const Schedule start = initial(text);
  const auto moved =
      apply(start, Reorder{{{"S0", draw("i", "k")}, {"S0", "j"}}}, test_environment());
  return moved ? *moved : start;
}

/// What the elements of all iterations say: pairs of which only this loop's place differs, by one.
Move seen(const Schedule& schedule, const std::vector<scalar::Expr>& index, size_t loop) {
  const std::vector<scalar::Expr>& rows = schedule.order.rows.front();
  const auto values = [&](const std::vector<scalar::Expr>& of, const std::vector<int64_t>& at) {
    std::vector<int64_t> found;
    for (const scalar::Expr& e : of)
      found.push_back(poly::value_at(e, {}, at));
    return found;
  };
  bool stays = true, is_next = true;
  for (int64_t n = 0; n < kExtent * kExtent * kExtent; ++n) {
    const std::vector<int64_t> here{n / kExtent / kExtent, n / kExtent % kExtent, n % kExtent};
    for (size_t k = 0; k < here.size(); ++k) {
      std::vector<int64_t> there = here, row = values(rows, here);
      ++there[k];
      ++row[loop];
      if (there[k] == kExtent || values(rows, there) != row)
        continue;
      std::vector<int64_t> next = values(index, here);
      stays = stays && values(index, there) == next;
      ++next.back();
      is_next = is_next && values(index, there) == next;
    }
  }
  return stays ? Move::None : is_next ? Move::Unit : Move::Far;
}

TEST(AccessTable, says_what_all_iterations_of_random_nests_show) {
  std::map<Move, int> count;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Schedule schedule = random_nest(seed);
    const program::Statement& text = schedule.scop[poly::StmtId{0}].text;
    const auto loads = scalar::loads_in(text.value);
    const AccessTable table = access_table(schedule.scop, schedule.order, poly::StmtId{0});
    ASSERT_EQ(table.size(), 1 + loads.size());
    for (size_t at = 0; at < table.size(); ++at)
      for (size_t loop = 0; loop < 3; ++loop) {
        const auto& index = at == 0 ? text.index : loads[at - 1]->index;
        const Move move = seen(schedule, index, loop);
        ++count[move];
        EXPECT_EQ(table[at].moves[loop], move)
            << seed << ", access " << at << ", loop " << loop << "\n"
            << loops_of(schedule);
      }
  }
  for (const Move move : {Move::None, Move::Unit, Move::Far})
    EXPECT_GT(count[move], 100) << "the programs have all kinds";
}

TEST(AccessTable, a_nest_has_its_own_loops_and_all_its_statements) {
  const Schedule schedule = initial(R"(input A: f32[8, 6, 4]
temp B: f32[8, 6, 4]
output C: f32[8, 4, 6]
for n in range(8):
    for i in range(6):
        for j in range(4):
            B[n, i, j] = A[n, i, j]
            C[n, j, i] = B[n, i, j] + 1
    for i in range(6):
        C[n, 0, i] = 0
)");
  const auto& top = schedule.order.body.front();
  const auto nest = perfect_nest_at(schedule.order, top.body.front().loop());
  ASSERT_TRUE(nest.has_value());
  const AccessTable table = access_table(schedule, *nest);
  ASSERT_EQ(table.size(), 4u);
  const auto& c = table[2];
  EXPECT_TRUE(c.is_write);
  EXPECT_EQ(c.moves, (std::vector{Move::Unit, Move::Far})) << "`i`, `j`; `n` is not of the nest";
  const Strides along_j = strides_along(table, 1);
  EXPECT_EQ(along_j.unit, 3);
  EXPECT_EQ(along_j.far_writes, 1);
  EXPECT_FALSE(along_j.writes_same_element);
  EXPECT_EQ(strides_at(schedule, nest->statements, 0).far, 4) << "along `n`";
}

TEST(AccessTable, elements_that_data_choose_are_anywhere) {
  const Schedule schedule = initial(R"(input A: f32[100], at: i32[50]
output C: f32[50]
for i in range(50):
    C[i] = A[at[i]]
)");
  const AccessTable table = access_table(schedule.scop, schedule.order, poly::StmtId{0});
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0].moves.front(), Move::Unit);
  const bool is_data_first = table[1].tensor == 0;
  EXPECT_EQ(table[is_data_first ? 1 : 2].moves.front(), Move::Far) << "A";
  EXPECT_EQ(table[is_data_first ? 2 : 1].moves.front(), Move::Unit) << "at";
}

} // namespace
} // namespace kawara::schedule
