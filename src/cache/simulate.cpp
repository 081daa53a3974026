#include "cache/simulate.h"

#include "cache/walk.h"

namespace kawara::cache {
namespace {

/// Uses the L1 of a hierarchy as what it is, so that a hit calls nothing. `kPlain`: stores bring
/// their lines in and stay there, and none goes past the caches; `kFull`: there is a cache of one
/// set beside the L1.
template <class First, bool kPlain, bool kFull> class FirstLevel {
public:
  FirstLevel(First& first, Hierarchy& all)
      : first_(first), all_(all), full_(all.first_full()), of_(all.counts()[0].of),
        allocates_(all.first_description().allocates),
        writes_back_(all.first_description().writes_back) {}

  [[gnu::always_inline]] void touch(uint32_t line, const Stream& s) {
    if constexpr (kPlain) {
      const Used used = first_.use(line, s.is_store);
      bool is_in_full = false;
      if constexpr (kFull) {
        is_in_full = full_->use(line);
        changes_ += is_in_full ? 0 : 1;
      }
      if (!used.is_hit) [[unlikely]]
        missed(line, s, used, is_in_full);
    } else {
      touch_any(line, s);
    }
  }
  void begin_run(uint64_t touches) {
    keeps_ = kPlain && first_.keeps(touches);
    patience_ = kPlain && !kFull ? first_.patience(touches) : 0;
  }
  int64_t patience() const { return patience_; }
  void begin_iteration() { before_ = changes_; }
  // Lines that all are there are there after any number of turns, and the last turn leaves their
  // order.
  bool is_steady(bool) const { return keeps_ || changes_ == before_; }
  void repeat(int64_t) {}
  void add_accesses(uint32_t reference, int64_t times) { of_[reference].accesses += times; }

private:
  [[gnu::noinline]] void missed(uint32_t line, const Stream& s, Used used, bool is_in_full) {
    ++changes_;
    all_.first_missed(line, s.reference, s.is_store, used, is_in_full);
  }
  void touch_any(uint32_t line, const Stream& s) {
    if (s.kind == Reference::Kind::Stream) {
      all_.drop(line);
      ++changes_;
      return;
    }
    if (s.is_store && !allocates_) {
      changes_ += all_.store_around(line, s.reference) && writes_back_ ? 0 : 1;
      return;
    }
    const Used used = first_.use(line, s.is_store && writes_back_);
    bool is_in_full = false;
    if constexpr (kFull) {
      is_in_full = full_->use(line);
      changes_ += is_in_full ? 0 : 1;
    }
    if (!used.is_hit) {
      missed(line, s, used, is_in_full);
    } else if (s.is_store && !writes_back_) {
      ++changes_;
      all_.pass_on(0, line, s.reference);
    }
  }

  First& first_;
  Hierarchy& all_;
  FullLru* full_;
  std::vector<Count>& of_;
  bool allocates_, writes_back_, keeps_ = false;
  int64_t changes_ = 0, before_ = 0, patience_ = 0;
};

using Progress = std::function<void(int64_t)>;

template <class Sink>
int64_t walk(const AccessProgram& program, Hierarchy& all, Sink sink, const Progress& progress) {
  Walk walk(program, all.first_shift(), sink, progress);
  if (!program.warm_up.empty()) {
    walk.run(program.warm_up);
    all.count_anew();
    walk.count_anew();
  }
  walk.run(program.code);
  return walk.accesses();
}

bool is_plain(const AccessProgram& program, const Description& first) {
  return first.allocates && first.writes_back &&
         std::none_of(program.references.begin(), program.references.end(),
                      [](const auto& r) { return r.kind == Reference::Kind::Stream; });
}

template <class First>
bool walk_if(const AccessProgram& program, Hierarchy& all, const Progress& progress,
             int64_t& accesses) {
  auto* first = dynamic_cast<First*>(&all.first());
  if (first == nullptr)
    return false;
  const bool has_full = all.first_full() != nullptr;
  const auto walk_as = [&]<bool kPlain, bool kFull>() {
    return walk(program, all, FirstLevel<First, kPlain, kFull>(*first, all), progress);
  };
  if (is_plain(program, all.first_description()))
    accesses = has_full ? walk_as.template operator()<true, true>()
                        : walk_as.template operator()<true, false>();
  else
    accesses = has_full ? walk_as.template operator()<false, true>()
                        : walk_as.template operator()<false, false>();
  return true;
}

template <class... Firsts>
int64_t walk_any(const AccessProgram& program, Hierarchy& all, const Progress& progress) {
  int64_t accesses = 0;
  const bool is_known = (walk_if<Firsts>(program, all, progress, accesses) || ...);
  KAWARA_CHECK(is_known, "an L1 of no kind");
  return accesses;
}

} // namespace

Simulated simulate(const AccessProgram& program, const std::vector<Description>& levels,
                   bool with_classes, const Progress& progress) {
  std::vector<Hierarchy::Extent> arrays;
  for (const Array& array : program.arrays)
    arrays.push_back({static_cast<uint64_t>(array.begin), static_cast<uint64_t>(array.bytes)});
  Hierarchy all(levels, std::move(arrays), program.references.size(), with_classes);
  Simulated made;
  made.levels = levels;
  made.accesses =
      walk_any<FullLruLevel, Sets<Policy::Lru, 8>, Sets<Policy::Lru, 4>, Sets<Policy::Lru, 16>,
               Sets<Policy::Lru, 0>, Sets<Policy::Plru, 8>, Sets<Policy::Plru, 4>,
               Sets<Policy::Plru, 16>, Sets<Policy::Plru, 0>, Sets<Policy::Fifo, 8>,
               Sets<Policy::Fifo, 4>, Sets<Policy::Fifo, 16>, Sets<Policy::Fifo, 0>>(program, all,
                                                                                     progress);
  made.counts = all.take();
  return made;
}

} // namespace kawara::cache
