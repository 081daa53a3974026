#include "cache/simulate.h"

#include "unit/cache/naive.h"

#include <gtest/gtest.h>

namespace kawara::cache {
namespace {

Description cache_of(int64_t lines, int64_t ways, Policy policy = Policy::Lru) {
  Description d;
  d.name = "L1";
  d.bytes = lines * 64;
  d.ways = ways;
  d.policy = policy;
  return d;
}

/// Reads (or, where negative, writes) of these lines, one by one.
AccessProgram reads_of(const std::vector<int64_t>& lines) {
  AccessProgram program;
  program.arrays.push_back({"A", 64 * 64, 0});
  for (const int64_t line : lines) {
    Touch touch;
    touch.reference = static_cast<uint32_t>(program.references.size());
    touch.at.constant = std::abs(line) * 64;
    touch.bytes = 8;
    program.references.push_back(
        {line < 0 ? Reference::Kind::Write : Reference::Kind::Read, 0, "S", "", {}});
    program.code.push_back({std::move(touch)});
  }
  return program;
}

/// 'h' for each hit, else which miss it was: 'f'irst, c'a'pacity or c'o'nflict.
std::string outcome(const std::vector<int64_t>& lines, const Description& d) {
  const Simulated made = simulate(reads_of(lines), {d});
  std::string text;
  for (const Count& c : made.counts[0].of)
    text += c.compulsory > 0 ? 'f' : c.capacity > 0 ? 'a' : c.conflict > 0 ? 'o' : 'h';
  return text;
}

TEST(Simulate, LruPutsOutWhatWasUsedLongestAgo) {
  EXPECT_EQ(outcome({1, 2, 1, 3, 1, 2}, cache_of(2, 2)), "ffhfha");
}

TEST(Simulate, FifoPutsOutWhatCameFirst) {
  EXPECT_EQ(outcome({1, 2, 1, 3, 1, 2}, cache_of(2, 2, Policy::Fifo)), "ffhfoa");
}

TEST(Simulate, TreePutsOutWhereItsBitsPoint) {
  // 1 and 3 come to the left half, 2 and 4 to the right one. The second 3 turns the root to the
  // right, where 2 is the older one, though 1 is the oldest of all.
  const Description tree = cache_of(4, 4, Policy::Plru);
  EXPECT_EQ(outcome({1, 2, 3, 4, 3, 5, 2}, tree), "ffffhfo");
  EXPECT_EQ(outcome({1, 2, 3, 4, 3, 5, 1}, tree), "ffffhfh");
}

TEST(Simulate, TellsConflictFromCapacity) {
  // Lines 0, 2 and 4 share one of two sets of two, and a cache of four in one set has them all.
  EXPECT_EQ(outcome({0, 2, 4, 0}, cache_of(4, 2)), "fffo");
  EXPECT_EQ(outcome({0, 1, 2, 3, 4, 0}, cache_of(4, 2)), "fffffa");
}

TEST(Simulate, WritesChangedLinesBackOnce) {
  const Simulated made = simulate(reads_of({-1, -1, 2, 3, 1, 2}), {cache_of(1, 1), cache_of(4, 0)});
  EXPECT_EQ(made.counts[0].lines_out[0], 1);
  EXPECT_EQ(made.counts[0].of[2].written_back, 1);
  EXPECT_EQ(made.counts[1].received, 1);
  EXPECT_EQ(made.counts[1].not_there, 0);
  EXPECT_EQ(made.counts[1].lines_out[0], 0);
  EXPECT_EQ(made.counts[1].of[4].hits(), 1) << "the L2 has the line still";
}

TEST(Simulate, StoresGoThroughOrAround) {
  Description through = cache_of(2, 2), around = cache_of(2, 2);
  through.writes_back = false;
  around.allocates = false;
  const Simulated a = simulate(reads_of({-1, -1, 1}), {through});
  EXPECT_EQ(a.counts[0].passed_on, 2);
  EXPECT_EQ(a.counts[0].of[1].hits(), 1);
  const Simulated b = simulate(reads_of({-1, 1, -1}), {around});
  EXPECT_EQ(b.counts[0].passed_on, 1) << "the last one is a hit";
  EXPECT_EQ(b.counts[0].of[1].misses(), 1);
  EXPECT_EQ(b.counts[0].of[2].hits(), 1);
}

TEST(Simulate, DropsWhatIsStoredPastTheCaches) {
  AccessProgram program = reads_of({1, -1, 1});
  program.references[1].kind = Reference::Kind::Stream;
  const Simulated made = simulate(program, {cache_of(2, 2)});
  EXPECT_EQ(made.counts[0].of[2].misses(), 1);
}

TEST(Simulate, CountsTheSecondCallAlone) {
  AccessProgram program = reads_of({1, 2, 3});
  program.warm_up = program.code;
  const Simulated made = simulate(program, {cache_of(4, 0)});
  for (const Count& c : made.counts[0].of)
    EXPECT_EQ(c.hits(), 1);
  EXPECT_EQ(made.accesses, 3);
}

struct Expected {
  std::vector<Count> of;
  int64_t wrote_back = 0;
};

Expected naive(const AccessProgram& program, const Description& d) {
  Expected made;
  made.of.resize(program.references.size());
  Description one_set = d;
  one_set.ways = 0;
  one_set.policy = Policy::Lru;
  NaiveCache cache(d), full(one_set);
  std::set<int64_t> seen;
  for (const Touched& t : Trace(program, d.line_bytes).touched) {
    Count& c = made.of[t.reference];
    ++c.accesses;
    const bool is_store = t.kind == Reference::Kind::Write;
    const bool is_hit = cache.use(t.line, is_store), is_in_full = full.use(t.line, is_store);
    if (is_hit)
      continue;
    ++(seen.insert(t.line).second ? c.compulsory : is_in_full ? c.conflict : c.capacity);
  }
  made.wrote_back = cache.wrote_back;
  return made;
}

void expect_same(const AccessProgram& program, const Description& d, uint32_t seed) {
  const Expected expected = naive(program, d);
  const Simulated made = simulate(program, {d});
  int64_t wrote_back = 0;
  for (size_t r = 0; r < expected.of.size(); ++r) {
    const Count &a = expected.of[r], &b = made.counts[0].of[r];
    wrote_back += b.written_back;
    EXPECT_EQ(a.accesses, b.accesses) << print(d) << ", seed " << seed << ", reference " << r;
    EXPECT_EQ(a.compulsory, b.compulsory) << print(d) << ", seed " << seed << ", reference " << r;
    EXPECT_EQ(a.capacity, b.capacity) << print(d) << ", seed " << seed << ", reference " << r;
    EXPECT_EQ(a.conflict, b.conflict) << print(d) << ", seed " << seed << ", reference " << r;
  }
  EXPECT_EQ(expected.wrote_back, wrote_back) << print(d) << ", seed " << seed;
}

TEST(Simulate, AgreesWithListsOnRandomPrograms) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const AccessProgram program = RandomProgram(seed).program;
    for (const Policy policy : {Policy::Lru, Policy::Plru, Policy::Fifo})
      for (const auto& [lines, ways] :
           {std::pair{8, 2}, std::pair{16, 4}, std::pair{32, 8}, std::pair{32, 16}}) {
        expect_same(program, cache_of(lines, ways, policy), seed);
        if (testing::Test::HasFailure())
          return;
      }
    for (const int64_t lines : {4, 17, 24, 48, 96})
      expect_same(program, cache_of(lines, 0), seed);
    expect_same(program, cache_of(24, 3), seed);
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(Simulate, AgreesWithListsWhereStoresGoElsewhere) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const AccessProgram program = RandomProgram(seed).program;
    Description through = cache_of(16, 4);
    through.writes_back = false;
    expect_same(program, through, seed);
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(Simulate, LevelsBehindSeeTheMissesInOrder) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const AccessProgram program = RandomProgram(seed).program;
    const Simulated one = simulate(program, {cache_of(8, 2)});
    const Simulated two = simulate(program, {cache_of(8, 2), cache_of(64, 8)});
    for (size_t r = 0; r < program.references.size(); ++r) {
      EXPECT_EQ(one.counts[0].of[r].misses(), two.counts[0].of[r].misses());
      EXPECT_EQ(two.counts[0].of[r].misses(), two.counts[1].of[r].accesses);
    }
    int64_t back = 0;
    for (const Count& c : two.counts[0].of)
      back += c.written_back;
    EXPECT_EQ(back, two.counts[1].received);
  }
}

} // namespace
} // namespace kawara::cache
