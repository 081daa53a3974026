#pragma once

#include "graph/graph.h"

#include <string>

namespace kawara::graph {

struct ExportOptions {
  /// Name of a file beside the model that takes the elements of initializers of at least
  /// `external_bytes`; empty: all elements lie in the model's own file.
  std::string external_file;
  int64_t external_bytes = 1024;
};

/// The graph as the bytes of an `.onnx` file: `graph_from_onnx` gives an equal graph back, except
/// that sequences lose the type of their items where the graph does not know it. Refuses what would
/// pass the 2 GiB of such a file (K0560). All elements lie in it.
Result<std::string, Diagnostic> onnx_from_graph(const Graph&);

/// Writes the graph to `path`. Refuses what would pass the 2 GiB of such a file (K0560) and a file
/// that cannot be written (K0425).
Result<Done, Diagnostic> write_onnx(const Graph&, const std::string& path,
                                    const ExportOptions& = {});

} // namespace kawara::graph
