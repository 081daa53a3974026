#include "api/state.h"
#include "driver/session.h"
#include "program/interpret/arguments.h"
#include "support/text.h"

#include <algorithm>

namespace kawara {
namespace {

using program::Role;

Element public_element(scalar::Elem elem) {
  switch (elem) {
  case scalar::Elem::F64:
    return Element::F64;
  case scalar::Elem::F32:
    return Element::F32;
  case scalar::Elem::F16:
    return Element::F16;
  case scalar::Elem::BF16:
    return Element::BF16;
  case scalar::Elem::I64:
    return Element::I64;
  case scalar::Elem::I32:
    return Element::I32;
  case scalar::Elem::I16:
    return Element::I16;
  case scalar::Elem::I8:
    return Element::I8;
  case scalar::Elem::U8:
    return Element::U8;
  case scalar::Elem::U16:
    return Element::U16;
  case scalar::Elem::U32:
    return Element::U32;
  case scalar::Elem::U64:
    return Element::U64;
  case scalar::Elem::Bool:
    return Element::Bool;
  case scalar::Elem::F8E4M3:
    return Element::F8E4M3;
  case scalar::Elem::F8E5M2:
    return Element::F8E5M2;
  }
  return Element::Any;
}

Diagnostic error(const char* code, std::string headline, std::string why, std::string help) {
  Diagnostic d;
  d.code = code;
  d.headline = std::move(headline);
  d.body.push_back(std::move(why));
  if (!help.empty())
    d.help.push_back({"", std::move(help), false});
  return d;
}

/// What is wrong with the memory given for a tensor of this shape.
Diagnostics complaints(const program::Tensor& tensor, const std::vector<int64_t>& shape,
                       const TensorData& given) {
  Diagnostics errors;
  const std::string name = "`" + tensor.name + "`";
  const std::string type(scalar::name_of(tensor.elem));
  int64_t elements = 1;
  for (const int64_t extent : shape)
    elements *= extent;
  if (given.count() >= 0 && given.count() < elements)
    errors.push_back(error("K0402", "the memory for " + name + " is too short",
                           "It has " + std::to_string(given.count()) + " elements; " + type +
                               program::shape_text(shape) + " needs " + std::to_string(elements) +
                               ".",
                           ""));
  if (given.element() != Element::Any && given.element() != public_element(tensor.elem))
    errors.push_back(error("K0403", "the memory for " + name + " has another element type",
                           "The tensor is of type " + type + ".", ""));
  if (given.is_const() && tensor.role != Role::Input)
    errors.push_back(error("K0408", "the memory for " + name + " is const",
                           "The tensor is an " + std::string(program::name_of(tensor.role)) +
                               ": the program writes it.",
                           ""));
  return errors;
}

const program::Tensor* visible_tensor(const program::Program& program, const std::string& name) {
  for (const program::Tensor& t : program.tensors)
    if (t.name == name && t.role != Role::Temp)
      return &t;
  return nullptr;
}

void refuse_unknown(const program::Program& program,
                    const std::map<std::string, TensorData>& given) {
  std::vector<std::string> known;
  for (const program::Tensor& t : program.tensors)
    if (t.role != Role::Temp)
      known.push_back(t.name);
  for (const auto& [name, data] : given)
    if (visible_tensor(program, name) == nullptr) {
      const auto meant = closest(name, known);
      api::raise({error("K0407", "no input, output or inout is called `" + name + "`",
                        "The program has " + join(known, ", ") + ".",
                        meant ? "did you mean `" + *meant + "`?" : "")});
    }
}

/// Pointers in the order of the call, after all checks.
std::vector<void*> pointers(const driver::Compiled& compiled, const std::vector<int64_t>& sizes,
                            const std::map<std::string, TensorData>& given) {
  const program::Program& program = compiled.front.program;
  const auto shapes = api::value_or_throw(program::required_shapes(program, sizes));
  refuse_unknown(program, given);
  Diagnostics errors;
  std::vector<void*> out;
  for (const emit::BufferInfo& argument : compiled.executable.signature().arguments) {
    const program::Tensor* tensor = visible_tensor(program, argument.name);
    const auto at = given.find(argument.name);
    if (at == given.end()) {
      errors.push_back(error(
          "K0401", "no memory for `" + argument.name + "`",
          "It is an " + std::string(program::name_of(tensor->role)) + " of the program.", ""));
      continue;
    }
    const auto index = static_cast<size_t>(tensor - program.tensors.data());
    for (Diagnostic& d : complaints(*tensor, shapes[index], at->second))
      errors.push_back(std::move(d));
    out.push_back(at->second.data());
  }
  if (!errors.empty())
    api::raise(errors);
  return out;
}

/// Every parameter: fixed before, or given now; both must agree.
std::vector<int64_t> all_values(const Executable::Impl& impl, const Sizes& sizes) {
  driver::Request request = impl.request;
  for (const auto& [name, value] : sizes) {
    const auto [at, is_new] = request.sizes.emplace(name, value);
    if (!is_new && at->second != value)
      api::raise(
          {error("K0405", "the code was made for " + name + " = " + std::to_string(at->second),
                 "It was called with " + name + " = " + std::to_string(value) + ".",
                 "leave the size open in `Program::schedule`, or compile for both")});
  }
  // The text says what is wrong with a size; a call does not read it for sizes that nothing is
  // wrong with.
  const auto is_fine = [&](const auto& size) {
    const auto& params = impl.compiled.front.program.params;
    return size.second >= 0 &&
           (impl.request.sizes.contains(size.first) ||
            std::any_of(params.begin(), params.end(),
                        [&](const program::Param& p) { return p.name == size.first; }));
  };
  if (!std::all_of(sizes.begin(), sizes.end(), is_fine))
    (void)api::value_or_throw(driver::program_of(request));
  return api::value_or_throw(driver::all_sizes(impl.compiled.front.program, request));
}

} // namespace

Executable::Executable(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

void Executable::run(const std::map<std::string, TensorData>& tensors, const Sizes& sizes) const {
  const std::vector<int64_t> values = all_values(*impl_, sizes);
  const std::vector<void*> arguments = pointers(impl_->compiled, values, tensors);
  (void)api::value_or_throw(impl_->compiled.executable.call(arguments, values));
}

Timing Executable::time(const Sizes& sizes) const {
  const std::vector<int64_t> values = all_values(*impl_, sizes);
  program::Arrays inputs =
      api::value_or_throw(driver::inputs_for(impl_->compiled.front.program, values, {}));
  const run::Timing t =
      api::value_or_throw(driver::time_calls(impl_->compiled, values, std::move(inputs), {}));
  return {t.median, t.min, t.max, t.spread, static_cast<int64_t>(t.samples.size())};
}

std::string Executable::kernel() const { return kernel::print(impl_->compiled.kernel); }

} // namespace kawara
