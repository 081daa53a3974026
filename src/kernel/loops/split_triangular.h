#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// The iterations of a loop that lie wholly on one side of a diagonal, apart from those that meet
/// it: the former have constant bounds inside.
///
///   before   for j_0 in range(0, i_0 + 1):
///              for j in range(0, 8):
///                for i in range(max(0, 8*j_0 + j - 8*i_0), 8):  # vector(8)
///   after    for j_0 in range(0, min(i_0 + 1, (8*i_0 - 7)//8 + 1)):
///              for j in range(0, 8):
///                for i in range(0, 8):  # vector(8)
///            for j_0 in range(max(0, (8*i_0 - 7)//8 + 1), i_0 + 1):
///              ...as before
///
/// Positions that see only those before them make such loops. Applies from the outermost loop
/// inwards where loops that become vectors or straight code are inside, and where the first
/// iterations are the whole ones. Edges, beyond which all loops of a tile are shorter, are not
/// meant: peel_last_tiles.h, separate_tiles.h. Iterations keep their order. The kernel has at most
/// twice as many statements afterwards: bands and several triangles in one nest would make a copy
/// for each side of each, and all of that becomes straight code.
Kernel split_triangular(Kernel);

} // namespace kawara::kernel
