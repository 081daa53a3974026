#pragma once

#include "tune/space/nest_rules.h"

namespace kawara::tune {

/// Tiling with fusion: neighbouring outermost nests of a structure whose first loops are equally
/// long run block by block together, so that what one makes is near when the next one needs it.
///
/// Each list shares the loops over blocks of one depth: the first loop, or the first two. Where
/// temps pass between nests that now run together there is a second list, in which each block has
/// its own small copy of them. Nothing where no two nests fit.
std::vector<DirectiveList> fused_tiles(const Structure&, const schedule::Environment&);

} // namespace kawara::tune
