#include "graph/rewrite/term.h"

#include "support/check.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::rewrite {
namespace {

OperatorInfo unary(std::string_view name, std::vector<std::string_view> attributes = {}) {
  return {name, Kind::Unary, 1, 1, std::move(attributes), false};
}
OperatorInfo binary(std::string_view name, bool is_commutative = false) {
  return {name, Kind::Binary, 2, 2, {}, is_commutative};
}
OperatorInfo reduce(std::string_view name) {
  return {name, Kind::Reduce, 1, 1, {"axes", "keepdims"}, false};
}

std::vector<OperatorInfo> all_operators() {
  std::vector<OperatorInfo> all;
  for (const char* name :
       {"Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Neg", "Abs", "Erf", "Reciprocal", "Floor",
        "Ceil", "Sign", "Softplus", "HardSwish", "Sin", "Cos", "Not"})
    all.push_back(unary(name));
  all.push_back(unary("LeakyRelu", {"alpha"}));
  all.push_back(unary("Elu", {"alpha"}));
  all.push_back(unary("HardSigmoid", {"alpha", "beta"}));
  all.push_back(unary("Clip", {"max", "min"}));
  for (const char* name : {"Add", "Mul"})
    all.push_back(binary(name, true));
  for (const char* name : {"Sub", "Div", "Pow", "Max", "Min"})
    all.push_back(binary(name));
  for (const char* name : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"})
    all.push_back(reduce(name));
  all.push_back({"Transpose", Kind::Move, 1, 1, {"perm"}, false});
  all.push_back({"Reshape", Kind::Move, 1, 1, {"shape"}, false});
  all.push_back({"Expand", Kind::Move, 1, 1, {"shape"}, false});
  all.push_back({"Slice", Kind::Move, 1, 1, {"counts", "starts", "steps"}, false});
  all.push_back({"Concat", Kind::Move, 1, 64, {"axis"}, false});
  all.push_back({"MatMul", Kind::Product, 2, 2, {}, false});
  all.push_back({"Gemm", Kind::Product, 2, 3, {"alpha", "beta", "transA", "transB"}, false});
  all.push_back({"Conv", Kind::Product, 2, 3, {"dilations", "group", "pads", "strides"}, false});
  all.push_back({"BatchNormalization", Kind::Other, 5, 5, {"epsilon"}, false});
  all.push_back({"Softmax", Kind::Other, 1, 1, {"axis"}, false});
  all.push_back(
      {"MaxPool", Kind::Other, 1, 1, {"dilations", "kernel_shape", "pads", "strides"}, false});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

} // namespace

int64_t Symbols::of(const std::string& text) {
  const auto [at, is_new] = ids_.emplace(text, kFirstSymbol - static_cast<int64_t>(texts_.size()));
  if (is_new)
    texts_.push_back(text);
  return at->second;
}

const std::string& Symbols::text(int64_t symbol) const {
  KAWARA_CHECK(is_symbol(symbol), "a number is no symbol");
  return texts_.at(static_cast<size_t>(kFirstSymbol - symbol));
}

std::string text_of(const Attr& attribute) {
  if (const auto* integer = std::get_if<int64_t>(&attribute))
    return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&attribute))
    return fmt::format("{:.17g}", *real);
  if (const auto* text = std::get_if<std::string>(&attribute))
    return '"' + *text + '"';
  return graph::text_of(std::get<std::vector<int64_t>>(attribute));
}

std::string text_of(const Attrs& attributes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : attributes)
    parts.push_back(name + "=" + text_of(value));
  return join(parts, ", ");
}

const std::vector<OperatorInfo>& operator_infos() {
  static const std::vector<OperatorInfo> all = all_operators(); // never changes
  return all;
}

const OperatorInfo* find_operator_info(std::string_view name) {
  const auto& all = operator_infos();
  const auto at =
      std::lower_bound(all.begin(), all.end(), name,
                       [](const OperatorInfo& o, std::string_view n) { return o.name < n; });
  return at != all.end() && at->name == name ? &*at : nullptr;
}

} // namespace kawara::rewrite
