#include "estimate/operator_cost.h"

#include <algorithm>

namespace kawara::estimate {
namespace {

using rewrite::Application;
using rewrite::Type;

double elements_of(const Type& type, int64_t symbol) {
  double elements = 1;
  for (const int64_t extent : type.shape)
    elements *= static_cast<double>(rewrite::is_symbol(extent) ? symbol : extent);
  return elements;
}

double bytes_of(const Type& type, int64_t symbol) {
  return elements_of(type, symbol) * static_cast<double>(graph::bytes_of(type.elem));
}

/// Two products in one program share caches and tiles that each has for itself alone: measured on
/// whole nets.
constexpr double kSlowerInOneProgram = 1.08;

/// Operations per element of functions that are computed by polynomials.
double flops_per_element(std::string_view op) {
  for (const char* dear :
       {"Exp", "Log", "Sigmoid", "Tanh", "Erf", "Pow", "Softplus", "Elu", "Sin", "Cos"})
    if (op == dear)
      return 20;
  if (op == "Softmax") // a maximum, a difference, an exponential, a sum and a quotient
    return 27;
  for (const char* slow : {"Div", "Sqrt", "Reciprocal"})
    if (op == slow)
      return 4;
  return 1;
}

bool is_attention(std::string_view op) { return op == "Attention" || op == "ZeroingAttention"; }

/// Two products and a softmax: of [batch, heads, rows, elements], or of rows with all heads side by
/// side.
double attention_flops(const Application& a, int64_t symbol) {
  const Type &query = *a.operands[0], &key = *a.operands[1];
  const auto heads = a.attributes.find("q_num_heads");
  const bool is_flat = query.shape.size() == 3;
  const auto extent = [&](const Type& type, size_t at) {
    return elements_of({type.elem, {type.shape[at]}}, symbol);
  };
  const double keys = extent(key, is_flat ? 1 : 2);
  const double count =
      !is_flat ? extent(query, 1)
      : heads != a.attributes.end() && std::holds_alternative<int64_t>(heads->second)
          ? static_cast<double>(std::get<int64_t>(heads->second))
          : 1;
  const double scores = extent(query, 0) * count * extent(query, is_flat ? 1 : 2) * keys;
  return 2 * keys * (elements_of(query, symbol) + elements_of(*a.result, symbol)) +
         scores * flops_per_element("Softmax");
}

} // namespace

double flops_of(const Application& a, int64_t symbol) {
  if (!a.result)
    return 0;
  const double out = elements_of(*a.result, symbol);
  const auto* x = a.operands.empty() ? nullptr : a.operands[0];
  const auto* w = a.operands.size() > 1 ? a.operands[1] : nullptr;
  if (a.op == "MatMul" && x)
    return 2 * out * elements_of({x->elem, {x->shape.back()}}, symbol);
  if (a.op == "Gemm" && x && w)
    return 2 * out * elements_of(*w, symbol) /
           std::max(1.0, elements_of({x->elem, {a.result->shape[1]}}, symbol));
  if (a.op == "Conv" && w)
    return 2 * out * elements_of(*w, symbol) / elements_of({w->elem, {w->shape[0]}}, symbol);
  if (is_attention(a.op) && x && w && x->shape.size() > 2)
    return attention_flops(a, symbol);
  const auto* info = rewrite::find_operator_info(a.op);
  if (info && info->kind == rewrite::Kind::Move)
    return 0;
  if (info && info->kind == rewrite::Kind::Reduce && x)
    return elements_of(*x, symbol);
  return out * flops_per_element(a.op);
}

rewrite::Cost operator_cost(const Roof& roof, double seconds_per_node, int64_t symbol) {
  return [=](const Application& a) {
    if (a.op == "Reshape" || a.op.rfind("value#", 0) == 0 || a.op.rfind("number:", 0) == 0 ||
        a.op.rfind("output#", 0) == 0)
      return 0.0;
    double bytes = a.result ? bytes_of(*a.result, symbol) : 0;
    for (const Type* operand : a.operands)
      bytes += operand ? std::min(bytes_of(*operand, symbol),
                                  a.op == "Slice" ? bytes_of(*a.result, symbol) : 1e300)
                       : 0;
    double arithmetic = roof.peak_flops > 0 ? flops_of(a, symbol) / roof.peak_flops : 0;
    if (is_attention(a.op))
      arithmetic *= kSlowerInOneProgram;
    const double memory = roof.bandwidth_bytes > 0 ? bytes / roof.bandwidth_bytes : 0;
    return seconds_per_node + std::max(arithmetic, memory);
  };
}

rewrite::Cost fused_cost(const Roof& roof, double seconds_per_kernel, int64_t symbol) {
  return [=, whole = operator_cost(roof, seconds_per_kernel, symbol)](const Application& a) {
    const auto* info = rewrite::find_operator_info(a.op);
    const bool is_map =
        info && (info->kind == rewrite::Kind::Unary || info->kind == rewrite::Kind::Binary);
    if (!is_map || !a.result)
      return whole(a);
    double largest = 0, bytes = 0;
    for (const Type* operand : a.operands) {
      const double own = operand ? bytes_of(*operand, symbol) : 0;
      largest = std::max(largest, own);
      bytes += own;
    }
    const double arithmetic = roof.peak_flops > 0 ? flops_of(a, symbol) / roof.peak_flops : 0;
    const double memory = roof.bandwidth_bytes > 0 ? (bytes - largest) / roof.bandwidth_bytes : 0;
    return arithmetic + memory;
  };
}

} // namespace kawara::estimate
