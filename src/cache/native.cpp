#include "cache/native.h"

#include "cache/native_program.h"
#include "cache/native_state.h"
#include "run/cpu/jit.h"

#include <numeric>

namespace kawara::cache {
namespace {

constexpr int64_t kAccessesBetweenReports = int64_t{1} << 26;

void first_use(NativeState* s, int64_t level, uint32_t line) {
  s->hierarchy->first_use(static_cast<size_t>(level), line);
}
void use(NativeState* s, int64_t level, uint32_t line, uint32_t reference) {
  s->hierarchy->use(static_cast<size_t>(level), line, reference, false);
}
void receive(NativeState* s, int64_t level, uint32_t line, uint32_t reference) {
  s->hierarchy->receive(static_cast<size_t>(level), line, reference);
}
uint32_t touch(NativeState* s, uint32_t line, uint32_t reference, uint32_t kind) {
  if (static_cast<Reference::Kind>(kind) == Reference::Kind::Stream) {
    s->hierarchy->drop(line);
    return 1;
  }
  const bool is_store = static_cast<Reference::Kind>(kind) == Reference::Kind::Write;
  return s->hierarchy->touch(line, reference, is_store) ? 1 : 0;
}
void shorten(FullLru::Fields* fields) { FullLru::shorten(*fields); }
uint64_t array_of(NativeState* s, int64_t level, uint32_t line) {
  return s->hierarchy->array_of(static_cast<size_t>(level), line);
}
void report(NativeState* s) {
  (*s->progress)(s->work);
  s->next_report = s->work + kAccessesBetweenReports;
}

NativeState state_of(Hierarchy& all) {
  NativeState s;
  s.hierarchy = &all;
  s.extra = all.extra().data();
  s.first_use = first_use;
  s.use = use;
  s.receive = receive;
  s.touch = touch;
  s.shorten = shorten;
  s.array_of = array_of;
  s.report = report;
  s.next_report = kAccessesBetweenReports;
  for (size_t k = 0; k < std::max<size_t>(all.compiled(), 1); ++k) {
    NativeLevel& level = s.levels[k];
    const LevelParts parts = all.level(k).parts();
    LevelCounts& counts = all.counts()[k];
    level = {parts.tags,
             parts.state,
             parts.on_the_way,
             parts.away,
             parts.order,
             parts.is_changed,
             all.has_full(k) ? &all.full(k).fields() : nullptr,
             all.was_used(k),
             counts.of.data(),
             counts.lines_out.data(),
             &counts.received,
             &counts.not_there};
  }
  return s;
}

} // namespace

std::optional<int64_t> run_native(const AccessProgram& program, Hierarchy& all,
                                  const std::function<void(int64_t)>& progress) {
  const auto code =
      run::code_from_text(native_text(program, all, static_cast<bool>(progress)), "simulate");
  if (!code)
    return std::nullopt;
  const auto simulate = reinterpret_cast<void (*)(NativeState*, int64_t)>(code->address());
  NativeState state = state_of(all);
  state.progress = &progress;
  if (!program.warm_up.empty()) {
    simulate(&state, 0);
    all.count_anew();
    state.work = 0;
    state.next_report = kAccessesBetweenReports;
  }
  simulate(&state, 1);
  const auto& of = all.counts()[0].of;
  const int64_t extra = std::accumulate(all.extra().begin(), all.extra().end(), int64_t{0});
  return std::accumulate(of.begin(), of.end(), -extra,
                         [](int64_t sum, const Count& each) { return sum + each.accesses; });
}

} // namespace kawara::cache
