#include "estimate/machines/machine_file.h"

#include <fmt/format.h>

namespace kawara::estimate {
namespace {

std::string bytes_in_units(int64_t bytes) {
  for (const auto& [unit, name] :
       {std::pair{int64_t{1} << 30, "GiB"}, std::pair{int64_t{1} << 20, "MiB"},
        std::pair{int64_t{1} << 10, "KiB"}})
    if (bytes >= unit && bytes % unit == 0)
      return fmt::format("{} {}", bytes / unit, name);
  return fmt::format("{:.4g} GB", static_cast<double>(bytes) * 1e-9);
}

std::string giga(double value) {
  return value >= 1e12 ? fmt::format("{:.0f}", value * 1e-9) : fmt::format("{:.1f}", value * 1e-9);
}

std::string row(const std::string& name, const Coefficient& c) {
  return fmt::format("  {:<28}{:>9.4g}{:>9.4g}{:>9.4g}  {}; {}\n", name, c.low, c.value, c.high,
                     c.node, c.source);
}

std::string energy_text(const EnergyFigures& energy) {
  std::string text =
      fmt::format("{:<30}{:>9}{:>9}{:>9}\n", "energy, picojoules", "low", "value", "high");
  for (const EnergyFigures::Operation& each : energy.operations)
    text += row(fmt::format("{} operation, {}", scalar::name_of(each.elem), name_of(each.unit)),
                each.picojoules);
  if (energy.instruction)
    text += row("an instruction besides", *energy.instruction);
  for (const EnergyFigures::Byte& each : energy.bytes)
    text += row(fmt::format("a byte, {}", each.level), each.picojoules);
  if (energy.constant_watts)
    text += row("watts at all times", *energy.constant_watts);
  return text;
}

} // namespace

std::string print(const MachineFile& machine) {
  std::string text = fmt::format("{}, {}, {} {}\n", machine.name, name_of(machine.kind),
                                 machine.cores, machine.cores == 1 ? "core" : "cores");
  text += fmt::format("{:<28}{:>12}{:>12}\n", "Goperations/s", "one core", "all");
  for (const MachineFile::Peak& peak : machine.peaks)
    text += fmt::format(
        "{:<28}{:>12}{:>12}  {}\n",
        fmt::format("  {:<7} {}", scalar::name_of(peak.elem),
                    peak.instruction.empty() ? std::string(name_of(peak.unit)) : peak.instruction),
        giga(peak.operations.one_core), giga(peak.operations.all_cores), peak.source);
  text += fmt::format("{:<18}{:>10}{:>12}{:>12}\n", "GB/s", "size", "one core", "all");
  for (const MachineFile::Level& level : machine.levels)
    text += fmt::format("  {:<16}{:>10}{:>12}{:>12}  {}lines of {} bytes; {}\n", level.name,
                        bytes_in_units(level.bytes), giga(level.bandwidth.one_core),
                        giga(level.bandwidth.all_cores),
                        level.ways > 0 ? fmt::format("{}-way {}, ", level.ways, level.policy)
                                       : std::string(),
                        level.line_bytes, level.source);
  text += fmt::format("  {:<16}{:>10}{:>12}{:>12}  {}; {}\n", "memory",
                      bytes_in_units(machine.memory.bytes), giga(machine.memory.bandwidth.one_core),
                      giga(machine.memory.bandwidth.all_cores), machine.memory.name,
                      machine.memory.source);
  for (const MachineFile::Link& link : machine.links)
    text += fmt::format("  {:<38}{:>12}  {}\n", link.name, giga(link.bandwidth), link.source);
  return text +
         (machine.energy ? energy_text(*machine.energy) : "the file has no figures of energy\n");
}

} // namespace kawara::estimate
