#pragma once

#include "program/program.h"

namespace kawara::program {

/// Where the text of the program states its assumption number `index`; an empty span when it has no
/// text, or when the assumption comes from given sizes (specialise). For messages.
Span assumption_place(const Program&, size_t index);

} // namespace kawara::program
