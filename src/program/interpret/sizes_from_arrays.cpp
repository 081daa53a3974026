#include "program/interpret/sizes_from_arrays.h"

#include <optional>

namespace kawara::program {
namespace {

/// The value of parameter `p` at which `extent` is `wanted`, the others being as `values` says;
/// nothing where it is not linear in p or no whole number does.
std::optional<int64_t> solved(const Expr& extent, size_t p, std::vector<int64_t> values,
                              int64_t wanted) {
  const auto at = [&](int64_t value) {
    values[p] = value;
    return scalar::evaluate_index(extent, {}, values);
  };
  const auto at_0 = at(0), at_1 = at(1);
  if (!at_0 || !at_1 || *at_0 == *at_1 || (wanted - *at_0) % (*at_1 - *at_0) != 0)
    return std::nullopt;
  const int64_t value = (wanted - *at_0) / (*at_1 - *at_0);
  const auto reached = at(value);
  return value >= 0 && reached == wanted ? std::optional(value) : std::nullopt;
}

/// The only parameter without a value that the extent depends on.
std::optional<size_t> open_parameter(const Expr& extent,
                                     const std::vector<std::optional<int64_t>>& values) {
  std::optional<size_t> open;
  bool has_several = false;
  scalar::visit(extent, [&](const Expr& e) {
    const auto* param = scalar::as<scalar::Param>(e);
    if (param == nullptr || values[param->index] || open == param->index)
      return;
    has_several = has_several || open;
    open = param->index;
  });
  return has_several ? std::nullopt : open;
}

} // namespace

std::map<std::string, int64_t> sizes_from_arrays(const Program& program, const Arrays& given,
                                                 std::map<std::string, int64_t> known) {
  std::vector<std::optional<int64_t>> values;
  for (const Param& param : program.params)
    values.push_back(known.contains(param.name) ? std::optional(known[param.name]) : std::nullopt);
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const Tensor& tensor : program.tensors) {
      const auto array = given.find(tensor.name);
      if (array == given.end() || array->second.shape().size() != tensor.shape.size())
        continue;
      for (size_t d = 0; d < tensor.shape.size(); ++d) {
        const auto open = open_parameter(tensor.shape[d], values);
        if (!open)
          continue;
        std::vector<int64_t> others;
        for (const auto& value : values)
          others.push_back(value.value_or(0));
        values[*open] = solved(tensor.shape[d], *open, others, array->second.shape()[d]);
        is_new = is_new || values[*open];
      }
    }
  }
  for (size_t p = 0; p < values.size(); ++p)
    if (values[p])
      known[program.params[p].name] = *values[p];
  return known;
}

} // namespace kawara::program
