#include "graph/rewrite/term.h"

#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace kawara::rewrite {
namespace {

using Integers = std::vector<int64_t>;

/// The attributes of one application, typed.
struct Reader {
  const Attrs& attributes;
  const Integers* list(const char* name) const {
    const auto at = attributes.find(name);
    return at == attributes.end() ? nullptr : std::get_if<Integers>(&at->second);
  }
  std::optional<int64_t> integer(const char* name) const {
    const auto at = attributes.find(name);
    if (at == attributes.end())
      return std::nullopt;
    const auto* value = std::get_if<int64_t>(&at->second);
    return value ? std::optional(*value) : std::nullopt;
  }
};

bool is_order(const Integers& perm, size_t rank) {
  Integers sorted = perm, plain(rank);
  std::sort(sorted.begin(), sorted.end());
  std::iota(plain.begin(), plain.end(), 0);
  return sorted == plain;
}

std::optional<Type> infer_transpose(const Reader& read, const Type& x) {
  const Integers* perm = read.list("perm");
  if (!perm || !is_order(*perm, x.shape.size()))
    return std::nullopt;
  Type result{x.elem, {}};
  for (const int64_t axis : *perm)
    result.shape.push_back(x.shape[static_cast<size_t>(axis)]);
  return result;
}

/// Symbols must be the same on both sides, and the numbers have the same product.
std::optional<Type> infer_reshape(const Reader& read, const Type& x) {
  const Integers* shape = read.list("shape");
  if (!shape)
    return std::nullopt;
  const auto parts = [](const Shape& whole) {
    std::pair<Shape, Shape> split;
    for (const int64_t extent : whole)
      (is_symbol(extent) ? split.first : split.second).push_back(extent);
    std::sort(split.first.begin(), split.first.end());
    return split;
  };
  const auto [from_symbols, from] = parts(x.shape);
  const auto [to_symbols, to] = parts(*shape);
  const auto elements = graph::elements_of(to);
  // In ONNX an extent of 0 copies the operand's, and one may be left open: other shapes cannot be
  // written.
  if (from_symbols != to_symbols || to_symbols.size() > 1 || !elements || *elements == 0 ||
      graph::elements_of(from) != elements)
    return std::nullopt;
  return Type{x.elem, *shape};
}

std::optional<Type> infer_expand(const Reader& read, const Type& x) {
  const Integers* shape = read.list("shape");
  const auto result = shape ? broadcast_shapes(x.shape, *shape) : std::nullopt;
  for (size_t k = 0; result && k < result->size(); ++k) {
    const size_t missing = result->size() - x.shape.size();
    // Only the operand itself can say what a symbol is.
    if (is_symbol((*result)[k]) && (k < missing || x.shape[k - missing] != (*result)[k]))
      return std::nullopt;
  }
  return result && *result == *shape ? std::optional(Type{x.elem, *result}) : std::nullopt;
}

std::optional<Type> infer_slice(const Reader& read, const Type& x) {
  const Integers *starts = read.list("starts"), *counts = read.list("counts"),
                 *steps = read.list("steps");
  const size_t rank = x.shape.size();
  if (!starts || !counts || !steps || starts->size() != rank || counts->size() != rank ||
      steps->size() != rank)
    return std::nullopt;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t start = (*starts)[k], count = (*counts)[k], step = (*steps)[k];
    const bool is_whole = start == 0 && step == 1 && count == x.shape[k];
    if (is_whole)
      continue;
    if (is_symbol(x.shape[k]) || is_symbol(count) || start < 0 || count < 1 || step < 1 ||
        start + (count - 1) * step >= x.shape[k])
      return std::nullopt;
  }
  return Type{x.elem, *counts};
}

std::optional<Type> infer_concat(const Reader& read, const std::vector<Type>& operands) {
  const auto axis = read.integer("axis");
  Type result = operands[0];
  if (!axis || *axis < 0 || *axis >= static_cast<int64_t>(result.shape.size()))
    return std::nullopt;
  const auto at = static_cast<size_t>(*axis);
  int64_t total = 0;
  for (const Type& operand : operands) {
    if (operand.elem != result.elem || operand.shape.size() != result.shape.size() ||
        is_symbol(operand.shape[at]))
      return std::nullopt;
    total += operand.shape[at];
    for (size_t k = 0; k < result.shape.size(); ++k)
      if (k != at && operand.shape[k] != result.shape[k])
        return std::nullopt;
  }
  result.shape[at] = total;
  return result;
}

