#include "driver/machine.h"

#include "run/cpu/calibrate.h"
#include "run/file.h"
#include "support/hash.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace kawara::driver {
namespace {

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::filesystem::path(cache) / "kawara";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "kawara";
  return {};
}

/// This machine's processor has the figures of all its cores, however many plans are made for
/// (host_environment).
target::Cpu with_all_cores(target::Cpu cpu) {
  const target::Cpu here = target::detect_cpu();
  const int64_t planned = std::exchange(cpu.cores, here.cores);
  if (estimate::identity_of(cpu) != estimate::identity_of(here))
    cpu.cores = planned;
  return cpu;
}

} // namespace

std::filesystem::path machine_file(const target::Cpu& cpu) {
  const std::filesystem::path folder = cache_folder();
  const uint64_t key = hash_text(estimate::identity_of(with_all_cores(cpu)));
  return folder.empty() ? folder : folder / fmt::format("machine-{:016x}.json", key);
}

std::optional<estimate::Machine> kept_machine(const target::Cpu& cpu) {
  const std::filesystem::path file = machine_file(cpu);
  std::error_code ignored;
  if (file.empty() || !std::filesystem::exists(file, ignored))
    return std::nullopt;
  const auto text = run::read_file(file.string());
  auto machine = text ? estimate::machine_from_json(*text) : std::nullopt;
  return machine && machine->cpu == estimate::identity_of(with_all_cores(cpu)) ? machine
                                                                               : std::nullopt;
}

estimate::Machine measured_machine(const target::Cpu& planned) {
  const target::Cpu cpu = with_all_cores(planned);
  estimate::Machine machine = run::calibrate(cpu, std::make_shared<run::ThreadPool>(cpu.cores));
  const std::filesystem::path file = machine_file(cpu);
  if (file.empty())
    return machine;
  // Written under another name first: a reader never meets half a file. A folder that cannot be
  // written to costs the next run a few seconds, nothing else.
  std::error_code failed;
  std::filesystem::create_directories(file.parent_path(), failed);
  const std::filesystem::path part = file.string() + ".part";
  if (!failed && run::write_file(part.string(), estimate::to_json(machine)))
    std::filesystem::rename(part, file, failed);
  return machine;
}

estimate::Machine known_machine(const target::Cpu& cpu) {
  auto kept = kept_machine(cpu);
  return kept ? *std::move(kept) : estimate::described_machine(with_all_cores(cpu));
}

} // namespace kawara::driver
