#include "tune/measure/reference_check.h"

#include "driver/gpu/gpu.h"
#include "driver/session.h"
#include "estimate/count.h"
#include "program/interpret/interpret.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::tune {
namespace {

/// Statement instances that the interpreter does in well under a second.
constexpr double kInterpretable = 3e6;
/// Sizes that are tried, largest first, where the task's own would take too long.
constexpr int64_t kSmallSizes[] = {37, 19, 8};

/// The default schedule's results.
Parsed<program::Arrays> default_results(const driver::Request& request,
                                        const schedule::Environment& environment,
                                        const std::vector<int64_t>& sizes,
                                        const program::Arrays& inputs) {
  Trace trace;
  if (environment.gpu) {
    KAWARA_TRY(const driver::CompiledForGpu compiled,
               driver::compile_for_gpu(request, environment, trace));
    return driver::call(compiled, sizes, inputs);
  }
  KAWARA_TRY(const driver::Compiled compiled, driver::compile(request, environment, trace));
  return driver::call(compiled, sizes, inputs);
}

} // namespace

bool is_interpretable(const program::Program& program, const std::vector<int64_t>& sizes) {
  const auto work = estimate::count(program, sizes);
  double sum = 0;
  for (size_t s = 0; work && s < work->statements.size(); ++s)
    sum += work->statements[s].instances;
  return work && sum <= kInterpretable;
}

std::string difference_of(const program::Program& program, const program::Arrays& got,
                          const program::Arrays& expected, double allowed) {
  const driver::Difference d = driver::compare(got, expected, driver::freedom_of(program));
  if (d.worst <= allowed)
    return "";
  return fmt::format(
      "`{}` is {:.9g} where {:.9g} is right: a difference of {:.3g}, more than {:.3g}", d.tensor,
      d.got, d.expected, d.worst, allowed);
}

std::optional<Diagnostic> refuse_difference(const program::Program& program,
                                            const program::Arrays& got,
                                            const program::Arrays& expected, double allowed) {
  const std::string difference = difference_of(program, got, expected, allowed);
  if (difference.empty())
    return std::nullopt;
  Diagnostic d;
  d.code = "K0436";
  d.headline = "the compiled result differs from the interpreter's";
  d.body.push_back(difference + ".");
  return d;
}

Parsed<Done> check_small(const Reference& reference) {
  for (const int64_t most : kSmallSizes) {
    driver::Request request = reference.task.request;
    for (auto& [name, value] : request.sizes)
      value = std::min(value, most);
    request.directives = make_source("auto", "auto");
    const auto program = driver::program_of(request);
    if (!program)
      continue; // the program assumes something of its sizes
    const auto sizes = driver::all_sizes(*program, request);
    if (!sizes || !is_interpretable(*program, *sizes))
      continue;
    KAWARA_TRY(const program::Arrays inputs, driver::inputs_for(*program, *sizes, {}));
    KAWARA_TRY(const program::Arrays got,
               default_results(request, reference.task.environment, *sizes, inputs));
    KAWARA_TRY(const program::Arrays expected,
               collected(program::interpret(*program, *sizes, inputs)));
    double allowed = driver::tolerance_of(*program, *sizes);
    if (!difference_of(*program, got, expected, allowed).empty() && allowed > 0) {
      KAWARA_TRY(
          const program::Arrays moved,
          collected(program::interpret(*program, *sizes, driver::perturbed_by_one_ulp(inputs))));
      allowed = std::max(allowed,
                         driver::tolerance_from_rounding(
                             driver::compare(moved, expected, driver::freedom_of(*program)).worst));
    }
    if (auto wrong = refuse_difference(*program, got, expected, allowed))
      return fail(Diagnostics{*std::move(wrong)});
    return Done{};
  }
  return Done{};
}

} // namespace kawara::tune
