#include "kernel/walk.h"

#include "kernel/analysis/intervals.h"
#include "kernel/analysis/ranges.h"
#include "kernel/gpu/guarded_unroll.h"
#include "kernel/memory/promote.h"
#include "kernel/vars.h"

#include <gtest/gtest.h>

namespace kawara::kernel {
namespace {

Expr number(int64_t value) { return scalar::int_lit(value); }

/// for var in range(0, end): body
For loop_over(uint32_t var, int64_t end, Block body) {
  For loop;
  loop.var = var;
  loop.lo = number(0);
  loop.hi = number(end);
  loop.body = std::move(body);
  return loop;
}

Store store_to(uint32_t buffer, Expr index, Expr value) {
  return {buffer, {std::move(index)}, ReduceOp::None, std::move(value)};
}

Launch launch_of(Block body) {
  Launch launch;
  launch.name = "k";
  launch.blocks.fill(number(1));
  launch.block_vars = {10, 11, 12};
  launch.thread_vars = {13, 14, 15};
  launch.body = std::move(body);
  return launch;
}

Expr read_of(uint32_t buffer, Expr index) {
  return scalar::load(buffer, {std::move(index)}, {scalar::Elem::F32, 1});
}

/// launch: for 0: { if: A[v0] = B[v0] else: zero C; let v1 = 7 }; private D: for 2: barrier
Block sample() {
  const Expr i = scalar::var(0);
  If branch{scalar::binary(scalar::BinaryOp::Lt, i, number(3)),
            block_of(store_to(0, i, read_of(1, i))), block_of(Zero{2})};
  Block body{std::move(branch), Define{1, number(7)}};
  Allocate allocate{3, block_of(loop_over(2, 5, block_of(Barrier{})))};
  return block_of(launch_of({loop_over(0, 4, std::move(body)), std::move(allocate)}));
}

std::string name_of(const Stmt& stmt) {
  constexpr std::array kNames = {"for",     "if",     "allocate", "launch",   "store",
                                 "define",  "assign", "zero",     "prefetch", "comment",
                                 "barrier", "commit", "await",    "combine",  "async"};
  return kNames.at(stmt.index());
}

using Names = std::vector<std::string>;

TEST(Walk, VisitsEveryStatementParentsFirst) {
  Names seen;
  visit(sample(), [&](const Stmt& stmt) { seen.push_back(name_of(stmt)); });
  EXPECT_EQ(seen, (Names{"launch", "for", "if", "store", "zero", "define", "allocate", "for",
                         "barrier"}));
}

TEST(Walk, VisitsTheKindsThatTheFunctionTakes) {
  std::vector<uint32_t> loops;
  EXPECT_EQ(visit(sample(), [&](const For& loop) { loops.push_back(loop.var); }),
            WalkResult::Advance);
  EXPECT_EQ(loops, (std::vector<uint32_t>{0, 2}));
}

TEST(Walk, SkipsWhatIsInsideOrStops) {
  Names seen;
  const auto note = [&](const Stmt& stmt, WalkResult at_loop) {
    seen.push_back(name_of(stmt));
    return std::holds_alternative<For>(stmt) ? at_loop : WalkResult::Advance;
  };
  EXPECT_EQ(visit(sample(), [&](const Stmt& s) { return note(s, WalkResult::Skip); }),
            WalkResult::Advance);
  EXPECT_EQ(seen, (Names{"launch", "for", "allocate", "for"}));
  seen.clear();
  EXPECT_EQ(visit(sample(), [&](const Stmt& s) { return note(s, WalkResult::Interrupt); }),
            WalkResult::Interrupt);
  EXPECT_EQ(seen, (Names{"launch", "for"}));
}

TEST(Walk, ChangesStatementsInPlace) {
  Block body = sample();
  visit(body, [](For& loop) { loop.marks.unroll = 2; });
  visit(body, [](Store& store) { store.op = ReduceOp::Sum; });
  int64_t unrolled = 0;
  visit(body, [&](const For& loop) { unrolled += loop.marks.unroll; });
  EXPECT_EQ(unrolled, 4);
  EXPECT_TRUE(has(body, [](const Store& store) { return store.op == ReduceOp::Sum; }));
}

TEST(Walk, AsksForKindsAndProperties) {
  const Block body = sample();
  EXPECT_TRUE(has<Barrier>(body));
  EXPECT_TRUE((has<Commit, Zero>(body)));
  EXPECT_FALSE(has<Commit>(body));
  EXPECT_TRUE(has<Launch>(body.front()));
  EXPECT_TRUE(has(body, [](const For& loop) { return loop.var == 2; }));
  EXPECT_FALSE(has(body, [](const For& loop) { return loop.var == 9; }));
  EXPECT_TRUE(has(body, [](const Stmt& stmt) { return std::holds_alternative<Zero>(stmt); }));
  EXPECT_TRUE((has_only<Launch, For, If, Allocate, Store, Zero, Define, Barrier>(body)));
  EXPECT_FALSE((has_only<Launch, For, If, Allocate, Store, Zero, Define>(body)));
}

/// Writes down what the walk tells it.
struct Diary {
  Names lines;
  void enter(const For& s) { lines.push_back("into " + std::to_string(s.var)); }
  void leave(const For& s) { lines.push_back("out of " + std::to_string(s.var)); }
  void enter(const If&) { lines.emplace_back("into an arm"); }
  void leave(const If&) { lines.emplace_back("out of an arm"); }
  void after(const Define& s) { lines.push_back("after " + std::to_string(s.var)); }
};

TEST(Walk, TellsATrackerWhatIsAround) {
  Diary diary;
  visit_scoped(sample(), diary, [&](const Stmt& s) { diary.lines.push_back(name_of(s)); });
  const Names expected = {"launch", "for",           "into 0",      "if",       "into an arm",
                          "store",  "out of an arm", "into an arm", "zero",     "out of an arm",
                          "define", "after 1",       "out of 0",    "allocate", "for",
                          "into 2", "barrier",       "out of 2"};
  EXPECT_EQ(diary.lines, expected);
}

TEST(Walk, TrackersAreOutOfEverythingAfterAWalkThatStops) {
  Diary diary;
  visit_scoped(sample(), diary, [](const Zero&) { return WalkResult::Interrupt; });
  EXPECT_EQ(diary.lines, (Names{"into 0", "into an arm", "out of an arm", "into an arm",
                                "out of an arm", "out of 0"}));
}

TEST(Walk, RangesKnowTheLoopsAround) {
  Ranges ranges;
  std::vector<bool> known;
  visit_scoped(sample(), ranges, [&](const Stmt&) {
    known.push_back(ranges.is_at_least(number(3) - scalar::var(0), 0));
  });
  EXPECT_EQ(known, (std::vector<bool>{false, false, true, true, true, true, false, false, false}));
}

TEST(Walk, RangesKnowTheConditionsAbove) {
  using scalar::binary, scalar::BinaryOp, scalar::var, scalar::int_lit;
  For loop;
  loop.var = 0;
  loop.lo = int_lit(0);
  loop.hi = int_lit(3);
  const Expr left = int_lit(20) - var(0) * int_lit(8);
  loop.body.emplace_back(
      If{binary(BinaryOp::Ge, left, int_lit(8)), block_of(Zero{1}), block_of(Zero{2})});
  loop.body.emplace_back(Zero{3});
  const Block block = block_of(std::move(loop));
  Ranges ranges;
  std::vector<uint32_t> known;
  visit_scoped(block, ranges, [&](const Zero& zero) {
    if (ranges.is_at_least(left, 8) && !ranges.is_at_least(left, 9))
      known.push_back(zero.buffer);
  });
  EXPECT_EQ(known, std::vector<uint32_t>{1});
}

TEST(Walk, RewritesInnerStatementsFirst) {
  Names seen;
  const Block made = rewrite(sample(), [&](Stmt stmt) {
    seen.push_back(name_of(stmt));
    return std::holds_alternative<Zero>(stmt) ? Block{} : block_of(std::move(stmt));
  });
  EXPECT_EQ(seen, (Names{"store", "zero", "if", "define", "for", "barrier", "for", "allocate",
                         "launch"}));
  EXPECT_FALSE(has<Zero>(made));
  EXPECT_TRUE(has<Store>(made));
}

TEST(Walk, RewritesTheKindsThatTheFunctionTakes) {
  const Block made = rewrite(sample(), [](For loop) {
    Block both = block_of(Comment{"loop"});
    both.emplace_back(std::move(loop));
    return both;
  });
  Names seen;
  visit(made, [&](const Stmt& stmt) { seen.push_back(name_of(stmt)); });
  EXPECT_EQ(seen, (Names{"launch", "comment", "for", "if", "store", "zero", "define", "allocate",
                         "comment", "for", "barrier"}));
}

TEST(Walk, RewritesWithATrackerAndAChangeOnTheWayIn) {
  Diary diary;
  const Block made = rewrite_scoped(
      sample(), diary,
      [](For& loop) {
        loop.hi = number(9);
        return loop.var == 2 ? WalkResult::Skip : WalkResult::Advance;
      },
      [&](For loop) -> Stmt {
        diary.lines.push_back("made " + std::to_string(loop.var));
        return loop;
      });
  EXPECT_EQ(diary.lines, (Names{"into 0", "into an arm", "out of an arm", "into an arm",
                                "out of an arm", "after 1", "out of 0", "made 0", "made 2"}));
  EXPECT_FALSE(
      has(made, [](const For& loop) { return scalar::constant_of(loop.hi) != int64_t{9}; }));
  EXPECT_TRUE(has<Barrier>(made));
}

TEST(Walk, ChangesInnermostLoopsOnly) {
  Block body = block_of(loop_over(0, 4, block_of(loop_over(1, 4, {}))));
  EXPECT_TRUE(change_innermost_loops(body, [](For& loop) {
    loop.marks.unroll = 3;
    return true;
  }));
  EXPECT_FALSE(change_innermost_loops(body, [](For&) { return false; }));
  EXPECT_TRUE(has(body, [](const For& loop) { return loop.var == 1 && loop.marks.unroll == 3; }));
  EXPECT_FALSE(has(body, [](const For& loop) { return loop.var == 0 && loop.marks.unroll == 3; }));
}

TEST(Walk, ExpressionsOfEveryKind) {
  AsyncOp arrive{Arrive{{0, number(21)}, 0, number(22)}};
  Block body{Prefetch{0, {number(1), number(2)}}, Assign{0, number(3)},
             Combine{0, ReduceOp::Sum, number(4)},
             If{number(5), block_of(Define{1, number(6)}), {}}, std::move(arrive)};
  std::vector<int64_t> seen;
  visit_exprs(body, [&](const Expr& e) { seen.push_back(*scalar::constant_of(e)); });
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 21, 22}));
  const Block made =
      map_exprs(body, [](const Expr& e) { return number(*scalar::constant_of(e) + 100); });
  seen.clear();
  visit_exprs(made, [&](const Expr& e) { seen.push_back(*scalar::constant_of(e)); });
  EXPECT_EQ(seen, (std::vector<int64_t>{101, 102, 103, 104, 105, 106, 121, 122}));
}

