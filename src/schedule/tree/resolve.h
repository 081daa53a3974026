#pragma once

#include "schedule/propose.h"

#include <string>
#include <string_view>
#include <vector>

namespace kawara::schedule {

/// The loop that `name` means. `i` must mean one loop of the whole tree; `S1.i` is the loop called
/// i around statement S1. `request` ("cannot split loop `i`") begins the headline of a refusal.
///
/// Refuses  a name that no loop has (K0201, with what exists and what may have been meant),
///          a name that several loops have (K0202, with their qualified names),
///          a statement that does not exist or was inlined away (K0207).
Result<poly::LoopId, Refusal::Shape> resolve_loop(const Schedule&, const LoopName& name,
                                                  std::string_view request);

/// The statement called `name`, still in the tree. Refuses as above (K0207).
Result<poly::StmtId, Refusal::Shape> resolve_statement(const Schedule&, std::string_view name,
                                                       std::string_view request);

/// Shortest name that resolves to that loop: `i`, or `S1.i` with the first statement below it.
LoopName name_of_loop(const poly::Scop&, const poly::Order&, poly::LoopId);

/// Loops that a user can name: all but those that run as one with their parent (coalesce).
std::vector<poly::LoopId> nameable_loops(const poly::Order&);

/// "`i`", "`S1.i.0`": as the user wrote it, in backquotes.
std::string quoted(const LoopName&);
std::string quoted(const std::vector<LoopName>&); ///< "`i`, `j` and `k`"
std::string to_string(const LoopName&);

} // namespace kawara::schedule
