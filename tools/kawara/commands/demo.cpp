#include "kawara/command.h"
#include "kawara/commands/demo_net.h"
#include "kawara/waiting.h"

#include "driver/machine.h"
#include "driver/session.h"
#include "estimate/count.h"
#include "estimate/roofline.h"
#include "program/interpret/interpret.h"
#include "run/cpu/threads.h"
#include "run/file.h"
#include "schedule/text/draw.h"
#include "support/check.h"
#include "support/text.h"

#include <fmt/core.h>

#include <cstdio>
#include <map>

namespace kawara::tools {
namespace {

constexpr const char* kGemm = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]

for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

constexpr const char* kJacobi = R"(param T, N
inout A: f32[T + 1, N]

for t in range(T):
    for i in range(1, N - 1):
        A[t + 1, i] = (A[t, i - 1] + A[t, i] + A[t, i + 1]) / 3
)";

using Sizes = std::map<std::string, int64_t>;

Sizes large() { return {{"M", 512}, {"N", 512}, {"K", 512}}; }
/// No tile size divides them.
Sizes small_and_odd() { return {{"M", 61}, {"N", 67}, {"K", 71}}; }

driver::Request request_for(const char* name, const char* text, const char* directives,
                            const Sizes& sizes) {
  driver::Request request;
  request.text = make_source(name, text);
  if (directives)
    request.directives = make_source("-s", directives);
  request.sizes = sizes;
  return request;
}

std::string size_text(const Sizes& sizes) {
  return fmt::format("M={}, N={}, K={}", sizes.at("M"), sizes.at("N"), sizes.at("K"));
}

/// Shown at once, so that the reader sees what the next seconds are for.
void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void title(int number, const std::string& text) { say(fmt::format("\n{}. {}\n", number, text)); }

void quote(const std::string& text) {
  for (const std::string_view line : split(text, '\n'))
    fmt::print("{}{}\n", line.empty() ? "" : "    ", line);
}

/// A compiled program with the inputs and the outcome of one call.
struct Ready {
  driver::Compiled compiled;
  std::vector<int64_t> sizes;
  program::Arrays inputs, results;
};

Parsed<Ready> ready(const driver::Request& request, const schedule::Environment& environment) {
  const Waiting waiting("compiling and running");
  Trace trace(TraceOptions{});
  KAWARA_TRY(driver::Compiled compiled, driver::compile(request, environment, trace));
  KAWARA_TRY(std::vector<int64_t> sizes, driver::all_sizes(compiled.front.program, request));
  KAWARA_TRY(program::Arrays inputs, driver::inputs_for(compiled.front.program, sizes, {}));
  KAWARA_TRY(program::Arrays results, driver::call(compiled, sizes, inputs));
  return Ready{std::move(compiled), std::move(sizes), std::move(inputs), std::move(results)};
}

/// Few samples: a slow loop must not make the demo slow.
Parsed<run::Timing> timing_of(const Ready& ready, int samples) {
  run::MeasureOptions options;
  options.samples = samples;
  options.limit_seconds = 2;
  return while_waiting("measuring", [&] {
    return driver::time_calls(ready.compiled, ready.sizes, ready.inputs, options);
  });
}

std::string speed_text(const run::Timing& timing, double flops) {
  return fmt::format("{:.2f} ms, {:.2f} GFLOP/s", timing.median * 1e3,
                     flops / timing.median * 1e-9);
}

/// What the judge says of the order in force, in one sentence.
std::string proof_text(const schedule::Schedule& proven, const schedule::Environment& environment) {
  const poly::Verdict verdict = poly::judge(proven.scop, proven.order, environment.quota);
  const auto* legal = std::get_if<poly::Legal>(&verdict);
  KAWARA_CHECK(legal, "a schedule in force is legal");
  return fmt::format(
      "proved: {} dependences judged, every one keeps its order{}", proven.scop.dependences.size(),
      legal->reassociates ? " but for the sums,\n   which numerics `rounding` lets be reordered"
                          : "; no sum is reordered");
}

/// The message of a directive that the judge refuses.
Diagnostics refusal(const schedule::Environment& environment) {
  Trace trace(TraceOptions{});
  const auto front = driver::schedule(request_for("jacobi1d.kw", kJacobi, "interchange(t, i)", {}),
                                      environment, trace);
  KAWARA_CHECK(!front, "interchanging the loops of a stencil is refused");
  return front.error();
}

