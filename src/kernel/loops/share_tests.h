#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Neighbouring statements that ask the same have one test, and storage that is used inside the
/// test alone is private to each side: a tile that is started, summed up and used under three tests
/// would be in memory from one to the next.
///
///   before   private T:                        after   if full:
///              if full: T = 0 else ...                    private T: T = 0; T += ...; C = T
///              if full: T += ... else ...               else:
///              if full: C = T else ...                    private T: ...
///
/// Tests that read elements stay as they are: what stands between them may change those.
Block with_shared_tests(const Block&);

} // namespace kawara::kernel
