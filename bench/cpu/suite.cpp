#include "cpu/suite.h"

#include "cpu/operands.h"

#include "run/cpu/calibrate.h"
#include "target/cpu.h"

#include <algorithm>
#include <chrono>

namespace kawara::bench {
namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A contestant that is ready, with the place of its entry and with operands of its own: what several read would be in a cache for
/// those among them that come next.
struct Starter {
  Contestant* contestant;
  size_t entry;
  std::unique_ptr<OperandMemory> memory;
};

std::vector<Starter> prepare_all(const Case& c, const Contestants& contestants, Row& row) {
  std::vector<Starter> starters;
  for (const auto& contestant : contestants) {
    Entry entry;
    entry.contestant = contestant->name();
    entry.is_kawara = contestant->is_kawara();
    try {
      auto memory = std::make_unique<OperandMemory>(c);
      const double begin = wall_seconds();
      if (!contestant->prepare(c, memory->operands()))
        continue;
      entry.prepare_seconds = wall_seconds() - begin;
      contestant->run();
      starters.push_back({contestant.get(), row.entries.size(), std::move(memory)});
    } catch (const std::exception& e) {
      entry.failure = e.what();
    }
    row.entries.push_back(std::move(entry));
  }
  return starters;
}

void compare(const Case& c, const std::vector<Starter>& starters, Row& row) {
  std::vector<std::vector<float>> results;
  for (const Starter& starter : starters) {
    results.emplace_back(static_cast<size_t>(output_elements(c)));
    starter.contestant->output(results.back().data());
  }
  const OperandMemory memory(c);
  const auto agreements = compare_results(c, memory.operands(), results);
  for (size_t i = 0; i < starters.size(); ++i)
    row.entries[starters[i].entry].agreement = agreements[i];
}

} // namespace

Row run_case(const Case& c, const Contestants& contestants, const RaceOptions& options) {
  Row row{c, {}};
  const std::vector<Starter> starters = prepare_all(c, contestants, row);
  compare(c, starters, row);
  std::vector<std::function<void()>> works;
  for (const Starter& starter : starters)
    works.emplace_back([contestant = starter.contestant] { contestant->run(); });
  const auto timings = race(works, options);
  for (size_t i = 0; i < starters.size(); ++i)
    row.entries[starters[i].entry].timing = timings[i];
  for (const auto& contestant : contestants)
    contestant->release();
  return row;
}

Limits measured_limits(int64_t threads) {
  const estimate::Machine machine =
      run::calibrate(target::detect_cpu(), std::make_shared<run::ThreadPool>(threads));
  return {estimate::find_peak(machine, scalar::Elem::F32)->flops.all,
          machine.levels.back().triad.all};
}

Limits larger_of(const Limits& a, const Limits& b) {
  return {std::max(a.f32_flops, b.f32_flops), std::max(a.memory_bytes, b.memory_bytes)};
}

} // namespace kawara::bench
