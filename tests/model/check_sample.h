#pragma once

#include "driver/kernels/kernels.h"
#include "random_graph.h"

#include <string>

namespace kawara::random_graphs {

/// Where the reference interpreter's results have other shapes than the generator expects, or the
/// graph does not come back from an ONNX file as it was; empty when all is well.
std::string mismatch(const Sample&);
/// In how many ways a graph is compiled. Compiling takes nearly all the time.
enum class Ways : uint8_t {
  None, ///< only the reference runs: the graph as it is, after all passes, and with channels last
  Few,  ///< as it is, fused; and after all passes, with layouts chosen, proved rules, whole
        ///< attention; that with channels last
  All   ///< also node by node, and after the passes without rules
};
/// The same, and where the compiled graph, run twice and once more from a tape, differs from the
/// reference.
std::string mismatch(const Sample&, driver::Kernels&, Ways = Ways::All);

/// The smallest sample that still has a mismatch: fewer outputs, no dead nodes, and values replaced
/// by inputs that hold what the reference made of them.
Sample shrunk(Sample, driver::Kernels&);

} // namespace kawara::random_graphs
