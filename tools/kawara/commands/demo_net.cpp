#include "kawara/commands/demo_net.h"

#include "driver/model/model.h"
#include "graph/zoo/zoo.h"
#include "kawara/model.h"
#include "kawara/waiting.h"
#include "run/measure.h"
#include "support/check.h"

#include <fmt/core.h>

#include <algorithm>

namespace kawara::tools {
namespace {

constexpr int kProfiledCalls = 5;
constexpr size_t kShownSteps = 3;

double flops_of(const std::string& name) {
  for (const graph::zoo::Entry& entry : graph::zoo::entries())
    if (entry.name == name)
      return entry.flops;
  return 0;
}

std::string slowest_steps(std::vector<driver::StepProfile> steps) {
  double all = 0;
  for (const driver::StepProfile& step : steps)
    all += step.seconds;
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  steps.resize(std::min(steps.size(), kShownSteps));
  std::string text;
  for (const driver::StepProfile& step : steps)
    text += fmt::format("\n   {:>4.1f} %  {:6.1f} GFLOP/s  {}: {}", step.seconds / all * 100,
                        step.flops / step.seconds * 1e-9, step.ops, step.nodes);
  return text;
}

} // namespace

Result<std::string, Diagnostic> net_from_graph_to_time(const std::string& name) {
  const Waiting waiting("compiling and running");
  KAWARA_TRY(graph::Graph net, graph::zoo::make(name));
  const size_t nodes = net.nodes.size();
  driver::Model model(std::move(net), usual_model_options());
  const auto inputs = model.pattern_inputs({});
  KAWARA_TRY([[maybe_unused]] const auto first, model.run(inputs));
  run::MeasureOptions options;
  options.limit_seconds = 1;
  const run::Timing timing =
      run::measure([&] { KAWARA_CHECK(model.run(inputs), "it ran before"); }, options);
  KAWARA_TRY(const driver::ModelProfile profile, model.profile(inputs, kProfiledCalls));
  const std::vector<driver::StepProfile>& steps = profile.steps;
  return fmt::format("   {} nodes became {} steps of {} different kernels, compiled in {:.1f} s\n"
                     "   {:.2f} ms a call, {:.1f} GFLOP/s; {:.1f} MB for all values between steps\n"
                     "   the slowest steps:{}",
                     nodes, steps.size(), model.kernels(), model.compile_seconds(),
                     timing.median * 1e3, flops_of(name) / timing.median * 1e-9,
                     static_cast<double>(model.block_bytes()) * 1e-6, slowest_steps(steps));
}

} // namespace kawara::tools
