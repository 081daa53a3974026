#pragma once

#include "tune/tuner/tuner.h"

#include <string>

namespace kawara::tune {

/// The search as a stand-alone SVG document: a dot for each measured candidate, by the sketch it
/// grew from, a cross for each that was lost, the curve of the fastest so far, and the default's
/// line.
std::string search_svg(const TuneReport&, const std::string& title);

} // namespace kawara::tune
