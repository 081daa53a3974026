#include "kawara/caches.h"
#include "kawara/command.h"
#include "kawara/machines.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "cache/from_kernel.h"
#include "cache/from_program.h"
#include "cache/replay.h"
#include "cache/report.h"
#include "driver/machine.h"
#include "estimate/count.h"

#include <fmt/core.h>

#include <filesystem>

namespace kawara::tools {
namespace {

struct CacheOptions : CommonOptions {
  std::vector<std::string> levels, tlb;
  std::string policy, place, machine;
  bool kernel = false, curve = false;
};

Parsed<std::vector<cache::Description>> levels_of(const CacheOptions& options,
                                                  const schedule::Environment& environment) {
  if (!options.machine.empty()) {
    KAWARA_TRY(const estimate::MachineFile machine, named_machine(options.machine));
    if (!options.levels.empty() || !options.policy.empty())
      return fail(Diagnostics{unfit_machine(
          options.machine, "Its file names the caches, and so does `--level` or `--policy`.",
          "leave one of them away, or change a copy of the file: `kawara machine NAME --text`")});
    return caches_of_file(machine, options.machine);
  }
  const cache::Policy policy = options.policy == "plru"   ? cache::Policy::Plru
                               : options.policy == "fifo" ? cache::Policy::Fifo
                                                          : cache::Policy::Lru;
  if (options.levels.empty())
    return cache::caches_of_sizes(driver::known_machine(environment.cpu), policy);
  std::vector<cache::Description> made;
  for (const std::string& text : options.levels) {
    auto each = cache::description_from_text(text, made.size() + 1, policy);
    if (!each)
      return fail(Diagnostics{std::move(each).error()});
    made.push_back(*std::move(each));
  }
  if (auto fits = cache::check(made); !fits)
    return fail(Diagnostics{std::move(fits).error()});
  return made;
}

Parsed<std::vector<cache::Description>> tlb_of(const CacheOptions& options) {
  std::vector<cache::Description> made;
  for (const std::string& text : options.tlb) {
    auto each = cache::tlb_from_text(text, made.size() + 1);
    if (!each)
      return fail(Diagnostics{std::move(each).error()});
    made.push_back(*std::move(each));
  }
  if (auto fits = cache::check(made); !fits)
    return fail(Diagnostics{std::move(fits).error()});
  return made;
}

/// Arrays in the order that `--place` names, those that it does not name behind them.
Parsed<cache::AccessProgram> placed(cache::AccessProgram program, const CacheOptions& options,
                                    int64_t unit) {
  if (options.place.empty())
    return program;
  std::vector<std::string> names;
  std::string_view rest = options.place;
  for (size_t comma = 0; comma != std::string_view::npos;) {
    comma = rest.find(',');
    names.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  if (auto wrong = cache::place_arrays(program, unit, names))
    return fail(Diagnostics{*std::move(wrong)});
  return program;
}

Parsed<cache::AccessProgram> accesses(const CacheOptions& options, const driver::Request& request,
                                      const schedule::Environment& environment,
                                      const driver::Scheduled& front, int64_t line_bytes,
                                      Trace& trace) {
  KAWARA_TRY(const program::Program program, driver::program_of(request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
  const bool is_text = schedule_kind(options) == "source" && !options.kernel;
  auto made = is_text ? cache::accesses_of_text(program, sizes, line_bytes)
                      : cache::accesses_of_kernel(
                            driver::optimised_kernel_of(front, environment, trace), sizes);
  if (!made)
    return fail(Diagnostics{std::move(made).error()});
  return placed(*std::move(made), options, is_text ? line_bytes : 4096);
}

/// For buffers of addresses a store is an access like any other, also one past the caches.
cache::AccessProgram addresses_of(cache::AccessProgram program) {
  for (cache::Reference& reference : program.references)
    if (reference.kind != cache::Reference::Kind::Prefetch)
      reference.kind = cache::Reference::Kind::Read;
  return program;
}

struct Made {
  cache::AccessProgram program;
  cache::Report report;
};

Parsed<Made> simulated(const CacheOptions& options, const driver::Request& request, Trace& trace) {
  KAWARA_TRY(const program::Program program, driver::program_of(request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
  KAWARA_TRY(const schedule::Environment environment, environment_of(options));
  KAWARA_TRY(const std::vector<cache::Description> levels, levels_of(options, environment));
  KAWARA_TRY(const std::vector<cache::Description> tlb, tlb_of(options));
  KAWARA_TRY(const driver::Scheduled front, while_waiting("proving", [&] {
               return driver::schedule(request, environment, trace);
             }));
  warn(front.warnings, options);
  Made made;
  const int64_t line_bytes = levels.front().line_bytes;
  KAWARA_TRY(made.program, accesses(options, request, environment, front, line_bytes, trace));
  Waiting waiting("simulating");
  const auto progress = [&waiting](int64_t done) {
    waiting.say(fmt::format("simulating, {} million accesses", done / 1000000));
  };
  made.report.is_of_text = schedule_kind(options) == "source" && !options.kernel;
  made.report.title = fmt::format("{}, {}", std::filesystem::path(options.file).filename().string(),
                                  made.report.is_of_text ? "as written" : "the kernel");
  if (const auto work = estimate::count(program, sizes))
    made.report.flops = work->flops;
  made.report.simulated = cache::simulate(made.program, levels, true, progress);
  if (!tlb.empty())
    made.report.tlb = cache::simulate(addresses_of(made.program), tlb, true, progress);
  if (options.curve)
    made.report.curve = cache::distances(made.program, line_bytes, progress);
  return made;
}

int cache_command(const CacheOptions& options) {
  auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  request = driver::with_default_sizes(*std::move(request));
  Trace trace(trace_options(options));
  const auto made = simulated(options, *request, trace);
  show_times(trace, options);
  if (!made)
    return report(made.error(), options);
  if (options.json)
    fmt::print("{}\n", cache::to_json(made->report, made->program));
  else
    fmt::print("{}", cache::print(made->report, made->program));
  return kOk;
}

} // namespace

void add_cache(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* command = app.add_subcommand(
      "cache", "simulate caches exactly: hits and kinds of misses by array, loop and reference");
  add_common(*command, *options, DefaultSchedule::Source);
  command->add_option("--level", options->levels,
                      "a cache, the nearest first: BYTES[,LINE[,WAYS[,POLICY]]], as 32K,64,8,lru; "
                      "WAYS may be `full`; behind POLICY `through` and `around` are for stores; "
                      "without one, this machine's sizes in 8 ways");
  command
      ->add_option("--policy", options->policy,
                   "which line makes room where --level does not say: lru, plru or fifo")
      ->check(CLI::IsMember({"lru", "plru", "fifo"}));
  command->add_option("--tlb", options->tlb,
                      "buffers of addresses, the nearest first: ENTRIES[,PAGE[,WAYS[,POLICY]]], as "
                      "64,4K,4,lru");
  add_machine_option(*command, options->machine);
  command->add_option(
      "--place", options->place,
      "the order of arrays in memory, A,B,C; without it that of their declarations");
  command->add_flag("--kernel", options->kernel,
                    "what the compiled kernel does, also in the text's order; with -s always");
  command->add_flag("--curve", options->curve,
                    "also the misses of one set of any size, from stack distances");
  add_examples(*command,
               {"kawara cache examples/gemm.kw -p M=256,N=256,K=256 --level 32K,64,8,lru",
                "kawara cache examples/gemm.kw -p M=256,N=256,K=256 -s auto --level 32K,64,8 "
                "--level 1M,64,16",
                "kawara cache examples/blur.kw -p H=512,W=512 --level 32K --curve --json",
                "kawara cache examples/blur.kw -p H=512,W=512 --machine sapphire-rapids"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : cache_command(*options);
  });
}

} // namespace kawara::tools
