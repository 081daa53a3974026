#pragma once

#include "program/program.h"

namespace kawara::program::fusion {

/// The program with temps and outputs that are maps (nests.h) read no more: where a statement reads a
/// cell of one, the value of that cell stands instead, if that does not compute cells more than once. Maps
/// that only such statements read are gone. The result of a group of operators then is stored by as few
/// statements as possible, which is what schedules put together with a product.
Program inline_maps(Program);

/// How often a statement that reads `tensor` runs for each cell of it, at most; 0 when nothing reads it.
int64_t reads_per_cell(const Program&, uint32_t tensor);

} // namespace kawara::program::fusion
