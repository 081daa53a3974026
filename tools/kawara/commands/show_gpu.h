#pragma once

#include "driver/gpu/gpu.h"

#include <string>
#include <vector>

namespace kawara::tools {

/// Stages of the line that only a GPU has: cuda, ptx, sass, resources.
const std::vector<std::string>& gpu_stages();

/// What ptxas says of each function, without its own words around it.
std::string resources_of(const std::string& log);
/// A stage that only GPUs have was asked for another machine (K0715).
Diagnostic needs_gpu(const std::string& stage);

/// What the stage makes of a proven schedule. Refuses an environment without a GPU (K0715), a
/// machine without NVRTC (K0710) and, for `sass`, one without a disassembler (K0716).
Parsed<std::string> gpu_text_at(const std::string& stage, const driver::Scheduled&,
                                const schedule::Environment&, Trace&);

} // namespace kawara::tools