Parsed<Done> check_small(const schedule::Environment& environment) {
  KAWARA_TRY(const Ready small,
             ready(request_for("gemm.kw", kGemm, "auto", small_and_odd()), environment));
  const program::Program& program = small.compiled.front.program;
  auto expected = while_waiting(
      "interpreting", [&] { return program::interpret(program, small.sizes, small.inputs); });
  if (!expected)
    return fail(Diagnostics{std::move(expected).error()});
  const double worst = driver::compare(small.results, *expected).worst;
  const double allowed = driver::tolerance_of(program, small.sizes);
  KAWARA_CHECK(worst <= allowed, "compiled code computes what the interpreter computes");
  say(fmt::format("   {}: same as the reference interpreter\n"
                  "   (largest difference {:.2g}, rounding allows {:.2g})",
                  size_text(small_and_odd()), worst, allowed));
  return Done{};
}

/// Speed-up and roofline; the picture too when a file is named.
Parsed<Done> place_under_roof(const run::Timing& naive, const run::Timing& fast,
                              const estimate::Work& work, const schedule::Environment& environment,
                              const std::string& svg) {
  const auto kept = driver::kept_machine(environment.cpu);
  const estimate::Machine machine = kept ? *kept : while_waiting("measuring the machine", [&] {
    return driver::measured_machine(environment.cpu);
  });
  const estimate::Roof roof = estimate::roof_over(work, machine, run::default_threads());
  const auto point = [&](const char* label, const run::Timing& timing) {
    return estimate::RooflinePoint{label, work.flops, work.compulsory_bytes, timing.median};
  };
  quote(std::string(trim(estimate::describe(roof, point("gemm, auto", fast)))));
  if (!kept && driver::kept_machine(environment.cpu))
    say("    What the machine can do was measured; `kawara bench` knows it from now on.");
  if (svg.empty())
    return Done{};
  const auto written = run::write_file(
      svg, estimate::roofline_svg(roof, {point("as written", naive), point("auto", fast)}));
  if (!written)
    return fail(Diagnostics{written.error()});
  say("    picture: " + svg);
  return Done{};
}

Parsed<Done> tour(const std::string& svg) {
  const schedule::Environment environment = driver::host_environment();
  const std::string size = size_text(large());
  const int64_t threads = run::default_threads();
  say(fmt::format("Kawara on {}, {} thread{}: one matrix product, from text to fast code.",
                  environment.cpu.name, threads, threads == 1 ? "" : "s"));

  title(1, "The program");
  quote(std::string(trim(kGemm)));

  title(2, "As written: three loops, one thread");
  KAWARA_TRY(const Ready naive,
             ready(request_for("gemm.kw", kGemm, nullptr, large()), environment));
  quote(std::string(trim(schedule::listing(naive.compiled.front.schedule))));
  KAWARA_TRY(const run::Timing slow, timing_of(naive, 3));
  auto work = estimate::count(naive.compiled.front.program, naive.sizes);
  if (!work)
    return fail(Diagnostics{std::move(work).error()});
  say(fmt::format("\n   {}: {}", size, speed_text(slow, work->flops)));

  title(3, "The schedule `auto` for this machine");
  KAWARA_TRY(const Ready tuned, ready(request_for("gemm.kw", kGemm, "auto", large()), environment));
  const schedule::Schedule& proven = tuned.compiled.front.schedule;
  quote(std::string(trim(schedule::draw_text(proven.scop, proven.order))));
  say("\n   " + proof_text(proven, environment));

  title(4, "What would change the result is refused: interchange(t, i) of a stencil");
  quote(std::string(trim(render(refusal(environment)))));

  title(5, "Checked");
  KAWARA_TRY([[maybe_unused]] const Done small, check_small(environment));
  const double apart = driver::compare(tuned.results, naive.results).worst;
  say(fmt::format("   {}: same as the loops as written\n   (largest difference {:.2g})", size,
                  apart));

  title(6, "Speed");
  KAWARA_TRY(const run::Timing fast, timing_of(tuned, 11));
  say(fmt::format("    as written  {}\n    auto        {}\n    {:.1f} times faster\n",
                  speed_text(slow, work->flops), speed_text(fast, work->flops),
                  slow.median / fast.median));
  KAWARA_TRY([[maybe_unused]] const Done placed,
             place_under_roof(slow, fast, *work, environment, svg));

  title(7, "A whole net: MobileNetV2, made up here (`kawara zoo`), no file needed");
  auto net = net_from_graph_to_time("mobilenet-v2");
  if (!net)
    return fail(Diagnostics{std::move(net).error()});
  say(*net);
  say("\nNext: docs/lessons/01-program.md, or `kawara --help`.");
  return Done{};
}

int demo(const std::string& svg) {
  const auto done = tour(svg);
  return done ? kOk : report(done.error(), {});
}

} // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto svg = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("demo", "the main job in a few seconds: text, proof, fast code");
  command->add_option("--svg", *svg, "write the roofline picture to this file");
  add_examples(*command, {"kawara demo", "kawara demo --svg roofline.svg"});
  command->callback([svg, &exit_code] { exit_code = demo(*svg); });
}

} // namespace kawara::tools