TEST(Walk, LoadsAreFoundInIndicesToo) {
  const Expr inner = scalar::load(5, {number(0)}, scalar::kIndex);
  const Block body = block_of(store_to(0, inner, read_of(6, inner)));
  std::vector<uint32_t> buffers;
  visit_loads(body, [&](const scalar::Load& load) { buffers.push_back(load.tensor); });
  EXPECT_EQ(buffers, (std::vector<uint32_t>{5, 6, 5}));
  size_t indices = 0;
  visit_loads(body, [&](const scalar::Load&, const Expr& e) {
    indices += e.type() == scalar::kIndex ? 1 : 0;
  });
  EXPECT_EQ(indices, 2U);
}

TEST(Walk, ChangesWhatIsLoadedAndStored) {
  const Block body = block_of(store_to(1, scalar::var(0), read_of(1, scalar::var(0))));
  const Block made = map_accesses(body, [](uint32_t& buffer, std::vector<Expr>& index) {
    if (buffer != 1)
      return false;
    buffer = 4;
    index = {number(8)};
    return true;
  });
  const auto& store = std::get<Store>(made.front());
  EXPECT_EQ(store.buffer, 4U);
  EXPECT_EQ(scalar::constant_of(store.index.at(0)), std::optional<int64_t>(8));
  const auto* load = scalar::as<scalar::Load>(store.value);
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->tensor, 4U);
  EXPECT_EQ(scalar::constant_of(load->index.at(0)), std::optional<int64_t>(8));
}

