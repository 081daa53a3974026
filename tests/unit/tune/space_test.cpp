#include "tune/predict/features.h"

#include "schedule/auto/auto.h"

#include <gtest/gtest.h>

#include <set>

namespace kawara::tune {
namespace {

constexpr const char* kProduct = R"(input A: f32[97, 103], B: f32[103, 101]
output C: f32[97, 101]
for i in range(97):
    for j in range(101):
        C[i, j] = 0
        for k in range(103):
            C[i, j] += A[i, k] * B[k, j]
)";
constexpr const char* kSoftmax = R"(input x: f32[64, 200]
output y: f32[64, 200]
temp m: f32[64], s: f32[64]
m[i] = max(j, x[i, j])
s[i] = sum(j, exp(x[i, j] - m[i]))
y[i, j] = exp(x[i, j] - m[i]) / s[i]
)";
constexpr const char* kJacobi = R"(inout A: f64[40, 40], B: f64[40, 40]
for t in range(5):
    for i in range(1, 39):
        for j in range(1, 39):
            B[i, j] = 0.2 * (A[i, j] + A[i, j-1] + A[i, j+1] + A[i+1, j] + A[i-1, j])
    for i in range(1, 39):
        for j in range(1, 39):
            A[i, j] = 0.2 * (B[i, j] + B[i, j-1] + B[i, j+1] + B[i+1, j] + B[i-1, j])
)";

constexpr const char* kNarrowProduct = R"(input A: i8[64, 64], B: i8[64, 64]
output C: i32[64, 64]
C[i, j] = sum(k, i32(A[i, k]) * i32(B[k, j]))
)";

/// A program with its space, for a fixed machine.
struct Ready {
  schedule::Environment environment;
  schedule::Schedule initial;
  explicit Ready(const char* text) : initial(schedule_of(text)) {
    environment.cpu = *target::named_cpu("neoverse-n1");
  }
  static schedule::Schedule schedule_of(const char* text) {
    driver::Request request;
    request.text = make_source("t.kw", text);
    Trace trace;
    auto front = driver::schedule(request, {}, trace);
    if (!front)
      throw std::runtime_error(render(front.error()));
    return front->schedule;
  }
  Space space() const { return Space(initial, environment); }
  bool is_legal(const Point& point) const {
    return static_cast<bool>(
        schedule::apply(initial, schedule::Group{point.directives}, environment));
  }
};

