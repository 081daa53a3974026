#include "unit/kernel/gpu/gpu_line.h"

#include "driver/pipeline.h"
#include "tune/predict/features.h"
#include "tune/space/collective.h"
#include "tune/space/space.h"

#include <gtest/gtest.h>

#include <set>

namespace kawara::tune {
namespace {

constexpr int64_t kSide = 40;

constexpr const char* kProduct = R"(
param N
input A: bf16[N, N], B: bf16[N, N]
output C: bf16[N, N]
temp acc: f32[N, N]
acc[i, j] = sum(k, f32(A[i, k]) * f32(B[k, j]))
C[i, j] = acc[i, j]
)";

constexpr const char* kSoftmax = R"(
param N, D
input x: f32[N, D]
output y: f32[N, D]
temp m: f32[N], s: f32[N]
m[i] = max(j, x[i, j])
s[i] = sum(j, exp(x[i, j] - m[i]))
y[i, j] = exp(x[i, j] - m[i]) / s[i]
)";

struct OnGpu {
  schedule::Environment environment;
  schedule::Schedule initial;

  explicit OnGpu(const std::string& text = gpu_line::kGemm,
                 const gpu_line::Sizes& sizes = {{"M", kSide}, {"N", kSide}, {"K", kSide}})
      : environment{*target::named_cpu("neoverse-n1"), target::named_gpu("sm_90a")},
        initial(schedule_of(text, sizes)) {}

  schedule::Schedule schedule_of(const std::string& text, const gpu_line::Sizes& sizes) const {
    driver::Request request;
    request.text = make_source("t.kw", text);
    for (const auto& [name, value] : sizes)
      request.sizes[name] = value;
    Trace trace;
    auto front = driver::schedule(request, environment, trace);
    if (!front)
      throw std::runtime_error(render(front.error()));
    return front->schedule;
  }
};

TEST(GpuSpace, changes_numbers_alone) {
  const OnGpu gpu;
  const Space space(gpu.initial, gpu.environment);
  ASSERT_GE(space.sketches().size(), 2u);
  EXPECT_EQ(text_of(space.sketches()[0]), "auto");
  const std::vector<Directive>& steps = space.sketches()[1].directives;
  std::set<Knob::Kind> kinds;
  for (const Knob& knob : knobs_of(steps, space.surroundings().extents))
    if (knob.choices.size() > 1)
      kinds.insert(knob.kind);
  EXPECT_TRUE(kinds.contains(Knob::Kind::Block));
  EXPECT_TRUE(kinds.contains(Knob::Kind::Stages));
  EXPECT_TRUE(features_of(space, space.sketches()[1])) << "no strategy proposes it otherwise";
  Rng rng(4);
  for (int k = 0; k < 20; ++k) {
    const Point changed = space.mutated(space.sketches()[1], rng);
    ASSERT_EQ(changed.directives.size(), steps.size());
    for (size_t d = 0; d < steps.size(); ++d)
      EXPECT_EQ(changed.directives[d].index(), steps[d].index());
  }
}

TEST(GpuSpace, rows_and_their_copies_have_the_same_threads) {
  const OnGpu gpu(kSoftmax, {{"N", 64}, {"D", 1000}});
  const Space space(gpu.initial, gpu.environment);
  ASSERT_GE(space.sketches().size(), 2u) << "no steps";
  const Point& point = space.sketches()[1];
  bool has_copy = false;
  for (const Knob& knob : knobs_of(point.directives, space.surroundings().extents)) {
    std::set<std::string> roots;
    for (const auto& [directive, item] : knob.places)
      if (const auto* split = std::get_if<schedule::Split>(&point.directives[directive]))
        roots.insert(split->loop.loop.substr(0, 1));
    has_copy = has_copy || (roots.contains("d") && roots.contains("j"));
  }
  EXPECT_TRUE(has_copy) << text_of(point);
}

TEST(GpuSpace, an_instruction_has_the_lanes_of_its_tile) {
  const OnGpu gpu(kProduct, {{"N", 1536}});
  const Space space(gpu.initial, gpu.environment);
  EXPECT_GE(space.sketches().size(), 4u) << "tiles of other GPUs";
  Rng rng(3);
  std::set<std::string> instructions;
  std::set<int64_t> rows;
  for (int k = 0; k < 40; ++k) {
    const Point point = space.random(rng);
    for (const Collective& one : collectives_of(point.directives)) {
      const auto& tile = std::get<schedule::Tile>(point.directives[one.tile]).loops;
      instructions.insert(
          std::get<schedule::Tensorize>(point.directives[one.tensorize]).instruction);
      EXPECT_EQ(tile[one.rows + 1].second, one.extents[1]) << text_of(point);
      EXPECT_EQ(tile[one.rows].second % 64, 0) << text_of(point);
      rows.insert(tile[one.rows].second);
    }
  }
  EXPECT_GE(instructions.size(), 3u);
  EXPECT_GE(rows.size(), 3u);
}

TEST(GpuSpace, what_the_judge_accepts_computes_what_the_program_says) {
  const OnGpu gpu;
  const Space space(gpu.initial, gpu.environment);
  Rng rng(7);
  std::set<std::string> tried;
  for (int k = 0; k < 200 && tried.size() < 3; ++k) {
    const Point point = space.mutated(space.sketches()[1], rng);
    if (tried.contains(text_of(point)) ||
        !schedule::apply(gpu.initial, schedule::Group{point.directives}, gpu.environment))
      continue;
    tried.insert(text_of(point));
    SCOPED_TRACE(text_of(point));
    gpu_line::expect_same(gpu_line::kGemm, text_of(point),
                          {{"M", kSide}, {"N", kSide}, {"K", kSide}});
  }
  EXPECT_EQ(tried.size(), 3u);
}

} // namespace
} // namespace kawara::tune
