#include "cache/replay.h"

#include "cache/from_kernel.h"
#include "cache/simulate.h"

#include <algorithm>

namespace kawara::cache {
namespace {

void add_bytes(const Code& code, std::vector<int64_t>& bytes) {
  for (const Step& step : code) {
    if (const auto* touch = std::get_if<Touch>(&step.step)) {
      bytes[touch->reference] = touch->bytes;
    } else if (const auto* loop = std::get_if<Loop>(&step.step)) {
      add_bytes(loop->body, bytes);
    } else if (const auto* branch = std::get_if<Branch>(&step.step)) {
      add_bytes(branch->then, bytes);
      add_bytes(branch->otherwise, bytes);
    }
  }
}

/// Between registers and the nearest cache, and what went past all caches.
struct Near {
  double read = 0, written = 0, past = 0;
  int64_t accesses = 0;
};

Near near_of(const AccessProgram& program, const Simulated& simulated) {
  std::vector<int64_t> bytes(program.references.size(), 0);
  add_bytes(program.code, bytes);
  Near made;
  for (size_t r = 0; r < bytes.size(); ++r) {
    const Reference::Kind kind = program.references[r].kind;
    if (kind == Reference::Kind::Prefetch)
      continue;
    const int64_t pieces = simulated.counts[0].of[r].accesses - simulated.extra[r];
    const double moved = static_cast<double>(pieces) * static_cast<double>(bytes[r]);
    made.accesses += pieces;
    (kind == Reference::Kind::Read ? made.read : made.written) += moved;
    made.past += kind == Reference::Kind::Stream ? moved : 0;
  }
  return made;
}

} // namespace

std::vector<Description> caches_of_sizes(const estimate::Machine& machine, Policy policy) {
  constexpr int64_t kWays = 8;
  std::vector<Description> made;
  for (const estimate::Level& level : machine.levels) {
    const int64_t set = kWays * machine.line_bytes;
    if (level.bytes < set)
      continue;
    Description d;
    d.name = "L" + std::to_string(made.size() + 1);
    d.bytes = level.bytes / set * set;
    d.line_bytes = machine.line_bytes;
    d.ways = kWays;
    d.policy = policy;
    made.push_back(std::move(d));
  }
  return made;
}

Result<estimate::Replayed, Diagnostic> replay(const kernel::Kernel& kernel,
                                              std::span<const int64_t> sizes,
                                              const estimate::Machine& machine,
                                              const std::vector<Description>& levels,
                                              const std::function<void(int64_t)>& progress) {
  KAWARA_TRY(const AccessProgram program, accesses_of_kernel(kernel, sizes));
  const Simulated simulated = simulate(program, levels, false, progress);
  const Near near = near_of(program, simulated);
  estimate::Replayed made;
  made.accesses = near.accesses;
  made.assumed = program.assumed;
  made.levels.push_back({machine.levels.front().name, near.read, near.written});
  for (size_t k = 0; k < levels.size() && k + 1 < machine.levels.size(); ++k) {
    Count all;
    for (const Count& each : simulated.counts[k].of)
      all += each;
    const auto line = static_cast<double>(levels[k].line_bytes);
    made.levels.push_back({machine.levels[k + 1].name, static_cast<double>(all.misses()) * line,
                           static_cast<double>(all.written_back) * line + near.past});
  }
  return made;
}

} // namespace kawara::cache