std::vector<std::string> legal_sketches(const char* text) {
  const Ready ready(text);
  std::vector<std::string> names;
  const Space space = ready.space();
  for (const Point& sketch : space.sketches())
    if (ready.is_legal(sketch))
      names.push_back(sketch.sketch);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

double cost_of(const Space& space, const std::string& text) {
  const auto features = features_of(space, *point_from_text(text, ""));
  EXPECT_TRUE(features) << text;
  return features ? analytic_cost(*features) : 0;
}

TEST(Space, has_every_rule_that_fits_the_program) {
  const auto product = legal_sketches(kProduct);
  for (const char* rule : {"source", "default", "default 2", "lanes", "levels", "packed"})
    EXPECT_TRUE(has(product, rule)) << rule;
  const auto softmax = legal_sketches(kSoftmax);
  for (const char* rule : {"source", "default", "lanes", "lanes 2", "partial", "fused", "fused 2"})
    EXPECT_TRUE(has(softmax, rule)) << rule;
  const auto jacobi = legal_sketches(kJacobi);
  for (const char* rule : {"source", "default", "lanes", "tiles"})
    EXPECT_TRUE(has(jacobi, rule)) << rule;
}

TEST(Space, leaves_the_choice_of_instructions_open) {
  const Ready ready(kNarrowProduct);
  const Space space = ready.space();
  const auto instructions_of = [](const Point& point) {
    std::set<std::string> names;
    for (const Directive& d : point.directives)
      if (const auto* tensorize = std::get_if<schedule::Tensorize>(&d))
        names.insert(tensorize->instruction);
    return names;
  };
  std::set<std::set<std::string>> seen;
  for (const Point& sketch : space.sketches())
    if (sketch.sketch.starts_with("default") || sketch.sketch.starts_with("instructions"))
      if (ready.is_legal(sketch) && features_of(space, sketch))
        seen.insert(instructions_of(sketch));
  EXPECT_EQ(seen, (std::set<std::set<std::string>>{{}, {"neon.sdot"}}));
}

TEST(Space, fused_blocks_keep_temps_to_themselves) {
  const Ready ready(kSoftmax);
  const Space space = ready.space();
  bool stores = false;
  for (const Point& sketch : space.sketches())
    if (sketch.sketch.starts_with("fused"))
      for (const Directive& d : sketch.directives)
        stores = stores || (std::holds_alternative<schedule::StoreAt>(d) && ready.is_legal(sketch));
  EXPECT_TRUE(stores);
}

TEST(Space, points_are_text_and_back) {
  const Ready ready(kProduct);
  const Space space = ready.space();
  Rng rng(3);
  for (int k = 0; k < 100; ++k) {
    const Point point = space.mutated(space.random(rng), rng);
    const auto again = point_from_text(text_of(point), point.sketch);
    ASSERT_TRUE(again) << text_of(point);
    EXPECT_EQ(again->directives, point.directives);
  }
}

TEST(Space, keeps_blocks_multiples_of_what_they_hold) {
  const Ready ready(kProduct);
  const Space space = ready.space();
  const auto steps = schedule::spelled_out(ready.initial, ready.environment);
  for (const Knob& knob : knobs_of(steps, space.surroundings().extents))
    for (const int64_t choice : knob.choices) {
      const auto list = transposed(steps, knob, choice);
      std::map<std::string, int64_t> sizes;
      for (const Directive& d : list)
        if (const auto* split = std::get_if<schedule::Split>(&d))
          sizes[*split->loop.statement + "." + split->loop.loop] = split->size;
      EXPECT_EQ(sizes.at("S1.j") % sizes.at("S1.j.1"), 0);
      EXPECT_EQ(sizes.at("S1.i") % sizes.at("S1.i.1"), 0);
      EXPECT_EQ(sizes.at("S1.j"), sizes.at("S0.j")) << "nests that run together";
    }
}

TEST(Space, mutations_of_the_default_are_mostly_legal) {
  const Ready ready(kProduct);
  const Space space = ready.space();
  const Point start{schedule::spelled_out(ready.initial, ready.environment), "default 2"};
  Rng rng(5);
  int legal = 0;
  std::set<std::string> different;
  for (int k = 0; k < 20; ++k) {
    const Point point = space.mutated(start, rng);
    different.insert(text_of(point));
    legal += ready.is_legal(point) ? 1 : 0;
  }
  EXPECT_GE(legal, 12);
  EXPECT_GE(different.size(), 10u);
}

TEST(Space, dropping_a_copy_renumbers_the_later_ones) {
  const auto list =
      point_from_text("[split(S1.i, 4); pack(B, S1.j); unroll(S2.j); pack(A, S1.i); unroll(S3.i)]",
                      "")
          ->directives;
  EXPECT_EQ(schedule::print(without(list, 1, 2)), "split(S1.i, 4); pack(A, S1.i); unroll(S2.i)");
  EXPECT_EQ(schedule::print(without(list, 3, 2)), "split(S1.i, 4); pack(B, S1.j); unroll(S2.j)");
  EXPECT_EQ(schedule::print(without(list, 0, 2)),
            "pack(B, S1.j); unroll(S2.j); pack(A, S1.i); unroll(S3.i)");
}

TEST(Space, crossing_takes_numbers_of_both) {
  const Surroundings around{{{{"S0.i", 100}, {"S0.j", 100}}, 4, 2}, 1};
  const auto a = point_from_text("[split(i, 8); split(j, 8)]", "")->directives;
  const auto b = point_from_text("[split(i, 16); split(j, 32)]", "")->directives;
  std::set<std::string> seen;
  Rng rng(1);
  for (int k = 0; k < 40; ++k)
    seen.insert(schedule::print(crossed(a, b, around, rng)));
  EXPECT_EQ(seen,
            (std::set<std::string>{"split(i, 8); split(j, 8)", "split(i, 16); split(j, 8)",
                                   "split(i, 8); split(j, 32)", "split(i, 16); split(j, 32)"}));
}

TEST(Space, the_same_seed_draws_the_same_points) {
  const Ready ready(kSoftmax);
  const Space space = ready.space();
  Rng one(11), two(11), three(12);
  bool is_different = false;
  for (int k = 0; k < 20; ++k) {
    const std::string text = text_of(space.random(one));
    EXPECT_EQ(text, text_of(space.random(two)));
    is_different = is_different || text != text_of(space.random(three));
  }
  EXPECT_TRUE(is_different);
}

TEST(Features, rank_the_default_before_the_source) {
  for (const char* text : {kProduct, kSoftmax, kJacobi}) {
    const Ready ready(text);
    const Space space = ready.space();
    const auto source = features_of(space, {{}, ""});
    const auto good =
        features_of(space, {schedule::spelled_out(ready.initial, ready.environment), ""});
    ASSERT_TRUE(source && good);
    EXPECT_EQ(source->size(), feature_names().size());
    EXPECT_LT(analytic_cost(*good), analytic_cost(*source)) << text;
  }
}

TEST(Features, are_counted_where_the_default_distributes_a_part) {
  const Ready ready(R"(input A: f64[20, 20], B: f64[20, 24]
inout C: f64[20, 24]
temp acc: f64
for i in range(20):
    for j in range(24):
        acc = 0.0
        for k in range(i):
            C[k, j] += B[i, j] * A[i, k]
            acc += B[k, j] * A[i, k]
        C[i, j] = C[i, j] + B[i, j] * A[i, i] + acc
)");
  const Space space = ready.space();
  ASSERT_NE(space.steps(), std::vector<Directive>{schedule::Auto{}});
  EXPECT_TRUE(features_of(space, {space.steps(), "default"}));
  EXPECT_TRUE(features_of(space, {{schedule::Auto{}}, "default"}));
}

TEST(Features, say_what_the_shape_of_the_loops_refuses) {
  const Ready ready(kProduct);
  const Space space = ready.space();
  EXPECT_FALSE(features_of(space, {{schedule::Split{{{}, "x"}, 4}}, ""}));
  EXPECT_FALSE(features_of(space, {{schedule::Vectorize{{{}, "x"}, 4}}, ""}));
}

/// Column sums of rows of 61 elements, vectors of 4 lanes.
constexpr const char* kColumns = R"(input x: f32[997, 61]
output y: f32[61]
for j in range(61):
    y[j] = 0.0
    for i in range(997):
        y[j] += x[i, j]
)";

TEST(Features, count_the_lanes_that_a_row_fills) {
  const Ready ready(kColumns);
  const Space space = ready.space();
  const std::string order = "[distribute(j); reorder(i, S1.j); ";
  const double one = cost_of(space, order + "vectorize(S1.j, 4)]");
  EXPECT_LT(one, cost_of(space, order + "vectorize(S1.j, 32)]")) << "29 elements are left over";
  EXPECT_LT(cost_of(space, order + "vectorize(S1.j, 32)]"),
            cost_of(space, order + "vectorize(S1.j, 64)]"))
      << "no row fills a vector";
}

TEST(Features, count_what_sums_wait_for_each_other) {
  const Ready ready("input x: f32[61, 1024]\noutput y: f32[61]\ny[i] = sum(k, x[i, k])\n");
  const Space space = ready.space();
  EXPECT_LT(cost_of(space, "[distribute(i); vectorize(S1.k, 16)]"),
            cost_of(space, "[distribute(i); vectorize(S1.k, 4)]"))
      << "four sums at a time instead of one";
}

} // namespace
} // namespace kawara::tune
