#pragma once

#include "program/program.h"

namespace kawara::program::fusion {

/// The program with temps and outputs that are maps (nests.h) read no more: where a statement reads
/// a element of one, the value of that element stands instead, if that does not compute elements
/// more than once. Maps that only such statements read are gone. The result of a group of operators
/// then is stored by as few statements as possible, which is what schedules put together with a
/// product.
Program inline_maps(Program);

/// How often a statement that reads `tensor` runs for each element of it, at most; 0 when nothing
/// reads it.
int64_t reads_per_element(const Program&, uint32_t tensor);

} // namespace kawara::program::fusion
