#pragma once

#include "graph/graph.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Graph rewriting by equality saturation. All that is computed from a graph's inputs is put into
/// one e-graph, rules add what is equal, and the cheapest graph is taken out again (rewrite.h).
namespace kawara::rewrite {

using graph::DataType;
using graph::Shape;
using graph::Tensor;

/// An extent that is not a number: a symbol of the model, or computed from one. Equal symbols are
/// equal extents; nothing else is known of them.
inline constexpr int64_t kFirstSymbol = -(int64_t{1} << 40);
constexpr bool is_symbol(int64_t extent) { return extent <= kFirstSymbol; }

/// Numbers for symbols, by their text.
class Symbols {
public:
  int64_t of(const std::string& text);
  const std::string& text(int64_t symbol) const;

private:
  std::map<std::string, int64_t> ids_;
  std::vector<std::string> texts_;
};

/// What is known of a tensor: element type and extents (numbers or symbols).
struct Type {
  DataType elem = DataType::F32;
  Shape shape;
  friend bool operator==(const Type&, const Type&) = default;
};

/// An attribute as rules see it. Where ONNX has a constant operand (shapes, axes, starts), terms
/// have an attribute.
using Attr = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
using Attrs = std::map<std::string, Attr>;
std::string text_of(const Attr&);
std::string text_of(const Attrs&); ///< "axis=1, perm=[1, 0]"

/// How an operator of terms treats elements.
enum class Kind : uint8_t {
  Unary,   ///< each element of the result from the same element of the operand
  Binary,  ///< the same with two operands that are broadcast
  Reduce,  ///< axes, keepdims
  Move,    ///< elements change their place only: Transpose, Reshape, Slice, Concat, Expand
  Product, ///< MatMul, Gemm, Conv
  Other    ///< Softmax, BatchNormalization, pools
};

/// An operator that rules may name. Its meaning is that of the standard's operator of this name
/// with these attributes, all of which are written out:
///
///   Transpose perm · Reshape shape · Slice starts, counts, steps (one per dimension, steps >= 1)
///   Concat axis · Expand shape · Reduce... axes (ascending), keepdims · Softmax axis (the last
///   standard's: one dimension) · Clip min, max · Conv strides, pads, dilations, group
///   Gemm alpha, beta, transA, transB · BatchNormalization epsilon
///   MaxPool kernel_shape, strides, pads, dilations (each window has an element) ·
///     LeakyRelu, Elu, HardSigmoid alpha (, beta)
struct OperatorInfo {
  std::string_view name;
  Kind kind = Kind::Other;
  size_t least = 1, most = 1; ///< operands
  std::vector<std::string_view> attributes;
  bool is_commutative = false;
};
const OperatorInfo* find_operator_info(std::string_view name);
const std::vector<OperatorInfo>& operator_infos();

/// Type of the result; nothing where the operands or attributes do not fit.
std::optional<Type> infer(const std::string& op, const Attrs& attributes,
                          const std::vector<Type>& operands, Symbols& symbols);

/// The shape to which two shapes are broadcast; nothing when they do not fit, or when that depends
/// on the value of a symbol.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

} // namespace kawara::rewrite
