#include "cache/simulate.h"

#include "cache/native.h"
#include "cache/walk.h"

namespace kawara::cache {
namespace {

/// Uses the L1 of a hierarchy, and says when turns of a loop change nothing any more. `is_plain`:
/// stores bring their lines in and stay there, and none goes past the caches.
class FirstLevel {
public:
  FirstLevel(Hierarchy& all, bool is_plain) : all_(all), is_plain_(is_plain) {}

  void touch(uint32_t line, const Stream& s) {
    if (s.kind == Reference::Kind::Stream) {
      all_.drop(line);
      ++changes_;
    } else if (all_.touch(line, s.reference, s.is_store)) {
      ++changes_;
    }
  }
  void begin_run(uint64_t touches) {
    keeps_ = is_plain_ && all_.first().keeps(touches);
    patience_ = is_plain_ && !all_.has_full(0) ? all_.first().patience(touches) : 0;
  }
  int64_t patience() const { return patience_; }
  void begin_iteration() { before_ = changes_; }
  // Lines that all are there are there after any number of turns, and the last turn leaves their
  // order.
  bool is_steady(bool) const { return keeps_ || changes_ == before_; }
  void repeat(int64_t) {}
  void add_accesses(uint32_t reference, int64_t times) {
    all_.counts()[0].of[reference].accesses += times;
  }
  void add_extra(uint32_t reference, int64_t lines) {
    all_.extra()[reference] += lines;
    add_accesses(reference, lines);
  }

private:
  Hierarchy& all_;
  bool is_plain_, keeps_ = false;
  int64_t changes_ = 0, before_ = 0, patience_ = 0;
};

using Progress = std::function<void(int64_t)>;

int64_t interpret(const AccessProgram& program, Hierarchy& all, const Progress& progress) {
  const bool is_plain =
      all.compiled() > 0 &&
      std::none_of(program.references.begin(), program.references.end(),
                   [](const auto& r) { return r.kind == Reference::Kind::Stream; });
  FirstLevel sink(all, is_plain);
  Walk walk(program, all.first_shift(), sink, progress);
  if (!program.warm_up.empty()) {
    walk.run(program.warm_up);
    all.count_anew();
    walk.count_anew();
  }
  walk.run(program.code);
  return walk.accesses();
}

/// To compile takes as long as some ten million accesses.
constexpr double kFewestToCompile = 5e6;

} // namespace

Simulated simulate(const AccessProgram& program, const std::vector<Description>& levels,
                   bool with_classes, const Progress& progress, Engine engine) {
  std::vector<Hierarchy::Extent> arrays;
  for (const Array& array : program.arrays)
    arrays.push_back({static_cast<uint64_t>(array.begin), static_cast<uint64_t>(array.bytes)});
  Hierarchy all(levels, std::move(arrays), program.references.size(), with_classes);
  Simulated made;
  made.levels = levels;
  std::optional<int64_t> accesses;
  if (engine == Engine::Compiled ||
      (engine == Engine::Either && about_accesses(program) >= kFewestToCompile))
    accesses = run_native(program, all, progress);
  made.is_compiled = accesses.has_value();
  made.accesses = accesses ? *accesses : interpret(program, all, progress);
  made.extra = std::move(all.extra());
  made.counts = all.take();
  return made;
}

} // namespace kawara::cache
