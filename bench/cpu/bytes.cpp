#include "cpu/bytes.h"

#include "cpu/markdown.h"
#include "cpu/program_text.h"

#include "cache/replay.h"
#include "driver/machine.h"
#include "driver/pipeline.h"
#include "kernel/memory/prepare.h"

#include <fmt/core.h>

#include <stdexcept>

namespace kawara::bench {
namespace {

template <class T, class E> T sound(Result<T, E> result) {
  if (!result)
    throw std::runtime_error(render(result.error()));
  return *std::move(result);
}

struct Moved {
  estimate::Prediction predicted;
  estimate::Replayed replayed;
};

Moved moved_by(const std::string& name, const std::string& text, const estimate::Machine& machine,
               const schedule::Environment& environment) {
  const driver::Request request{make_source(name, text), make_source("schedule", "auto"), {}, {}};
  Trace silent;
  const driver::Scheduled front = sound(driver::schedule(request, environment, silent));
  return {estimate::predict({}, kernel::prepare(driver::kernel_of(front, silent)), {}, machine, 1),
          sound(cache::replay(driver::optimised_kernel_of(front, environment, silent), {}, machine,
                              cache::caches_of_sizes(machine)))};
}

std::string megabytes(double bytes) { return fmt::format("{:.2f}", bytes * 1e-6); }

} // namespace

MovedBytes moved_bytes(const Case& c) {
  schedule::Environment environment = driver::host_environment();
  environment.cpu.cores = 1;
  const estimate::Machine machine = estimate::described_machine(environment.cpu);
  MovedBytes result{c.name, {}};
  for (size_t k = 1; k < machine.levels.size(); ++k)
    result.levels.push_back({machine.levels[k].name});
  const auto add = [&](const std::vector<std::string>& programs, auto predicted, auto replayed) {
    for (const std::string& text : programs) {
      const Moved moved = moved_by(c.name, text, machine, environment);
      for (size_t k = 1; k < machine.levels.size(); ++k) {
        const estimate::ReplayedLevel& level = moved.replayed.levels[k];
        result.levels[k - 1].*predicted += moved.predicted.levels[k].bytes;
        result.levels[k - 1].*replayed += level.read + level.written;
      }
    }
  };
  add(fused_program(c).programs, &LevelBytes::one_predicted, &LevelBytes::one_replayed);
  add(separate_programs(c).programs, &LevelBytes::several_predicted, &LevelBytes::several_replayed);
  return result;
}

std::string table_of(const std::vector<MovedBytes>& cases) {
  std::vector<std::vector<std::string>> table{{"MB a call", "from", "one program, predicted",
                                               "counted", "several, predicted", "counted",
                                               "one moves"}};
  for (const MovedBytes& moved : cases)
    for (const LevelBytes& level : moved.levels)
      table.push_back({moved.name, level.from, megabytes(level.one_predicted),
                       megabytes(level.one_replayed), megabytes(level.several_predicted),
                       megabytes(level.several_replayed),
                       level.several_replayed > 0
                           ? fmt::format("{:.2f}", level.one_replayed / level.several_replayed)
                           : "-"});
  return markdown(std::move(table));
}

} // namespace kawara::bench
