#include "kawara/command.h"
#include "kawara/machines.h"
#include "kawara/spread.h"
#include "kawara/waiting.h"

#include "driver/machine.h"
#include "run/file.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

struct MachineOptions {
  bool json = false;
  bool calibrate = false;
  bool list = false, text = false;
  std::string svg, name;
};

int described_machine(const MachineOptions& options) {
  CommonOptions common;
  common.json = options.json;
  const auto machine = named_machine(options.name);
  if (!machine)
    return report(machine.error(), common);
  const SourcePtr source = *machine_source(options.name);
  if (options.text)
    fmt::print("{}", source->text);
  else if (options.json) // without comments
    fmt::print("{}\n", nlohmann::ordered_json::parse(source->text, nullptr, true, true).dump(2));
  else
    fmt::print("{}", estimate::print(*machine));
  return kOk;
}

int list_machines() {
  for (const std::string& name : estimate::installed_machines())
    if (const auto machine = named_machine(name))
      fmt::print("{:<18}{:<13}{}\n", name, estimate::name_of(machine->kind), machine->name);
  return kOk;
}

/// K0439: options that are about this machine, or about one with a name.
std::optional<Diagnostic> refused_together(const MachineOptions& options) {
  const bool is_here = options.calibrate || !options.svg.empty();
  Diagnostic d;
  d.code = "K0439";
  if (options.name.empty() && options.text) {
    d.headline = "`--text` of `kawara machine` means nothing without a name";
    d.help.push_back({"", "name a machine: `kawara machine --list`", false});
    return d;
  }
  if ((!options.name.empty() || options.list) && is_here) {
    d.headline = fmt::format("`--{}` of `kawara machine` means nothing for another machine",
                             options.calibrate ? "calibrate" : "svg");
    d.help.push_back({"", "leave the name away: this machine alone can be measured", false});
    return d;
  }
  return std::nullopt;
}

int machine(const MachineOptions& options) {
  const target::Cpu cpu = target::detect_cpu();
  const auto kept = options.calibrate ? std::nullopt : driver::kept_machine(cpu);
  if (!kept && !options.json)
    fmt::print(stderr, "measuring, this takes a few seconds\n");
  const int64_t others = kept ? 0 : other_processes();
  const estimate::Machine figures =
      kept ? *kept : while_waiting("measuring", [&] { return driver::measured_machine(cpu); });
  if (options.json)
    fmt::print("{}\n", estimate::to_json(figures));
  else
    fmt::print("{}\n{}", target::print(cpu), estimate::print(figures));
  const std::string file = driver::machine_file(cpu).string();
  if (!options.json && kept && !file.empty())
    fmt::print("measured earlier, kept in {}; again with --calibrate\n", file);
  if (others > 0)
    fmt::print(stderr,
               "{} other {} busy: the figures may be too low, and are kept; measure again when the "
               "machine is quiet, with --calibrate\n",
               others, others == 1 ? "process was" : "processes were");
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
  command->add_option("NAME", options->name, "another machine, by name or from a file NAME.json");
  command->add_flag("--list", options->list, "names of the machines that come with Kawara");
  command->add_flag("--text", options->text,
                    "the file of the machine that is named, to be changed");
  add_examples(*command, {"kawara machine", "kawara machine --calibrate --svg roofline.svg",
                          "kawara machine neoverse-v1 --text > mine.json"});
  command->callback([options, &exit_code] {
    const auto refused = refused_together(*options);
    CommonOptions common;
    common.json = options->json;
    exit_code = refused                  ? report({*refused}, common)
                : options->list          ? list_machines()
                : !options->name.empty() ? described_machine(*options)
                                         : machine(*options);
  });
}

} // namespace kawara::tools
