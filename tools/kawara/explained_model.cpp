#include "kawara/explained.h"
#include "kawara/waiting.h"

#include "driver/pipeline.h"
#include "estimate/machines/limit.h"
#include "estimate/roofline.h"
#include "kernel/memory/prepare.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace kawara::tools {
namespace {

/// Kernels of which schedules are looked at; of the others the roof is known.
constexpr size_t kMostScheduled = 48;

/// A program of a model and where it stands.
struct Found {
  std::string name; ///< the first node that it computes, and the operators
  int64_t times = 0;
};

std::map<std::string, Found> programs_of(const graph::Graph& graph,
                                         const std::vector<const driver::Plan*>& plans,
                                         std::map<std::string, int64_t>& calls) {
  std::map<std::string, Found> programs;
  for (const driver::Plan* plan : plans) {
    for (const driver::KernelGroup& group : plan->groups) {
      Found& found = programs[group.program];
      if (found.times++ == 0)
        found.name = graph.nodes[group.nodes.front()].name + ": " + driver::name_of(group, graph);
    }
    for (const driver::Step& step : plan->steps)
      if (const auto* call = std::get_if<driver::CallStep>(&step))
        ++calls[graph.nodes[call->node].op];
  }
  return programs;
}

class Explainer {
public:
  Explainer(std::optional<program::Numerics> numerics, const schedule::Environment& environment,
            const Figures& figures)
      : numerics_(numerics), environment_(environment), figures_(figures) {}

  /// The kernel with its roof. Errors: what of it cannot be counted.
  Parsed<explain::KernelReport> kernel(const std::string& text, const Found& found) {
    driver::Request request = request_for(text);
    KAWARA_TRY(const program::Program program, driver::program_of(request));
    KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
    auto work = estimate::count(program, sizes);
    if (!work)
      return fail(Diagnostics{std::move(work).error()});
    explain::KernelReport made{found.name,
                               found.times,
                               estimate::operations_of(*work),
                               work->compulsory_bytes,
                               0,
                               std::nullopt,
                               "",
                               std::nullopt};
    estimate::Activity activity{work->types, {{"memory", work->compulsory_bytes}}, 0, 0};
    if (figures_.is_processor()) {
      const estimate::Roof roof = estimate::roof_over(*work, figures_.machine, figures_.threads);
      const double arithmetic = made.operations / roof.peak_flops;
      const double memory = made.bytes / roof.bandwidth_bytes;
      made.least_seconds = std::max(arithmetic, memory);
      made.bound = memory > arithmetic ? roof.level : "arithmetic";
    } else {
      const estimate::Limit limit = estimate::limit_on(*figures_.file, *work, figures_.threads);
      made.least_seconds = limit.seconds();
      made.bound = limit.is_memory_bound() ? "memory" : "arithmetic";
    }
    set_energy(activity, made);
    return made;
  }

  /// What the default schedule costs.
  std::optional<Diagnostic> predict(const std::string& text, explain::KernelReport& kernel) {
    driver::Request request = request_for(text);
    request.directives = make_source("-s", "auto");
    Trace trace{TraceOptions{}};
    const auto front = driver::schedule(request, environment_, trace);
    if (!front)
      return front.error().front();
    const auto sizes = driver::all_sizes(front->program, request);
    if (!sizes)
      return sizes.error().front();
    const auto work = estimate::count(front->program, *sizes);
    if (!work)
      return work.error();
    const estimate::Prediction p =
        estimate::predict(*work, kernel::prepare(driver::kernel_of(*front, trace)), *sizes,
                          figures_.machine, figures_.threads);
    kernel.seconds = p.seconds;
    kernel.bound = p.bound.empty() ? kernel.bound : p.bound;
    estimate::Activity activity{work->types, {}, p.seconds, figures_.machine.vector_bytes};
    for (const estimate::LevelTraffic& level : p.levels)
      activity.bytes.emplace_back(level.name, level.bytes);
    set_energy(activity, kernel);
    return std::nullopt;
  }

private:
  driver::Request request_for(const std::string& text) const {
    driver::Request request;
    request.text = make_source("kernel.kw", text);
    request.numerics = numerics_;
    return driver::with_default_sizes(std::move(request));
  }
  void set_energy(const estimate::Activity& activity, explain::KernelReport& kernel) const {
    if (figures_.file && figures_.file->energy)
      kernel.joules = estimate::energy_of(*figures_.file->energy, activity).joules();
  }

  std::optional<program::Numerics> numerics_;
  const schedule::Environment& environment_;
  const Figures& figures_;
};

bool takes_longer(const explain::KernelReport& a, const explain::KernelReport& b) {
  const auto all = [](const explain::KernelReport& kernel) {
    return kernel.seconds.value_or(kernel.least_seconds) * static_cast<double>(kernel.times);
  };
  return all(a) > all(b);
}

} // namespace

Parsed<explain::ModelReport> explained_model(const ExplainOptions& options) {
  KAWARA_TRY(const schedule::Environment environment, environment_of(options));
  KAWARA_TRY(const Figures figures, figures_of(options.machine, environment.cpu));
  KAWARA_TRY(const auto symbols, sizes_of(options));
  KAWARA_TRY(const auto numerics, numerics_of(options));
  const auto one = [](auto result) -> Parsed<std::decay_t<decltype(*result)>> {
    if (!result)
      return fail(Diagnostics{std::move(result).error()});
    return *std::move(result);
  };
  KAWARA_TRY(driver::Model model, one(while_waiting("reading the model", [&] {
               return driver::load_model(options.file, model_options_of(options.graph));
             })));
  KAWARA_TRY(const auto inputs,
             one(read_model_inputs(model, {options.inputs, options.shapes, symbols})));
  KAWARA_TRY(const auto plans, one(while_waiting("planning", [&] { return model.plan(inputs); })));
  explain::ModelReport report;
  report.title = printable(std::filesystem::path(options.file).filename().string());
  report.machine = figures.name();
  report.figures = figures.origin();
  report.threads = figures.threads;
  std::map<std::string, int64_t> calls;
  const auto programs = programs_of(model.graph(), plans, calls);
  Explainer explainer(numerics, environment, figures);
  std::vector<std::pair<explain::KernelReport, const std::string*>> kernels;
  for (const auto& [text, found] : programs) {
    auto kernel = explainer.kernel(text, found);
    if (kernel)
      kernels.emplace_back(*std::move(kernel), &text);
    else
      report.missing.push_back(found.name + ": " + kernel.error().front().headline);
  }
  const auto by_time = [](const auto& a, const auto& b) { return takes_longer(a.first, b.first); };
  std::stable_sort(kernels.begin(), kernels.end(), by_time);
  Waiting waiting("pricing kernels");
  for (size_t k = 0; figures.is_processor() && k < std::min(kernels.size(), kMostScheduled); ++k) {
    waiting.say(
        fmt::format("pricing kernels, {} of {}", k + 1, std::min(kernels.size(), kMostScheduled)));
    if (const auto why = explainer.predict(*kernels[k].second, kernels[k].first))
      report.missing.push_back("the schedule of " + kernels[k].first.name + ": " + why->headline);
  }
  std::stable_sort(kernels.begin(), kernels.end(), by_time);
  for (auto& [kernel, text] : kernels)
    report.kernels.push_back(std::move(kernel));
  for (const auto& [op, times] : calls)
    report.missing.push_back(fmt::format("{} x {}: a function, no loops to look at", times, op));
  if (const std::string missing = missing_energy(figures); !missing.empty())
    report.missing.push_back("energy: " + missing);
  return report;
}

} // namespace kawara::tools
