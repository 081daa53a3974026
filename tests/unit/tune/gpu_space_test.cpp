#include "../kernel/gpu_line.h"

#include "driver/pipeline.h"
#include "tune/features.h"
#include "tune/space.h"

#include <gtest/gtest.h>

#include <set>

namespace kawara::tune {
namespace {

constexpr int64_t kSide = 40;

struct OnGpu {
  schedule::Environment environment;
  schedule::Schedule initial;

  OnGpu()
      : environment{*target::named_cpu("neoverse-n1"), target::named_gpu("sm_90a")},
        initial(of_product()) {}

  schedule::Schedule of_product() const {
    driver::Request request;
    request.text = make_source("t.kw", gpu_line::kGemm);
    for (const char* size : {"M", "N", "K"})
      request.sizes[size] = kSide;
    Trace trace;
    auto front = driver::schedule(request, environment, trace);
    if (!front)
      throw std::runtime_error(render(front.error()));
    return front->schedule;
  }
};

TEST(GpuSpace, changes_the_numbers_of_the_default_alone) {
  const OnGpu gpu;
  const Space space(gpu.initial, gpu.environment);
  ASSERT_EQ(space.sketches().size(), 2u);
  EXPECT_EQ(text_of(space.sketches()[0]), "auto");
  const std::vector<Directive>& steps = space.sketches()[1].directives;
  std::set<Knob::Kind> kinds;
  for (const Knob& knob : knobs_of(steps, space.surroundings().extents))
    if (knob.choices.size() > 1)
      kinds.insert(knob.kind);
  EXPECT_TRUE(kinds.contains(Knob::Kind::Block));
  EXPECT_TRUE(kinds.contains(Knob::Kind::Stages));
  EXPECT_TRUE(features_of(space, space.sketches()[1])) << "no strategy proposes it otherwise";
  Chance chance(4);
  for (int k = 0; k < 20; ++k) {
    const Point changed = space.mutated(space.sketches()[1], chance);
    ASSERT_EQ(changed.directives.size(), steps.size());
    for (size_t d = 0; d < steps.size(); ++d)
      EXPECT_EQ(changed.directives[d].index(), steps[d].index());
  }
}

TEST(GpuSpace, what_the_judge_accepts_computes_what_the_program_says) {
  const OnGpu gpu;
  const Space space(gpu.initial, gpu.environment);
  Chance chance(7);
  std::set<std::string> tried;
  for (int k = 0; k < 200 && tried.size() < 3; ++k) {
    const Point point = space.mutated(space.sketches()[1], chance);
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
