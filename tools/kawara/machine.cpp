#include "kawara/command.h"

#include "run/cpu/threads.h"
#include "run/probe.h"
#include "target/cpu.h"

#include <fmt/core.h>

namespace kawara::tools {
namespace {

int machine(bool json) {
  const target::Cpu cpu = target::detect_cpu();
  const run::MachineLimits limits = run::probe_machine(cpu, std::make_shared<run::ThreadPool>());
  if (json) {
    fmt::print("{}\n", run::to_json(limits));
    return kOk;
  }
  fmt::print("{}\nmeasured            one thread   {} threads\n", target::print(cpu),
             limits.threads);
  const auto row = [](const char* name, double one, double all, const char* unit) {
    fmt::print("{:<18} {:>10.1f}   {:>10.1f}  {}\n", name, one * 1e-9, all * 1e-9, unit);
  };
  row("f32 multiply-add", limits.f32_flops_one, limits.f32_flops_all, "GFLOP/s");
  row("f64 multiply-add", limits.f64_flops_one, limits.f64_flops_all, "GFLOP/s");
  row("memory", limits.memory_bytes_one, limits.memory_bytes_all, "GB/s");
  fmt::print("{:<18} {:>10.1f}                GB/s\n", "L1", limits.l1_bytes * 1e-9);
  fmt::print("{:<18} {:>10.1f}                GB/s\n", "L2", limits.l2_bytes * 1e-9);
  return kOk;
}

} // namespace

void add_machine(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("machine", "what this machine has and how fast it is");
  command->add_flag("--json", *json, "print JSON");
  add_examples(*command, {"kawara machine"});
  command->callback([json, &exit_code] { exit_code = machine(*json); });
}

} // namespace kawara::tools
