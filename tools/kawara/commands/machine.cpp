#include "kawara/command.h"
#include "kawara/waiting.h"

#include "driver/machine.h"
#include "run/file.h"

#include <fmt/core.h>

namespace kawara::tools {
namespace {

struct MachineOptions {
  bool json = false;
  bool calibrate = false;
  std::string svg;
};

int machine(const MachineOptions& options) {
  const target::Cpu cpu = target::detect_cpu();
  const auto kept = options.calibrate ? std::nullopt : driver::kept_machine(cpu);
  if (!kept && !options.json)
    fmt::print(stderr, "measuring, this takes a few seconds\n");
  const estimate::Machine figures =
      kept ? *kept : while_waiting("measuring", [&] { return driver::measured_machine(cpu); });
  if (options.json)
    fmt::print("{}\n", estimate::to_json(figures));
  else
    fmt::print("{}\n{}", target::print(cpu), estimate::print(figures));
  const std::string file = driver::machine_file(cpu).string();
  if (!options.json && kept && !file.empty())
    fmt::print("measured earlier, kept in {}; again with --calibrate\n", file);
  if (!options.svg.empty()) {
    const auto written = run::write_file(options.svg, estimate::roofs_svg(figures));
    if (!written) {
      fmt::print(stderr, "{}", render(written.error()));
      return kUserError;
    }
  }
  return kOk;
}

} // namespace

void add_machine(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MachineOptions>();
  CLI::App* command = app.add_subcommand("machine", "what this machine has and how fast it is");
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--calibrate", options->calibrate, "measure again, also when figures are kept");
  command->add_option("--svg", options->svg, "write the roofline picture to this file");
  add_examples(*command, {"kawara machine", "kawara machine --calibrate --svg roofline.svg"});
  command->callback([options, &exit_code] { exit_code = machine(*options); });
}

} // namespace kawara::tools
