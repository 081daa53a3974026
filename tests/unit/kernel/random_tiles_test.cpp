#include "unit/kernel/line.h"

#include "support/text.h"

#include <random>
#include <regex>

// Products over rectangles and triangles, operands and results transposed in all ways, in register
// tiles that fit or do not: what the passes make of them computes what the program means.

namespace kawara {
namespace {

class RandomTiles {
public:
  explicit RandomTiles(uint64_t seed) : random_(seed) {}

  std::string program() {
    const std::string j = pick({"N", "N", "i + 1, N", "i + 1", "i", "i, N"});
    const std::string k = pick({"N", "N", "i", "j + 1", "j, N", "i + 1, N", "i // 2, N"});
    loops_ = {"i", "j", "k"};
    std::shuffle(loops_.begin(), loops_.end(), random_);
    const std::string &row = loops_[0], &column = loops_[1], &sum = loops_[2];
    const std::string factor = pick({"", "", "alpha * "});
    return "param N\ninput alpha: f32, A: f32[N, N], B: f32[N, N]\ninout C: f32[N, N]\n"
           "for i in range(N):\n    for j in range(" +
           j + "):\n        for k in range(" + k + "):\n            C" + element(row, column) +
           " += " + factor + "A" + element(row, sum) + " * B" + element(column, sum) + "\n";
  }

  /// Tiles, a random order that keeps the loops inside tiles innermost, copies of operands, marks.
  std::vector<std::string> directives() {
    const std::string row = "S0." + loops_[0], column = "S0." + loops_[1], sum = "S0." + loops_[2];
    std::vector<std::string> outer{row + ".0", column + ".0"}, middle{sum};
    std::vector<std::string> inner{row + ".1", column + ".1"};
    std::vector<std::string> list;
    list.push_back("split(" + row + ", " + pick({"2", "3", "4", "6"}) + ")");
    list.push_back("split(" + column + ", " + pick({"2", "4", "5", "8"}) + ")");
    if (flip()) {
      list.push_back("split(" + sum + ", " + pick({"3", "4"}) + ")");
      outer.push_back(sum + ".0");
      middle = {sum + ".1"};
    }
    std::shuffle(outer.begin(), outer.end(), random_);
    std::shuffle(inner.begin(), inner.end(), random_);
    std::vector<std::string> order = outer;
    order.insert(order.end(), middle.begin(), middle.end());
    order.insert(order.end(), inner.begin(), inner.end());
    list.push_back("reorder(" + join(order, ", ") + ")");
    for (const char* tensor : {"A", "B"})
      if (flip())
        list.push_back(std::string("pack(") + tensor + ", " + outer[random_() % outer.size()] +
                       ")");
    list.push_back("unroll(" + inner[0] + ")");
    list.push_back("vectorize(" + inner[1] + ", " + pick({"2", "4"}) + ")");
    if (flip())
      list.push_back("unroll(" + middle[0] + ", 2)");
    return list;
  }

  int64_t size() { return static_cast<int64_t>(1 + random_() % 14); }

private:
  bool flip() { return random_() % 2 == 0; }
  std::string pick(const std::vector<std::string>& from) { return from[random_() % from.size()]; }
  std::string element(const std::string& a, const std::string& b) {
    return flip() ? "[" + a + ", " + b + "]" : "[" + b + ", " + a + "]";
  }

  std::mt19937_64 random_;
  std::vector<std::string> loops_; ///< rows, columns, sums
};

/// Directives that are refused are left out.
struct Tiled {
  program::Program program;
  kernel::Kernel kernel;
  std::string applied;
};

Tiled tiled(const std::string& text, const std::vector<std::string>& directives) {
  const line::Line start = line::compile(text);
  auto scop = poly::scop_from_program(start.program, poly::make_context());
  schedule::Schedule schedule = schedule::initial_schedule(*scop);
  const schedule::Environment environment{.cpu = line::test_cpu()};
  std::string applied;
  for (const std::string& directive : directives) {
    const auto list = schedule::parse_directives(make_source("test.sched", directive));
    EXPECT_TRUE(list) << directive;
    auto next = schedule::apply(schedule, *list, environment);
    if (!next)
      continue;
    schedule = *std::move(next);
    applied += directive + "; ";
  }
  return {start.program, kernel::kernel_from_schedule(schedule), applied};
}

TEST(RandomTiles, ComputeWhatTheProgramMeans) {
  constexpr uint64_t kSeeds = 120;
  size_t vectors = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomTiles random(seed);
    const std::string text = random.program();
    const Tiled made = tiled(text, random.directives());
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text + made.applied);
    vectors += made.applied.find("vectorize") != std::string::npos ? 1 : 0;
    const kernel::Kernel passed = kernel::optimise(made.kernel, line::test_cpu());
    for (int sizes = 0; sizes < 3; ++sizes) {
      const int64_t n = random.size();
      ASSERT_EQ(line::difference(made.program, passed, {n}, 1e-4), "") << "N = " << n;
    }
  }
  EXPECT_GT(vectors, kSeeds / 2) << "most of the tiles are legal";
}

/// A product whose results lie across lanes, from zeros to the stores, in tiles of any size.
TEST(RandomTiles, StoresTilesThatBeginWithZeros) {
  const std::string text =
      "input A: f32[7, 30], B: f32[7, 21]\noutput C: f32[21, 30]\n"
      "for j in range(21):\n    for i in range(30):\n        C[j, i] = 0\n"
      "for j in range(21):\n    for i in range(30):\n        for k in range(7):\n"
      "            C[j, i] += A[k, i] * B[k, j]\n";
  for (const char* rows : {"2", "3", "4", "6", "7", "11"})
    for (const char* lanes : {"4", "8", "5"}) {
      const std::string n = rows, m = lanes;
      std::vector<std::string> list;
      for (const char* s : {"S0.", "S1."})
        for (const std::string& d : {"split(" + std::string(s) + "i, " + n + ")",
                                     "split(" + std::string(s) + "j, " + m + ")"})
          list.push_back(d);
      for (const char* d : {"reorder(S0.j.0, S0.i.0, S0.i.1, S0.j.1)",
                            "reorder(S1.j.0, S1.i.0, S1.k, S1.i.1, S1.j.1)", "fuse(S0.j.0, S1.j.0)",
                            "fuse(S0.i.0, S1.i.0)", "pack(A)", "pack(B)", "unroll(S0.i.1)",
                            "vectorize(S0.j.1, 4)", "unroll(S1.i.1)", "vectorize(S1.j.1, 4)"})
        list.push_back(d);
      const Tiled made = tiled(text, list);
      SCOPED_TRACE(made.applied);
      const kernel::Kernel passed = kernel::optimise(made.kernel, line::test_cpu());
      ASSERT_EQ(line::difference(made.program, passed, {}, 1e-4), "");
      const std::string listing = kernel::print(passed);
      EXPECT_NE(listing.find("private C_tile"), std::string::npos) << listing;
      EXPECT_FALSE(std::regex_search(listing, std::regex(" C\\[[^=]*= 0.0"))) << listing;
    }
}

} // namespace
} // namespace kawara
