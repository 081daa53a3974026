#include "kawara/machines.h"

#include "driver/machine.h"
#include "estimate/machines/machine_from_file.h"
#include "run/cpu/threads.h"
#include "run/file.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace kawara::tools {
namespace {

Diagnostic no_such_machine(const std::string& name) {
  const std::vector<std::string> names = estimate::installed_machines();
  Diagnostic d;
  d.code = "K0472";
  d.headline = fmt::format("no machine is called `{}`", printable(name));
  d.body.push_back(
      fmt::format("Known are {}. A file of your own ends in .json.", join(names, ", ")));
  if (const auto meant = closest(name, names))
    d.help.push_back({"did you mean", "--machine " + *meant, false});
  else
    d.help.push_back({"to begin with one of them",
                      "kawara machine " + names.front() + " --text > mine.json", false});
  return d;
}

bool is_file_name(const std::string& name) {
  return name.ends_with(".json") || name.find('/') != std::string::npos;
}

} // namespace

void add_machine_option(CLI::App& app, std::string& machine) {
  app.add_option("--machine", machine,
                 "figures of another machine, by name (`kawara machine --list`) or from a file "
                 "NAME.json; code is still made for --target");
}

Parsed<SourcePtr> machine_source(const std::string& name) {
  if (auto text = estimate::installed_machine(name))
    return make_source("machines/" + name + ".json", *std::move(text));
  if (!is_file_name(name))
    return fail(Diagnostics{no_such_machine(name)});
  auto text = run::read_file(name);
  if (!text)
    return fail(Diagnostics{std::move(text).error()});
  return make_source(name, *std::move(text));
}

Parsed<estimate::MachineFile> named_machine(const std::string& name) {
  KAWARA_TRY(const SourcePtr source, machine_source(name));
  return estimate::machine_file(source);
}

int64_t most_threads() {
  return std::getenv("KAWARA_THREADS") == nullptr ? 0 : run::default_threads();
}

int64_t threads_of(const estimate::MachineFile& machine) {
  const int64_t most = most_threads();
  const bool is_processor = machine.kind == estimate::MachineFile::Kind::Cpu;
  return most == 0 || !is_processor ? machine.cores : std::min(machine.cores, most);
}

std::string Figures::origin() const {
  return file ? "from a file" : machine.is_measured ? "measured" : "described";
}

Parsed<Figures> figures_of(const std::string& name, const target::Cpu& cpu) {
  if (name.empty())
    return Figures{std::nullopt, driver::known_machine(cpu), run::default_threads()};
  KAWARA_TRY(const estimate::MachineFile file, named_machine(name));
  Figures made{file, {}, threads_of(file)};
  if (made.is_processor())
    made.machine = estimate::machine_from_file(file);
  return made;
}

std::string missing_energy(const Figures& figures) {
  if (!figures.file)
    return "no figures of this machine: name one that has them, `--machine` "
           "(`kawara machine --list`)";
  return figures.file->energy
             ? ""
             : fmt::format("the file of {} has no figures of it", figures.file->name);
}

Diagnostic unfit_machine(const std::string& name, std::string why, std::string instead) {
  Diagnostic d;
  d.code = "K0473";
  d.headline = fmt::format("`--machine {}` cannot be used here", printable(name));
  d.body.push_back(std::move(why));
  d.help.push_back({"", std::move(instead), false});
  return d;
}

} // namespace kawara::tools
