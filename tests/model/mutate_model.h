#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace kawara::hostile {

/// An ONNX file with something wrong in it: bytes changed or cut off, or one to three fields of the
/// message removed, repeated, exchanged, emptied or given numbers and names that do not belong
/// there. The same for the same numbers.
std::string mutated(const std::string& model, std::mt19937_64& random);

} // namespace kawara::hostile
