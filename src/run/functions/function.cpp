#include "run/functions/function.h"

#include "run/functions/result_memory.h"
#include "support/text.h"

#include <algorithm>
#include <cstring>

namespace kawara::run {
namespace {

template <class T> T value_of(const graph::Attribute* attribute, T otherwise) {
  const T* value = attribute ? std::get_if<T>(attribute) : nullptr;
  return value ? *value : otherwise;
}

std::vector<std::span<const Function>> families() {
  return {fourier_functions(), gather_functions(),  number_functions(),  random_functions(),
          resize_functions(),  rotate_functions(),  ranking_functions(), sample_functions(),
          search_functions(),  sequence_functions()};
}

} // namespace

Tensor FunctionCall::result(size_t output, DataType type, const Shape& shape) const {
  const Place place = output < places.size() ? places[output] : Place{};
  const auto elements = graph::elements_of(shape);
  if (place.memory == nullptr || !elements || *elements * graph::bytes_of(type) != place.bytes)
    return result_tensor(type, shape);
  return Tensor(type, shape, {std::shared_ptr<std::byte>(), place.memory}); // the caller keeps it
}

Tensor FunctionCall::result_like(size_t output, const Tensor& tensor) const {
  Tensor copy = result(output, tensor.type(), tensor.shape());
  std::memcpy(copy.data(), tensor.data(), static_cast<size_t>(tensor.bytes()));
  return copy;
}

const graph::Attribute* FunctionCall::attribute(const std::string& name) const {
  if (reads)
    reads->insert(name);
  const auto at = node.attributes.find(name);
  return at == node.attributes.end() ? nullptr : &at->second;
}
int64_t FunctionCall::integer(const std::string& name, int64_t otherwise) const {
  return value_of<int64_t>(attribute(name), otherwise);
}
double FunctionCall::real(const std::string& name, double otherwise) const {
  // What the standard says to take is an f32, as in files.
  return value_of<double>(attribute(name), static_cast<float>(otherwise));
}
std::string FunctionCall::word(const std::string& name, const std::string& otherwise) const {
  return value_of<std::string>(attribute(name), otherwise);
}
std::optional<std::string> FunctionCall::unknown_word(const std::string& name,
                                                      const std::vector<std::string>& known) const {
  const std::string given = word(name, known.front());
  if (std::find(known.begin(), known.end(), given) != known.end())
    return std::nullopt;
  return "attribute `" + name + "` is `" + printable(given) + "`; known are " + join(known, ", ");
}
std::vector<int64_t> FunctionCall::integers(const std::string& name) const {
  return value_of<std::vector<int64_t>>(attribute(name), {});
}
std::vector<double> FunctionCall::reals(const std::string& name) const {
  return value_of<std::vector<double>>(attribute(name), {});
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
  Tensor copy = result_tensor(tensor.type(), tensor.shape());
  std::memcpy(copy.data(), tensor.data(), static_cast<size_t>(tensor.bytes()));
  return copy;
}

} // namespace kawara::run
