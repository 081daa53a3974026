#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"
#include "graph/optimise/transpose_tensor.h"
#include "graph/optimise/value_types.h"

#include <algorithm>

namespace kawara::graph::optimise {
namespace {

/// A transposition that keeps the first dimension, what flattens its result to rows, and the
/// products that read these.
struct Flattened {
  size_t transpose = 0, flatten = 0;
  std::vector<size_t> products;
};

/// Does the node multiply rows by a constant matrix?
bool has_constant_matrix(const Edit& edit, const Node& node, ValueId rows) {
  const bool is_product = is_op(node, "MatMul") || is_op(node, "Gemm");
  const Tensor* matrix = is_product && node.inputs.size() > 1 && node.inputs[1] != kAbsent
                             ? edit.constant(node.inputs[1])
                             : nullptr;
  return matrix && matrix->rank() == 2 && node.inputs[0] == rows &&
         integer_of(node, "transA", 0) == 0 && (node.inputs.size() < 3 || node.inputs[2] != rows);
}

std::optional<Flattened> flattened_at(const Edit& edit, size_t n) {
  const Node& node = edit.node(n);
  const std::vector<int64_t> order = integers_of(node, "perm");
  if (!is_op(node, "Transpose") || order.size() < 3 || order[0] != 0 ||
      !edit.is_private(node.outputs[0]))
    return std::nullopt;
  Flattened found{n, edit.readers(node.outputs[0]).front(), {}};
  const Node& flatten = edit.node(found.flatten);
  const bool makes_rows = (is_op(flatten, "Flatten") && integer_of(flatten, "axis", 1) == 1) ||
                          is_op(flatten, "Reshape");
  if (!makes_rows || flatten.inputs[0] != node.outputs[0] || edit.is_pinned(flatten.outputs[0]))
    return std::nullopt;
  found.products = edit.readers(flatten.outputs[0]);
  const bool are_products =
      std::all_of(found.products.begin(), found.products.end(), [&](size_t reader) {
        return has_constant_matrix(edit, edit.node(reader), flatten.outputs[0]);
      });
  return are_products && !found.products.empty() ? std::optional(std::move(found)) : std::nullopt;
}

/// [first, all the rest], in numbers but for the first?
bool is_rows_of(const rewrite::Type* rows, const rewrite::Type* whole) {
  if (!rows || !whole || rows->shape.size() != 2 || rows->shape[0] != whole->shape[0])
    return false;
  int64_t elements = 1;
  for (size_t k = 1; k < whole->shape.size(); ++k) {
    if (rewrite::is_symbol(whole->shape[k]))
      return false;
    elements *= whole->shape[k];
  }
  return rows->shape[1] == elements;
}

/// The matrix for rows whose elements come in the order from before the transposition.
Tensor transposed_matrix(const Tensor& matrix, const Shape& transposed,
                         const std::vector<int64_t>& order, bool is_transposed) {
  // Elements of a row are dimensions 1.. of the transposed value; the matrix has them first, or
  // last.
  Shape split(transposed.begin() + 1, transposed.end());
  std::vector<int64_t> back(split.size());
  for (size_t k = 0; k < split.size(); ++k)
    back[static_cast<size_t>(order[k + 1]) - 1] = static_cast<int64_t>(k);
  if (is_transposed) {
    split.insert(split.begin(), matrix.shape()[0]);
    for (int64_t& dim : back)
      ++dim;
    back.insert(back.begin(), 0);
  } else {
    split.push_back(matrix.shape()[1]);
    back.push_back(static_cast<int64_t>(back.size()));
  }
  return transposed_tensor(matrix.with_shape(split), back).with_shape(matrix.shape());
}

} // namespace

Graph absorb_transposes(Graph graph, const Evaluate&) {
  Edit edit(std::move(graph));
  std::vector<Flattened> all;
  for (size_t n = 0; n < edit.nodes(); ++n)
    if (auto found = flattened_at(edit, n))
      all.push_back(*std::move(found));
  if (all.empty())
    return std::move(edit).done();
  const ValueTypes types(edit.graph());
  for (const Flattened& found : all) {
    const Node transpose = edit.node(found.transpose);
    Node flatten = edit.node(found.flatten);
    const rewrite::Type* transposed = types.of(transpose.outputs[0]);
    if (!is_rows_of(types.of(flatten.outputs[0]), transposed))
      continue;
    for (const size_t n : found.products) {
      Node product = edit.node(n);
      const bool is_transposed = integer_of(product, "transB", 0) != 0;
      const std::string name = edit.graph().values[product.inputs[1]].name + ".transposed";
      product.inputs[1] = edit.add_constant(
          name, transposed_matrix(*edit.constant(product.inputs[1]), transposed->shape,
                                  integers_of(transpose, "perm"), is_transposed));
      edit.set(n, std::move(product));
    }
    // The extents of a Reshape would be those of the other order.
    flatten.op = "Flatten";
    flatten.inputs = {transpose.inputs[0]};
    flatten.attributes = {{"axis", int64_t{1}}};
    edit.set(found.flatten, std::move(flatten));
    edit.remove(found.transpose);
  }
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
