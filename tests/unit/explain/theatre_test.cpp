#include "explain/theatre.h"

#include "cache/from_program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace kawara::explain {
namespace {

const char* const kProduct = "param M, N, K\n"
                             "input A: f32[M, K], B: f32[K, N]\n"
                             "output C: f32[M, N]\n"
                             "for i in range(M):\n"
                             "    for j in range(N):\n"
                             "        C[i, j] = 0\n"
                             "        for k in range(K):\n"
                             "            C[i, j] += A[i, k] * B[k, j]\n";
const char* const kStencil = "param T, N\n"
                             "inout A: f32[T + 1, N]\n"
                             "for t in range(T):\n"
                             "    for i in range(1, N - 1):\n"
                             "        A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]\n";
const char* const kChoices =
    "param N\n"
    "input x: f64[N]\n"
    "output y: f64[N, N]\n"
    "for i in range(N):\n"
    "    for j in range(i, N):\n"
    "        y[i, j] = x[i] if j < 2 * i else x[min(j + 1, N - 1)] + x[j // 2]\n";

cache::Description level(const std::string& name, int64_t bytes, int64_t ways) {
  cache::Description d;
  d.name = name;
  d.bytes = bytes;
  d.ways = ways;
  return d;
}

program::Program parsed(const std::string& text) {
  auto program = program::parse(make_source("test.kw", text));
  EXPECT_TRUE(program) << render(program.error());
  return *std::move(program);
}

Result<Theatre, std::string> staged(const std::string& text, const std::vector<int64_t>& sizes,
                                    const std::string& asked = "") {
  const program::Program program = parsed(text);
  const auto directives = schedule::parse_directives(make_source("asked", asked));
  EXPECT_TRUE(directives);
  const schedule::Environment environment{};
  return theatre({program,
                  sizes,
                  *directives,
                  {level("L1", 1 << 15, 8), level("L2", 1 << 20, 16)},
                  std::nullopt,
                  environment});
}

const TheatreSchedule* find(const Theatre& theatre, const std::string& directives) {
  const auto found = std::find_if(theatre.schedules.begin(), theatre.schedules.end(),
                                  [&](const auto& each) { return each.directives == directives; });
  return found == theatre.schedules.end() ? nullptr : &*found;
}

void expect_same(const cache::Count& a, const cache::Count& b, const std::string& what) {
  EXPECT_EQ(a.accesses, b.accesses) << what;
  EXPECT_EQ(a.compulsory, b.compulsory) << what;
  EXPECT_EQ(a.capacity, b.capacity) << what;
  EXPECT_EQ(a.conflict, b.conflict) << what;
  EXPECT_EQ(a.written_back, b.written_back) << what;
}

TEST(Theatre, PlaysTheTextAsTheCacheCommandCountsIt) {
  for (const char* const text : {kProduct, kStencil, kChoices}) {
    const program::Program program = parsed(text);
    const std::vector<int64_t> sizes(program.params.size(), 20);
    const auto made = staged(text, sizes);
    ASSERT_TRUE(made) << made.error();
    EXPECT_FALSE(made->is_toy);
    const std::vector<cache::Description> caches = {level("L1", 1024, 2), level("L2", 4096, 4)};
    auto shown = accesses_in_order(*made, *made->schedules.front().order);
    auto written = cache::accesses_of_text(program, sizes, 64);
    ASSERT_TRUE(written);
    ASSERT_EQ(shown.references.size(), written->references.size());
    cache::place_arrays(shown, 64);
    const auto a = cache::simulate(shown, caches), b = cache::simulate(*written, caches);
    for (size_t l = 0; l < caches.size(); ++l)
      for (size_t r = 0; r < shown.references.size(); ++r)
        expect_same(a.counts[l].of[r], b.counts[l].of[r], shown.references[r].text);
  }
}

TEST(Theatre, ShrinksSizesAndCachesAlike) {
  const auto made = staged(kProduct, {512, 512, 512});
  ASSERT_TRUE(made) << made.error();
  EXPECT_TRUE(made->is_toy);
  for (const int64_t size : made->sizes)
    EXPECT_LE(size, 32);
  ASSERT_EQ(made->caches.size(), 2U);
  // The same share of all arrays, to a power of two.
  for (size_t l = 0; l < made->caches.size(); ++l) {
    const double real = static_cast<double>(made->real_caches[l].bytes) / made->real_bytes,
                 toy = static_cast<double>(made->caches[l].bytes) / made->bytes;
    EXPECT_LE(std::max(real / toy, toy / real), 1.5) << l;
  }
}

TEST(Theatre, EachOrderTouchesWhatTheTextDoes) {
  const auto made = staged(kProduct, {12, 10, 8});
  ASSERT_TRUE(made) << made.error();
  const auto accesses = [](const TheatreSchedule& s) {
    int64_t all = 0;
    for (const cache::Count& c : s.counts.front().of)
      all += c.accesses;
    return all;
  };
  size_t tiled = 0;
  for (const TheatreSchedule& each : made->schedules) {
    if (!each.order)
      continue;
    EXPECT_EQ(accesses(each), accesses(made->schedules.front())) << each.directives;
    tiled += each.family == "tile" ? 1 : 0;
  }
  EXPECT_GT(tiled, 3U);
}

TEST(Theatre, ARefusedOrderHasItsWitnessAndARepairThatPlays) {
  const auto made = staged(kStencil, {16, 24});
  ASSERT_TRUE(made) << made.error();
  const TheatreSchedule* refused = find(*made, "interchange(t, i)");
  ASSERT_NE(refused, nullptr);
  EXPECT_FALSE(refused->order);
  ASSERT_TRUE(refused->refusal);
  EXPECT_EQ(refused->refusal->verdict, "illegal");
  EXPECT_EQ(refused->refusal->headline, "cannot interchange loops `t` and `i` of statement S0");
  ASSERT_TRUE(refused->refusal->source && refused->refusal->sink);
  EXPECT_EQ(refused->refusal->source->iters, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(refused->refusal->sink->iters, (std::vector<int64_t>{1, 1}));
  ASSERT_FALSE(refused->refusal->repairs.empty());
  const TheatreSchedule* repair = find(*made, refused->refusal->repairs.front());
  ASSERT_NE(repair, nullptr);
  EXPECT_TRUE(repair->order);
}

TEST(Theatre, ShowsParallelLoopsAndLanes) {
  const auto made = staged("param N\n"
                           "input x: f32[N, N]\n"
                           "output y: f32[N, N]\n"
                           "for i in range(N):\n"
                           "    for j in range(N):\n"
                           "        y[i, j] = x[i, j]\n",
                           {8}, "split(j, 4); parallel(i); vectorize(j.1, 4)");
  ASSERT_TRUE(made) << made.error();
  const auto found = std::find_if(made->schedules.begin(), made->schedules.end(),
                                  [](const auto& each) { return each.family == "asked"; });
  ASSERT_NE(found, made->schedules.end());
  const auto* outer = std::get_if<TheatreLoop>(&found->order->code.front().step);
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->mark, "parallel");
  const auto* tiles = std::get_if<TheatreLoop>(&outer->body.front().step);
  ASSERT_NE(tiles, nullptr);
  EXPECT_EQ(std::get<TheatreLoop>(tiles->body.front().step).mark, "vector 4");
}

TEST(Theatre, SaysWhyItShowsNothing) {
  const auto gather = staged("param N\n"
                             "input x: f32[N], at: i64[N]\n"
                             "output y: f32[N]\n"
                             "for i in range(N):\n"
                             "    y[i] = x[at[i]]\n",
                             {8});
  ASSERT_FALSE(gather);
  EXPECT_EQ(gather.error(), "which elements it touches, only its data say");
  const auto large = staged("input x: f32[4000, 400]\n"
                            "output y: f32[4000, 400]\n"
                            "for i in range(4000):\n"
                            "    for j in range(400):\n"
                            "        y[i, j] = x[i, j]\n",
                            {});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error(), "it makes 3200000 accesses at sizes of at most 32");
}

TEST(Theatre, TheSameInputGivesTheSameText) {
  const auto a = staged(kProduct, {100, 100, 100}), b = staged(kProduct, {100, 100, 100});
  ASSERT_TRUE(a && b);
  const std::string text = to_json(*a);
  EXPECT_EQ(text, to_json(*b));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schedules"][0]["verdict"], "legal");
  EXPECT_EQ(json["statements"].size(), 2U);
}

} // namespace
} // namespace kawara::explain