TEST(Walk, OriginsAreThoseOfTheStatementItself) {
  Store store = store_to(0, number(0), number(1));
  store.origins = {{7, {}}};
  EXPECT_EQ(origins_of(Stmt(store))->front().statement, 7U);
  EXPECT_EQ(origins_of(Stmt(Zero{0})), nullptr);
  Mma product;
  product.origins = {{8, {}}};
  EXPECT_EQ(origins_of(Stmt(AsyncOp{product}))->front().statement, 8U);
  EXPECT_EQ(origins_of(Stmt(AsyncOp{GroupBarrier{}})), nullptr);
}

/// let 0 = 2; for 1 in range(0, 4): { 0 = 0 + 1; `inside` }
Block counting(Stmt inside) {
  Block body{Assign{0, scalar::var(0) + number(1)}, std::move(inside)};
  return {Define{0, number(2)}, loop_over(1, 4, std::move(body))};
}

TEST(Intervals, NothingIsKnownOfAVariableThatALoopAssigns) {
  Intervals intervals;
  std::vector<std::optional<int64_t>> lows;
  visit_scoped(counting(Zero{0}), intervals, [&](const OneOf<For, Zero> auto&) {
    lows.push_back(intervals.of(scalar::var(0)).low);
  });
  EXPECT_EQ(lows, (std::vector<std::optional<int64_t>>{2, std::nullopt}));
  EXPECT_EQ(intervals.of(scalar::var(1)).high, std::optional<int64_t>(3));
}

