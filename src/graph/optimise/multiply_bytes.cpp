#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

namespace kawara::graph::optimise {
namespace {

bool is_byte(const Tensor& tensor) {
  return tensor.type() == DataType::I8 || tensor.type() == DataType::U8;
}

/// A side of a product: bytes, one scale for all or one per column, and a zero point, which may be
/// left out.
struct Side {
  ValueId bytes = kAbsent, zero = kAbsent;
  const Tensor* scale = nullptr;
};

/// What DequantizeLinear makes of them, its scale and zero point constant.
std::optional<Side> side_of(const Edit& edit, ValueId id) {
  const Node* node = edit.maker_named(id, "DequantizeLinear");
  if (!node || node->inputs.size() < 2 || integer_of(*node, "block_size", 0) != 0 ||
      integer_of(*node, "output_dtype", 0) != 0)
    return std::nullopt;
  Side side{node->inputs[0], node->inputs.size() > 2 ? node->inputs[2] : kAbsent,
            edit.constant(node->inputs[1])};
  const Tensor* zero = side.zero == kAbsent ? nullptr : edit.constant(side.zero);
  const bool has_zero = side.zero == kAbsent || (zero && is_byte(*zero));
  const bool fits = side.scale && side.scale->type() == DataType::F32 && has_zero;
  return fits ? std::optional(side) : std::nullopt;
}

/// One scale for all rows; the type of the bytes is that of their zero point.
bool is_left(const Side& side) { return side.zero != kAbsent && side.scale->elements() == 1; }

/// A constant matrix, with a scale for all or for each column, and sums that no i32 is too small
/// for.
bool is_right(const Edit& edit, const Side& side, const Node& dequantize) {
  constexpr int64_t kMostRows = 32767; // of products of up to 2^16
  const Tensor* bytes = edit.constant(side.bytes);
  if (!bytes || !is_byte(*bytes) || bytes->rank() != 2 || bytes->shape()[0] > kMostRows)
    return false;
  const int64_t axis = integer_of(dequantize, "axis", 1);
  return side.scale->elements() == 1 ||
         ((axis == 1 || axis == -1) && side.scale->shape() == Shape{bytes->shape()[1]});
}

/// The product of both scales: a number, or one per column.
Tensor scale_of(const Tensor& left, const Tensor& right) {
  Tensor scale(DataType::F32, right.elements() == 1 ? Shape{} : right.shape());
  for (int64_t k = 0; k < scale.elements(); ++k)
    scale.set_double(k, left.get_double(0) * right.get_double(k));
  return scale;
}

} // namespace

Graph multiply_bytes(Graph graph) {
  constexpr int64_t kLeastVersion = 13; // DequantizeLinear has axes
  if (!has_all_operands(graph) || version_of(graph) < kLeastVersion)
    return graph;
  Edit edit(std::move(graph));
  const size_t nodes = edit.nodes();
  for (size_t n = 0; n < nodes; ++n) {
    const Node product = edit.node(n);
    if (!is_op(product, "MatMul"))
      continue;
    const auto left = side_of(edit, product.inputs[0]), right = side_of(edit, product.inputs[1]);
    if (!left || !right || !is_left(*left) ||
        !is_right(edit, *right, edit.node(*edit.maker(product.inputs[1]))))
      continue;
    const ValueId sums = edit.add_value(product.name + ".sums"),
                  reals = edit.add_value(product.name + ".reals"),
                  scale = edit.add_constant(product.name + ".scale",
                                            scale_of(*left->scale, *right->scale));
    edit.add_node({product.name + ".sums",
                   "MatMulInteger",
                   "",
                   {left->bytes, right->bytes, left->zero, right->zero},
                   {sums},
                   {}});
    edit.add_node({product.name + ".reals", "Cast", "", {sums}, {reals}, {{"to", int64_t{1}}}});
    edit.set(n, {product.name, "Mul", "", {reals, scale}, product.outputs, {}});
  }
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
