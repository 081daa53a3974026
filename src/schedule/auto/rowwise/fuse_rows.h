#pragma once

#include "schedule/auto/facts/nest_facts.h"

#include <vector>

namespace kawara::schedule {

/// Whether two nests that follow each other are worth one outermost loop: they run over the same
/// values, the second uses what the first touches, and every access inside already walks along
/// memory, so that one iteration's rows, or planes where there are many of them, are still in the
/// cache for the second nest.
bool share_rows(const Schedule&, poly::LoopId first, poly::LoopId second, const Environment&);

/// Whether an innermost loop adds up the elements that another one before it makes, as they are,
/// and that is worth one loop, in which they are still in registers. Only statements may stand
/// between the two.
bool sums_row_of(const Schedule&, poly::LoopId maker, poly::LoopId sum, const Environment&);

/// The same of whole nests: the one statement of the second adds up the elements that the first
/// makes, in the same loops.
bool sums_elements_of(const Schedule&, const Nest& maker, const Nest& sum);

/// Tensors of which several nests below the loop read the same row and that are larger than the L2:
/// while one row is worked on, the next one can be on its way.
std::vector<std::string> rows_from_memory(const Schedule&, poly::LoopId loop, const Environment&);

/// Temps that only statements below the loop touch.
std::vector<std::string> temps_of(const Schedule&, poly::LoopId loop);

/// Gives each iteration of a loop its own copy of the temps that only it touches: of the loop
/// itself or of the innermost one that is alone in the body of the one before. None where several
/// nests do not follow each other there.
std::vector<Directive> private_temps(const Schedule&, poly::LoopId loop);

} // namespace kawara::schedule
