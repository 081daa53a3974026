#pragma once

#include <set>
#include <string>

namespace kawara::emit {

/// What stands above the functions of a CUDA file: types and functions that the text needs, by name
/// (bf16, f16, f8e4m3, f8e5m2, division, activations, gelu, gelu_by_tails, vector, repeated,
/// copy_async, combine, inf, nan).
std::string cuda_prelude(const std::set<std::string>& needs);

} // namespace kawara::emit
