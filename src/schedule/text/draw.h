#pragma once

#include "poly/scop.h"

#include <string>

namespace kawara::schedule {

/// The loop tree as box-drawing text, for a terminal:
///
///   ├─ for i.0  parallel
///   │  └─ S0: C[i, j] = 0
///   └─ ...
std::string draw_text(const poly::Scop&, const poly::Order&);

/// The loop tree as a standalone SVG document; readable on a light and on a dark page.
std::string draw_svg(const poly::Scop&, const poly::Order&);

} // namespace kawara::schedule
