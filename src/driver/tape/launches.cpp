#include "driver/tape/launches.h"

#include "estimate/count.h"
#include "program/fusion/movement.h"

#include <map>

namespace kawara::driver {
namespace {

/// Of one step.
struct Launch {
  bool is_movement = false;
  int64_t bytes = 0;
};

Launch launch_of(const std::string& text) {
  const auto program = program::parse(make_source("launch.kw", text));
  if (!program)
    return {};
  if (program::fusion::is_movement(*program))
    return {true, 2 * program::fusion::bytes_written(*program)};
  const auto work = estimate::count(*program, {});
  return {false, work ? static_cast<int64_t>(work->compulsory_bytes) : 0};
}

} // namespace

Launches launches_of(const Tape& tape) {
  Launches out;
  out.block_bytes = tape.block_bytes;
  std::map<std::string, Launch> by_text;
  std::map<std::pair<std::string, bool>, LaunchKind> kinds;
  const auto add = [&](const std::string& name, const Launch& launch, bool is_call) {
    LaunchKind& kind = kinds[{name, launch.is_movement}];
    kind.name = name;
    kind.is_movement = launch.is_movement;
    kind.is_call = is_call;
    ++kind.times;
    kind.bytes += launch.bytes;
    ++out.steps;
    out.movements += launch.is_movement ? 1 : 0;
    out.calls += is_call ? 1 : 0;
    out.bytes += launch.bytes;
    out.moved_bytes += launch.is_movement ? launch.bytes : 0;
  };
  for (const TapeStep& step : tape.steps) {
    if (const auto* kernel = std::get_if<TapeKernel>(&step)) {
      auto known = by_text.find(kernel->program);
      if (known == by_text.end())
        known = by_text.emplace(kernel->program, launch_of(kernel->program)).first;
      add(kernel->name, known->second, false);
    } else if (const auto* copy = std::get_if<TapeCopy>(&step)) {
      add("copy", {true, 2 * copy->bytes}, false);
    } else if (const auto* call = std::get_if<TapeCall>(&step)) {
      add(call->node.op, {}, true);
    }
  }
  for (auto& [name, kind] : kinds)
    out.kinds.push_back(std::move(kind));
  return out;
}

} // namespace kawara::driver
