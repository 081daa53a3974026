#pragma once

#include "graph/graph.h"

#include <onnx/onnx.pb.h>

namespace kawara::graph {

/// Type with ONNX's number, if Kawara has it.
std::optional<DataType> data_type_from_onnx(int number);
int onnx_number_of(DataType); ///< the other way round
/// "STRING", or the number itself.
std::string onnx_type_name(int number);

/// Elements of `proto`, read from `folder` when they lie in a file of their own. Frees the bytes in
/// `proto` as it goes. Refuses K0503 and K0504; messages call the tensor `what`.
Result<Tensor, Diagnostic> read_tensor(::onnx::TensorProto& proto, const std::string& what,
                                       const std::string& folder);

} // namespace kawara::graph