std::optional<Type> infer_reduce(const Reader& read, const Type& x) {
  const Integers* axes = read.list("axes");
  const auto keeps = read.integer("keepdims");
  if (!axes || axes->empty() || !keeps || !std::is_sorted(axes->begin(), axes->end()))
    return std::nullopt;
  Type result{x.elem, {}};
  size_t next = 0;
  for (size_t k = 0; k < x.shape.size(); ++k) {
    const bool is_reduced = next < axes->size() && (*axes)[next] == static_cast<int64_t>(k);
    next += is_reduced;
    if (!is_reduced || *keeps != 0)
      result.shape.push_back(is_reduced ? 1 : x.shape[k]);
  }
  return next == axes->size() ? std::optional(result) : std::nullopt;
}

std::optional<Type> infer_matmul(const Type& a, const Type& b) {
  const size_t m = a.shape.size(), n = b.shape.size();
  if (a.elem != b.elem || m < 2 || n < 2 || a.shape[m - 1] != b.shape[n - 2])
    return std::nullopt;
  auto batch =
      broadcast_shapes({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2});
  if (!batch)
    return std::nullopt;
  batch->push_back(a.shape[m - 2]);
  batch->push_back(b.shape[n - 1]);
  return Type{a.elem, *batch};
}

std::optional<Type> infer_gemm(const Reader& read, const std::vector<Type>& operands) {
  const Shape &a = operands[0].shape, &b = operands[1].shape;
  const auto left = read.integer("transA"), right = read.integer("transB");
  if (a.size() != 2 || b.size() != 2 || !left || !right || operands[0].elem != operands[1].elem)
    return std::nullopt;
  const Shape result{a[*left != 0 ? 1 : 0], b[*right != 0 ? 0 : 1]};
  if (a[*left != 0 ? 0 : 1] != b[*right != 0 ? 1 : 0])
    return std::nullopt;
  if (operands.size() == 3 && broadcast_shapes(result, operands[2].shape) != result)
    return std::nullopt;
  return Type{operands[0].elem, result};
}

/// Extents of windows that slide over the spatial dimensions.
std::optional<Shape> windows(const Reader& read, const Shape& x, const Shape& kernel,
                             Symbols& symbols) {
  const Integers *strides = read.list("strides"), *pads = read.list("pads"),
                 *dilations = read.list("dilations");
  const size_t spatial = kernel.size();
  if (!strides || !pads || !dilations || strides->size() != spatial ||
      pads->size() != 2 * spatial || dilations->size() != spatial || x.size() != spatial + 2)
    return std::nullopt;
  const auto is_sane = [](int64_t number) { return number >= 0 && number <= (1 << 30); };
  for (const Integers* numbers : {&kernel, strides, pads, dilations})
    if (!std::all_of(numbers->begin(), numbers->end(), is_sane))
      return std::nullopt;
  Shape result;
  for (size_t k = 0; k < spatial; ++k) {
    const int64_t stride = (*strides)[k], span = (kernel[k] - 1) * (*dilations)[k] + 1;
    const int64_t padding = (*pads)[k] + (*pads)[spatial + k];
    if (stride < 1 || kernel[k] < 1)
      return std::nullopt;
    if (is_symbol(x[k + 2])) {
      result.push_back(
          stride == 1 && padding + 1 == span
              ? x[k + 2]
              : symbols.of(fmt::format("({} + {} - {}) // {} + 1", symbols.text(x[k + 2]), padding,
                                       span, stride)));
      continue;
    }
    if (x[k + 2] + padding < span)
      return std::nullopt;
    result.push_back((x[k + 2] + padding - span) / stride + 1);
  }
  return result;
}

