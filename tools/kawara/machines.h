#pragma once

#include "estimate/machine.h"
#include "estimate/machines/machine_file.h"

#include <CLI/CLI.hpp>

namespace kawara::tools {

/// Adds `--machine NAME|FILE`.
void add_machine_option(CLI::App&, std::string& machine);

/// The machine of that name, or of the file. Refuses a name that none has (K0472), and what
/// `estimate::machine_file` refuses.
Parsed<estimate::MachineFile> named_machine(const std::string& name);
/// Its text.
Parsed<SourcePtr> machine_source(const std::string& name);

/// How many threads it runs: one a core; of a processor KAWARA_THREADS where that is set and less.
int64_t threads_of(const estimate::MachineFile&);

/// KAWARA_THREADS where it is set, else 0: one thread a core.
int64_t most_threads();

/// The figures that costs are predicted with.
struct Figures {
  std::optional<estimate::MachineFile> file; ///< of `--machine`
  estimate::Machine machine;                 ///< of a processor; of another machine empty
  int64_t threads = 1;
  bool is_processor() const { return !file || file->kind == estimate::MachineFile::Kind::Cpu; }
  std::string name() const { return file ? file->name : "this machine"; }
  std::string origin() const; ///< "measured", "described", "from a file"
};

/// Those of the machine that is named or, without a name, of the processor: what was measured of
/// this one, else its description. Refuses what `named_machine` refuses.
Parsed<Figures> figures_of(const std::string& machine, const target::Cpu&);

/// Why no energy can be told; empty where it can.
std::string missing_energy(const Figures&);

/// K0473: what the command cannot do with the machine.
Diagnostic unfit_machine(const std::string& name, std::string why, std::string instead);

} // namespace kawara::tools
