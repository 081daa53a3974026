#include "estimate/machines/machine_from_file.h"

#include "support/check.h"

namespace kawara::estimate {
namespace {

Rate rate_of(const Throughput& figures) { return {figures.one_core, figures.all_cores}; }

} // namespace

Machine machine_from_file(const MachineFile& file) {
  KAWARA_CHECK(file.kind == MachineFile::Kind::Cpu, "no processor");
  Machine machine;
  machine.cpu = file.name;
  machine.threads = file.cores;
  machine.file = file.name;
  for (const MachineFile::Peak& peak : file.peaks)
    machine.peaks.push_back({peak.elem, peak.instruction, rate_of(peak.operations)});
  const auto level = [&](const std::string& name, int64_t bytes, const Throughput& bandwidth) {
    const Rate rate = rate_of(bandwidth);
    machine.levels.push_back({name, bytes, rate, rate, rate, rate});
  };
  for (const MachineFile::Level& each : file.levels)
    level(each.name, each.bytes, each.bandwidth);
  machine.line_bytes = file.levels.front().line_bytes;
  level("memory", 0, file.memory.bandwidth);
  machine.add_seconds = file.add_seconds;
  machine.fork_seconds = file.fork_seconds;
  machine.register_bytes = file.register_bytes;
  machine.vector_bytes = file.vector_bytes;
  return machine;
}

} // namespace kawara::estimate
