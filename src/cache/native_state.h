#pragma once

#include "cache/hierarchy.h"

#include <array>
#include <functional>

namespace kawara::cache {

/// What compiled code sees of one cache. native_caches.cpp knows the order; every member has 8
/// bytes.
struct NativeLevel {
  uint32_t* tags = nullptr;
  uint64_t* state = nullptr;
  const uint64_t *on_the_way = nullptr, *away = nullptr;
  FullLru::Fields* order = nullptr;
  uint8_t* is_changed = nullptr;
  FullLru::Fields* beside = nullptr; ///< the cache of one set that tells kinds of misses
  uint64_t* was_used = nullptr;      ///< a bit for each line
  Count* counts = nullptr;           ///< by reference
  int64_t* lines_out = nullptr;      ///< by array
  int64_t *received = nullptr, *not_there = nullptr;
};

/// What compiled code sees.
struct NativeState {
  Hierarchy* hierarchy = nullptr;
  int64_t* extra = nullptr; ///< by reference: lines of pieces behind their first one
  int64_t work = 0, next_report = 0;
  // What it may call.
  void (*first_use)(NativeState*, int64_t level, uint32_t line) = nullptr;
  void (*use)(NativeState*, int64_t level, uint32_t line, uint32_t reference) = nullptr;
  void (*receive)(NativeState*, int64_t level, uint32_t line, uint32_t reference) = nullptr;
  /// Of the L1, whatever it does with stores. Whether more changed than the order of lines.
  uint32_t (*touch)(NativeState*, uint32_t line, uint32_t reference, uint32_t kind) = nullptr;
  void (*shorten)(FullLru::Fields*) = nullptr;
  uint64_t (*array_of)(NativeState*, int64_t level, uint32_t line) = nullptr;
  void (*report)(NativeState*) = nullptr;
  std::array<NativeLevel, Hierarchy::kMostCompiled> levels;
  const std::function<void(int64_t)>* progress = nullptr; ///< not seen by compiled code
};

} // namespace kawara::cache
