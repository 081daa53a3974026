#pragma once

#include "schedule/auto/facts/nest_facts.h"
#include "target/cpu.h"

namespace kawara::schedule {

/// As many vectors side by side as hide the latency of the functions that a statement computes; 0
/// where it computes none.
///
/// Eight of the chains that exp and what is made of it become, four of longer ones, for which there
/// are not registers enough. Where constants are loaded for each use (emit/llvm/loaded_constant.h),
/// there are enough for eight of the shortest alone: exp of a difference with a maximum
/// (kernel/math/bounded_exp). gelu has a row of its table for each lane: 32 of them. Functions that
/// do not wait for each other, as the gates of an LSTM, are side by side already and share that
/// number; there are two at least.
int64_t vectors_of_functions(const Schedule&, poly::StmtId, const target::Cpu&, int64_t lanes);

/// Whether some statement of the nest computes exp or the like: enough work to be worth lanes that
/// load element by element.
bool computes_functions(const Schedule&, const Nest&);

} // namespace kawara::schedule
