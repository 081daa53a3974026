#pragma once

#include "graph/tensor.h"

namespace kawara::run {

/// A tensor for a result of which every element will be written: its elements are anything until
/// then. Memory of results that nobody holds any more is used again: pages that the system gives
/// and takes back with every call cost more than most functions do.
graph::Tensor result_tensor(graph::DataType type, graph::Shape shape);

} // namespace kawara::run
