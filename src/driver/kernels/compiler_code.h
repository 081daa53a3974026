#pragma once

#include "support/own_code.h"

#include <mutex>

namespace kawara::driver {

/// How much of the compiler itself is in memory while it is at work. The stages of a compilation run one after the other, each
/// with megabytes of code that the others do not need ([decision](docs/decisions/0023-compilers-memory.md)).
class CompilerCode {
public:
  /// Takes all code out of memory when it is more than one stage needs, and more than a quarter of what the process has besides;
  /// freed memory, too. To be called between stages. What other threads are in the middle of comes again.
  void trim();

private:
  std::once_flag once_;
  std::vector<Pages> pages_;
};

} // namespace kawara::driver
