#pragma once

#include <cstdint>
#include <string_view>

namespace kawara::program::fusion {

/// How one element of an operator's input reaches its output.
enum class Mapping : uint8_t {
  OneToOne,   ///< one element each: Add, Relu
  OneToMany,  ///< one element to several: Expand, Tile
  ManyToMany, ///< several elements to each: Conv, MatMul, ReduceSum, Softmax
  Reorganise, ///< the same elements under another shape: Reshape, Flatten
  Shuffle     ///< the same elements in another order: Transpose, DepthToSpace
};
std::string_view name_of(Mapping); ///< "one-to-one"

/// Whether two neighbours are worth one kernel.
enum class Verdict : uint8_t {
  Fuse,  ///< always
  Maybe, ///< where each element is still computed once
  Never
};

struct Pairing {
  Mapping result; ///< mapping of both together
  Verdict verdict;
};

/// The table for `first` directly followed by `second`.
Pairing pairing_of(Mapping first, Mapping second);

/// Mapping of an operator of the ONNX standard, by its name. Those that are not in the list count
/// as many-to-many.
Mapping mapping_of(std::string_view op);

/// Does the operator read its operands as they lie in memory, so that nothing can be computed on
/// the way? The GPU's TMA does, which brings them to tensor cores.
bool reads_from_memory(std::string_view op);

} // namespace kawara::program::fusion
