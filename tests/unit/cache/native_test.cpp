#include "cache/simulate.h"

#include "unit/cache/naive.h"

#include <gtest/gtest.h>

namespace kawara::cache {
namespace {

std::string text_of(const Count& c) {
  return std::to_string(c.accesses) + " " + std::to_string(c.compulsory) + " " +
         std::to_string(c.capacity) + " " + std::to_string(c.conflict) + " " +
         std::to_string(c.written_back);
}

/// Every number that a simulation counts.
std::string text_of(const Simulated& s) {
  std::string text = std::to_string(s.accesses) + "\n";
  for (const LevelCounts& level : s.counts) {
    for (const Count& c : level.of)
      text += text_of(c) + "\n";
    for (const auto* each : {&level.lines_out, &level.lines})
      for (const int64_t number : *each)
        text += std::to_string(number) + " ";
    text += std::to_string(level.passed_on) + " " + std::to_string(level.received) + " " +
            std::to_string(level.not_there) + "\n";
  }
  return text;
}

Description random_cache(std::mt19937& random, int64_t most_lines) {
  Description d;
  d.policy = static_cast<Policy>(random() % 3);
  constexpr int64_t kWays[] = {0, 1, 2, 3, 4, 8, 12, 16, 20};
  d.ways = d.policy == Policy::Plru ? int64_t{1} << (random() % 6) : kWays[random() % 9];
  const int64_t ways = d.ways == 0 ? 1 : d.ways;
  d.bytes = 64 * ways * (1 + static_cast<int64_t>(random() % 17) * most_lines / 16 / ways);
  d.allocates = random() % 8 != 0;
  d.writes_back = random() % 8 != 0;
  return d;
}

/// Some stores are non-temporal, some reads are requests.
void change_kinds(AccessProgram& program, std::mt19937& random) {
  for (Reference& reference : program.references)
    if (random() % 24 == 0)
      reference.kind = random() % 2 == 0 ? Reference::Kind::Stream : Reference::Kind::Prefetch;
}

void expect_engines_agree(uint32_t seed) {
  std::mt19937 random(seed * 7919 + 1);
  AccessProgram program = RandomProgram(seed).program;
  if (seed % 3 == 0)
    change_kinds(program, random);
  if (seed % 5 == 0)
    program.warm_up = program.code;
  std::vector<Description> levels;
  std::string names;
  for (uint32_t k = 0; k <= random() % 3; ++k) {
    levels.push_back(random_cache(random, 64 << (2 * k)));
    if (k > 0 && random() % 4 == 0)
      levels.back().line_bytes = 128;
    if (levels.back().bytes % (levels.back().line_bytes * std::max<int64_t>(levels.back().ways, 1)))
      levels.back().bytes *= 2;
    if (k > 0)
      levels[k].line_bytes = std::max(levels[k].line_bytes, levels[k - 1].line_bytes);
    if (levels[k].bytes % (levels[k].line_bytes * std::max<int64_t>(levels[k].ways, 1)))
      levels[k].bytes *= 2;
    names += print(levels.back()) + "\n";
  }
  const bool with_classes = random() % 2 == 0;
  const Simulated compiled = simulate(program, levels, with_classes, {}, Engine::Compiled);
  const Simulated interpreted = simulate(program, levels, with_classes, {}, Engine::Interpreted);
  EXPECT_TRUE(compiled.is_compiled && !interpreted.is_compiled);
  EXPECT_EQ(text_of(compiled), text_of(interpreted)) << "seed " << seed << "\n" << names;
}

TEST(Native, CountsAsTheInterpretedWalkDoes) {
  for (uint32_t seed = 0; seed < 8; ++seed)
    expect_engines_agree(seed);
}

TEST(Native, CountsAsTheInterpretedWalkDoesHundredsOfTimes) {
  for (uint32_t seed = 8; seed < 400; ++seed)
    expect_engines_agree(seed);
}

} // namespace
} // namespace kawara::cache
