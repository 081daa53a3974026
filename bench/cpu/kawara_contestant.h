#pragma once

#include "cpu/contestant.h"

#include <memory>

namespace kawara::bench {

/// How Kawara takes part.
enum class Way : uint8_t {
  Default,  ///< one program, the schedule that `auto` chooses, numerics `rounding`
  Fast,     ///< the same under numerics `fast`; where that may change something
  Separate, ///< every operation a program of its own
};

/// Kawara, its threads those of KAWARA_THREADS. Other directives than `auto` are for tests; none of them:
/// the order of the source.
std::unique_ptr<Contestant> make_kawara(Way, const std::string& directives = "auto");

} // namespace kawara::bench