std::optional<Type> infer_conv(const Reader& read, const std::vector<Type>& operands,
                               Symbols& symbols) {
  const Shape &x = operands[0].shape, &w = operands[1].shape;
  const auto group = read.integer("group");
  if (!group || *group < 1 || x.size() < 3 || w.size() != x.size() || is_symbol(w[0]) ||
      w[0] % *group != 0 || x[1] != w[1] * *group)
    return std::nullopt;
  if (operands.size() == 3 && operands[2].shape != Shape{w[0]})
    return std::nullopt;
  const auto spatial = windows(read, x, {w.begin() + 2, w.end()}, symbols);
  if (!spatial)
    return std::nullopt;
  Type result{operands[0].elem, {x[0], w[0]}};
  result.shape.insert(result.shape.end(), spatial->begin(), spatial->end());
  return result;
}

std::optional<Type> infer_max_pool(const Reader& read, const Type& x, Symbols& symbols) {
  const Integers *kernel = read.list("kernel_shape"), *pads = read.list("pads"),
                 *dilations = read.list("dilations");
  if (!kernel || !pads || !dilations || dilations->size() != kernel->size() ||
      pads->size() != 2 * kernel->size())
    return std::nullopt;
  for (size_t k = 0; k < pads->size(); ++k) {
    const size_t d = k % kernel->size();
    // A window that lies in the padding alone has no largest element; rules know only windows with
    // one.
    if ((*pads)[k] > 0 && ((*pads)[k] >= (*kernel)[d] || (*dilations)[d] != 1))
      return std::nullopt;
  }
  const auto spatial = windows(read, x.shape, *kernel, symbols);
  if (!spatial)
    return std::nullopt;
  Type result{x.elem, {x.shape[0], x.shape[1]}};
  result.shape.insert(result.shape.end(), spatial->begin(), spatial->end());
  return result;
}

std::optional<Type> infer_other(const std::string& op, const Reader& read,
                                const std::vector<Type>& operands, Symbols& symbols) {
  const Type& x = operands[0];
  if (op == "MaxPool")
    return infer_max_pool(read, x, symbols);
  if (op == "Softmax") {
    const auto axis = read.integer("axis");
    return axis && *axis >= 0 && *axis < static_cast<int64_t>(x.shape.size()) ? std::optional(x)
                                                                              : std::nullopt;
  }
  for (size_t k = 1; k < operands.size(); ++k) // BatchNormalization
    if (x.shape.size() < 2 || operands[k].shape != Shape{x.shape[1]})
      return std::nullopt;
  return x;
}

std::optional<Type> infer_move(const std::string& op, const Reader& read,
                               const std::vector<Type>& operands) {
  if (op == "Transpose")
    return infer_transpose(read, operands[0]);
  if (op == "Reshape")
    return infer_reshape(read, operands[0]);
  if (op == "Expand")
    return infer_expand(read, operands[0]);
  if (op == "Slice")
    return infer_slice(read, operands[0]);
  return infer_concat(read, operands);
}

} // namespace

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t k = 0; k < result.size(); ++k) {
    const int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1;
    const int64_t y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    result[result.size() - 1 - k] = x == 1 ? y : x;
  }
  return result;
}

std::optional<Type> infer(const std::string& op, const Attrs& attributes,
                          const std::vector<Type>& operands, Symbols& symbols) {
  const OperatorInfo* info = find_operator_info(op);
  if (!info || operands.size() < info->least || operands.size() > info->most ||
      attributes.size() != info->attributes.size())
    return std::nullopt;
  for (const std::string_view name : info->attributes)
    if (attributes.count(std::string(name)) == 0)
      return std::nullopt;
  const Reader read{attributes};
  switch (info->kind) {
  case Kind::Unary:
    return operands[0];
  case Kind::Binary: {
    const auto shape = broadcast_shapes(operands[0].shape, operands[1].shape);
    return shape && operands[0].elem == operands[1].elem
               ? std::optional(Type{operands[0].elem, *shape})
               : std::nullopt;
  }
  case Kind::Reduce:
    return infer_reduce(read, operands[0]);
  case Kind::Move:
    return infer_move(op, read, operands);
  case Kind::Product:
    return op == "MatMul" ? infer_matmul(operands[0], operands[1])
           : op == "Gemm" ? infer_gemm(read, operands)
                          : infer_conv(read, operands, symbols);
  case Kind::Other:
    return infer_other(op, read, operands, symbols);
  }
  return std::nullopt;
}

} // namespace kawara::rewrite
