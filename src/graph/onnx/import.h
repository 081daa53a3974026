#pragma once

#include "graph/graph.h"

#include <iosfwd>
#include <string>
#include <string_view>

namespace kawara::graph {

/// The graph in the bytes of an `.onnx` file; `name` is how messages call it, `folder` where
/// external data files lie. Nodes are brought into an order in which values are made before they
/// are read.
///
/// Fields that newer versions of the format added are skipped. Refuses what is no such file or is
/// cut off (K0501), a graph with undefined or doubly defined names or a cycle (K0502), element
/// types that Kawara has no numbers for (K0503), tensors whose data does not fit their shape or
/// cannot be read (K0504), attributes that Kawara does not know (K0512), and a file that names no
/// version of the standard's operators (K0505).
Result<Graph, Diagnostic> graph_from_onnx(std::string_view bytes, const std::string& name,
                                          const std::string& folder);

/// The same, read from a stream piece by piece: the file is never in memory as a whole beside its
/// tensors.
Result<Graph, Diagnostic> graph_from_onnx(std::istream& stream, const std::string& name,
                                          const std::string& folder);

/// The tensor in the bytes of a `.pb` file (TensorProto), as test data has it. Refuses K0501,
/// K0503, K0504.
Result<Tensor, Diagnostic> tensor_from_onnx(std::string_view bytes, const std::string& name);

} // namespace kawara::graph