TEST(Intervals, KnowBlocksAndThreads) {
  Intervals intervals;
  Launch launch = launch_of(block_of(Zero{0}));
  launch.blocks[0] = number(7);
  launch.threads = {32, 1, 1};
  visit_scoped(block_of(launch), intervals, [&](const Zero&) {
    EXPECT_EQ(intervals.of(scalar::var(10) * number(32) + scalar::var(13)).high,
              std::optional<int64_t>(6 * 32 + 31));
  });
}

/// A kernel of i64 variables and one private buffer of 4 elements.
Kernel small_kernel(Block body) {
  Kernel kernel;
  for (const char* name : {"n", "i", "j", "total"})
    kernel.variables.push_back({name, scalar::kIndex});
  kernel.variables.back().type = {scalar::Elem::F32, 1};
  Buffer own;
  own.name = "T";
  own.shape = {number(4)};
  own.scope = Scope::Private;
  kernel.buffers = {own};
  kernel.body = std::move(body);
  return kernel;
}

TEST(GuardedUnroll, LoopsThatEndAtAnAssignedVariableStay) {
  For inner = loop_over(2, 0, block_of(store_to(0, number(0), read_of(0, number(1)))));
  inner.marks.unroll = poly::kFullUnroll;
  const auto loops_left = [&](const Expr& end, const Stmt& first) {
    For open = inner;
    open.hi = end;
    Block body{first, For(open)};
    const Kernel made = guarded_unroll(small_kernel(std::move(body)), launch_of({}));
    return has(made.body, [](const For& loop) { return loop.var == 2; });
  };
  // n is 2: two copies; where a loop around counts n on, nobody knows how many.
  EXPECT_FALSE(loops_left(scalar::var(0), Define{0, number(2)}));
  For around = inner;
  around.hi = scalar::var(0);
  const Kernel made = guarded_unroll(small_kernel(counting(For(around))), launch_of({}));
  EXPECT_TRUE(has(made.body, [](const For& loop) { return loop.var == 2; }));
}

TEST(Promote, ElementsThatACombineMayReadStayInMemory) {
  const auto made = [](const Expr& combined) {
    Store update = store_to(0, number(0), scalar::float_lit(1, {scalar::Elem::F32, 1}));
    update.op = ReduceOp::Sum;
    Block body{std::move(update), Combine{3, ReduceOp::Sum, combined}};
    const Block loops = block_of(loop_over(1, 4, std::move(body)));
    return promote(small_kernel(block_of(Allocate{0, loops})), {});
  };
  EXPECT_TRUE(has<Assign>(made(scalar::float_lit(2, {scalar::Elem::F32, 1})).body));
  EXPECT_TRUE(has<Assign>(made(read_of(0, scalar::var(1) + number(4))).body));
  EXPECT_FALSE(has<Assign>(made(read_of(0, scalar::var(1))).body));
}

} // namespace
} // namespace kawara::kernel
