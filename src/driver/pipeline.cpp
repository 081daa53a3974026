#include "driver/pipeline.h"

#include "driver/verify_kernel.h"
#include "emit/unit.h"
#include "estimate/winograd_tile.h"
#include "kernel/from_schedule/from_schedule.h"
#include "kernel/passes.h"
#include "poly/order_spec.h"
#include "poly/scop.h"
#include "poly/syntactic/comparison.h"
#include "program/rewrites/blocked_scans.h"
#include "program/rewrites/dense_strides.h"
#include "program/rewrites/filled_products.h"
#include "program/rewrites/joined_dimensions.h"
#include "program/rewrites/offset_products.h"
#include "program/rewrites/running_elements.h"
#include "program/rewrites/unit_dimensions.h"
#include "program/rewrites/unit_loops.h"
#include "program/rewrites/winograd.h"
#include "run/cpu/threads.h"
#include "schedule/auto/auto.h"
#include "schedule/auto/nest/recurrence.h"
#include "schedule/marks/slow_widths.h"
#include "target/cpu.h"
#include "validate/validate.h"

#include <optional>

namespace kawara::driver {
namespace {

/// Applies the directives one by one; a refusal becomes its message.
Parsed<schedule::Schedule> scheduled(schedule::Schedule at, const SourcePtr& text,
                                     const schedule::Environment& environment) {
  if (!text)
    return at;
  KAWARA_TRY(const auto directives, schedule::parse_directives(text));
  for (const schedule::Directive& directive : directives) {
    auto next = schedule::apply(at, directive, environment);
    if (!next)
      return fail(Diagnostics{schedule::explain(at, next.error(), environment)});
    at = *std::move(next);
  }
  return at;
}

/// Elements of a scan that one thread goes through, and of a scan that is worth reading twice
/// (docs/notes/blocked_scans.md).
constexpr int64_t kScanOfBlock = 1024, kLongScan = 64 * kScanOfBlock;
/// The same for GPUs, whose single threads are slow.
constexpr int64_t kScanOfThread = 64, kLongScanOfGpu = 2048;

program::Program with_blocked_scans(program::Program program, int64_t block, int64_t least) {
  program =
      program::with_running_elements(std::move(program), [&](const program::RunningScan& scan) {
        return scan.loops == 0 && scan.length >= least;
      });
  while (auto other = program::with_blocked_scan(program, block, least))
    program = *std::move(other);
  return program;
}

/// What `auto` alone decides on may also be written another way to the same result: products of
/// bytes for machines that multiply those with a sign by those without one, operands with strides
/// as copies without, rows that are no whole vectors as one long row, long scans in blocks, rows of
/// several dimensions as those of one, and nothing in loops of one iteration; for a GPU, products
/// on plain cores in whole tiles. Under `numerics fast` to nearly the same: convolutions in
/// Winograd's form, unless the request says which form they have.
program::Program rewritten_for_target(program::Program program, const Request& request,
                                      const schedule::Environment& environment) {
  // Which elements are touched has to be known for all of it.
  if (!request.directives || program::depends_on_data(program))
    return program;
  const auto directives = schedule::parse_directives(request.directives);
  if (!directives || directives->size() != 1 ||
      !std::holds_alternative<schedule::Auto>(directives->front()))
    return program;
  if (environment.gpu) {
    program = program::without_unit_loops(std::move(program));
    while (program.numerics == program::Numerics::Rounding) {
      auto other = program::with_filled_products(program, {});
      if (!other)
        break;
      program = *std::move(other);
    }
    program = with_blocked_scans(std::move(program), kScanOfThread, kLongScanOfGpu);
    constexpr int64_t kBytesOfLoad = 16;
    while (auto other = program::with_flat_maps(program, kBytesOfLoad))
      program = *std::move(other);
    return program;
  }
  program = program::without_unit_dimensions(std::move(program));
  program =
      program::with_running_elements(std::move(program), [&](const program::RunningScan& scan) {
        return scan.length.value_or(INT64_MAX - 1) >=
               schedule::shortest_scan_in_lanes(environment.cpu, scalar::bytes_of(scan.elem));
      });
  if (environment.cpu.cores > 1)
    program = with_blocked_scans(std::move(program), kScanOfBlock, kLongScan);
  while (const auto m = request.winograd == 0 && program.numerics == program::Numerics::Fast
                            ? estimate::winograd_tile(program, environment.cpu)
                            : std::nullopt) {
    auto other = program::with_winograd(program, *m);
    if (!other)
      break;
    program = *std::move(other);
  }
  // Tiles multiply i8 by i8; with fewer rows than this they are left alone.
  constexpr int64_t kRowsForTiles = 4;
  const bool has_tiles = environment.cpu.features.has(target::Feature::AmxInt8);
  if (environment.cpu.features.has(target::Feature::Avx512vnni))
    if (auto other =
            program::with_offset_products(program, has_tiles ? kRowsForTiles - 1 : INT64_MAX))
      program = *std::move(other);
  const int64_t lanes = target::vector_lanes(environment.cpu, 4);
  // Wide vectors have images with their channels last, which are read in runs.
  constexpr int64_t kNarrowBytes = 16;
  while (environment.cpu.vector_bytes <= kNarrowBytes) {
    auto other = program::with_dense_strides(program);
    if (!other)
      break;
    program = *std::move(other);
  }
  while (auto other = program::with_joined_dimensions(program, lanes))
    program = *std::move(other);
  return program;
}

emit::LlvmUnit unit_of(const kernel::Kernel& kernel, Trace& trace) {
  emit::LlvmUnit unit = trace.stage("emit", [&] { return emit::module_from_kernel(kernel); });
  trace.after(
      "emit", [] { return std::vector<std::string>{}; }, [&] { return unit.ir(); });
  return unit;
}

Parsed<run::Executable> loaded(emit::LlvmUnit unit, const run::LoadOptions& options, Trace& trace) {
  auto executable = trace.stage("run", [&] { return run::load(std::move(unit), options); });
  if (!executable)
    return fail(Diagnostics{std::move(executable).error()});
  return *std::move(executable);
}

/// The kernel that passes make of these loops, checked: under `verify` with all the time that it
/// needs, else as far as that takes a few milliseconds. How far that was, the trace counts.
kernel::Kernel
finished(const Scheduled& front, kernel::Kernel loops, Trace& trace,
         const std::function<kernel::Kernel(kernel::Kernel, bool keeps_functions)>& passes) {
  const std::optional<kernel::Kernel> before =
      trace.is_verifying() ? std::optional(loops) : std::nullopt;
  kernel::Kernel kernel = trace.stage("kernel", [&] { return passes(std::move(loops), false); });
  trace.after(
      "kernel",
      [&] {
        KernelVerdict verdict =
            verify_kernel(front.program, *before, kernel, passes(*before, true));
        trace.note(verdict.note);
        const validate::Report report = validate::validate(front.schedule, kernel);
        trace.note(note_of(report));
        trace.count(outcome_of(report));
        for (const std::string& fault : report.faults)
          verdict.broken.push_back(fault);
        return std::move(verdict.broken);
      },
      [&] { return kernel::print(kernel); });
  if (!trace.is_verifying())
    trace.count(trace.stage(
        "validate", [&] { return require_valid(front.schedule, kernel, trace.together()); }));
  return kernel;
}

} // namespace

schedule::Environment host_environment() {
  schedule::Environment environment;
  environment.cpu = target::detect_cpu();
  environment.cpu.cores = run::default_threads();
  return environment;
}

Parsed<Scheduled> schedule(const Request& request, const schedule::Environment& environment,
                           Trace& trace) {
  KAWARA_TRY(program::Program program, trace.stage("program", [&] { return program_of(request); }));
  trace.after(
      "program", [&] { return program::spec(program); }, [&] { return program::print(program); });

  program::Program rewritten =
      trace.stage("rewritten", [&] { return rewritten_for_target(program, request, environment); });
  trace.after(
      "rewritten", [&] { return program::spec(rewritten); },
      [&] { return program::print(rewritten); });

  const auto comparison = trace.is_verifying() ? std::make_shared<poly::Comparison>()
                                               : std::shared_ptr<poly::Comparison>();
  KAWARA_TRY(poly::Scop scop, trace.stage("poly", [&] {
    return poly::scop_from_program(rewritten, poly::make_context(comparison));
  }));
  trace.after(
      "poly", [&] { return poly::spec(scop); }, [&] { return poly::print(scop); });

  Diagnostics warnings = scop.warnings;
  KAWARA_TRY(schedule::Schedule proven, trace.stage("schedule", [&] {
    return scheduled(schedule::initial_schedule(std::move(scop)), request.directives, environment);
  }));
  trace.after(
      "schedule",
      [&] {
        trace.note(poly::text_of(*comparison));
        std::vector<std::string> broken = poly::spec(proven.scop);
        for (std::string& more : poly::spec(proven.order))
          broken.push_back(std::move(more));
        return broken;
      },
      [&] { return schedule::listing(proven); });
  if (const auto asked = request.directives ? schedule::parse_directives(request.directives)
                                            : Parsed<std::vector<schedule::Directive>>({}))
    for (Diagnostic& slow : schedule::slow_widths(proven, *asked, environment))
      warnings.push_back(std::move(slow));
  return Scheduled{std::move(program), std::move(rewritten), std::move(proven),
                   std::move(warnings)};
}

Parsed<std::vector<schedule::Directive>> spelled_out(const Scheduled& front, const Request& request,
                                                     const schedule::Environment& environment) {
  using schedule::Directive;
  const auto asked = request.directives ? schedule::parse_directives(request.directives)
                                        : Parsed<std::vector<Directive>>({});
  if (!asked)
    return fail(asked.error());
  KAWARA_TRY(poly::Scop scop, poly::scop_from_program(front.rewritten, poly::make_context()));
  schedule::Schedule at = schedule::initial_schedule(std::move(scop));
  std::vector<Directive> all;
  for (const Directive& directive : *asked) {
    const std::vector<Directive> steps = directive == Directive(schedule::Auto{})
                                             ? schedule::spelled_out(at, environment)
                                             : std::vector{directive};
    auto next = schedule::apply(at, schedule::Group{steps}, environment);
    if (!next)
      return fail(Diagnostics{schedule::explain(at, next.error(), environment)});
    at = *std::move(next);
    all.insert(all.end(), steps.begin(), steps.end());
  }
  return all;
}

kernel::Kernel kernel_of(const Scheduled& front, Trace& trace) {
  return kernel_of(front, schedule::Environment{}, trace);
}

kernel::Kernel kernel_of(const Scheduled& front, const schedule::Environment& environment,
                         Trace& trace) {
  kernel::Kernel kernel = trace.stage("loops", [&] {
    return kernel::kernel_from_schedule(front.schedule, environment.gpu.has_value());
  });
  trace.after(
      "loops", [&] { return kernel::spec(kernel); }, [&] { return kernel::print(kernel); });
  return kernel;
}

kernel::Kernel optimised_kernel_of(const Scheduled& front, const schedule::Environment& environment,
                                   Trace& trace) {
  return finished(front, kernel_of(front, environment, trace), trace,
                  [&](kernel::Kernel loops, bool keeps_functions) {
                    const kernel::PassOptions how{.keeps_functions = keeps_functions};
                    return environment.gpu
                               ? kernel::optimise_for_gpu(std::move(loops), *environment.gpu, how)
                               : kernel::optimise(std::move(loops), environment.cpu, how);
                  });
}

emit::CUnit c_of(const Scheduled& front, const emit::COptions& options, Trace& trace) {
  const kernel::Kernel kernel =
      finished(front, kernel_of(front, trace), trace, [&](kernel::Kernel loops, bool) {
        return options.is_naive ? std::move(loops) : kernel::optimise_for_text(std::move(loops));
      });
  emit::COptions as_it_is = options;
  as_it_is.is_naive = true;
  return trace.stage("emit", [&] { return emit::c_from_kernel(kernel, as_it_is); });
}

Parsed<Compiled> compile(Scheduled front, const schedule::Environment& environment, Trace& trace,
                         const run::LoadOptions& options) {
  kernel::Kernel kernel = optimised_kernel_of(front, environment, trace);
  KAWARA_TRY(run::Executable executable, loaded(unit_of(kernel, trace), options, trace));
  return Compiled{std::move(front), std::move(kernel), std::move(executable)};
}

Parsed<Compiled> compile(const Request& request, const schedule::Environment& environment,
                         Trace& trace, const run::LoadOptions& options) {
  KAWARA_TRY(Scheduled front, schedule(request, environment, trace));
  return compile(std::move(front), environment, trace, options);
}

Parsed<run::Executable> executable_of(const Request& request,
                                      const schedule::Environment& environment, Trace& trace,
                                      const run::LoadOptions& options) {
  std::optional<kernel::Kernel> kernel;
  {
    KAWARA_TRY(const Scheduled front, schedule(request, environment, trace));
    kernel = optimised_kernel_of(front, environment, trace);
  }
  emit::LlvmUnit unit = unit_of(*kernel, trace);
  kernel.reset();
  auto executable = loaded(std::move(unit), options, trace);
  return executable;
}

} // namespace kawara::driver
