#include "run/functions/function.h"

#include <algorithm>
#include <cstring>

namespace kawara::run {
namespace {

template <class T> T attribute(const graph::Node& node, const std::string& name, T otherwise) {
  const auto at = node.attributes.find(name);
  if (at == node.attributes.end())
    return otherwise;
  const T* value = std::get_if<T>(&at->second);
  return value ? *value : otherwise;
}

std::vector<std::span<const Function>> families() {
  return {gather_functions(), number_functions(), rotate_functions(),
          sample_functions(), search_functions(), sequence_functions()};
}

} // namespace

int64_t FunctionCall::integer(const std::string& name, int64_t otherwise) const {
  return attribute<int64_t>(node, name, otherwise);
}
double FunctionCall::real(const std::string& name, double otherwise) const {
  return attribute<double>(node, name, otherwise);
}
std::string FunctionCall::word(const std::string& name, const std::string& otherwise) const {
  return attribute<std::string>(node, name, otherwise);
}
std::vector<int64_t> FunctionCall::integers(const std::string& name) const {
  return attribute<std::vector<int64_t>>(node, name, {});
}
std::vector<double> FunctionCall::reals(const std::string& name) const {
  return attribute<std::vector<double>>(node, name, {});
}

const Function* find_function(std::string_view name) {
  for (const auto family : families())
    for (const Function& function : family)
      if (function.name == name)
        return &function;
  return nullptr;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const auto family : families())
    for (const Function& function : family)
      names.emplace_back(function.name);
  std::sort(names.begin(), names.end());
  return names;
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.type(), tensor.shape());
  std::memcpy(copy.data(), tensor.data(), static_cast<size_t>(tensor.bytes()));
  return copy;
}

} // namespace kawara::run
