#include "interpreted_tape.h"

#include "driver/session.h"
#include "emit/unit.h"
#include "kernel/interpret/interpret.h"
#include "program/interpret/interpret.h"
#include "text_on_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kawara::operator_models {
namespace {

using driver::Slot;
using driver::TapeKernel;
using graph::Tensor;

constexpr auto kPoison = std::byte{0xff}; ///< NaN in every float type

std::vector<driver::ArgumentSize> sizes_of(const driver::GpuProgram& program) {
  std::vector<driver::ArgumentSize> sizes;
  for (const emit::BufferInfo& info : emit::signature_of(program.kernel).arguments)
    sizes.push_back({emit::bytes_of(info, {}).value_or(0), info.role == program::Role::Input});
  return sizes;
}

/// The same elements in another shape.
program::Array shaped(const program::Array& from, const std::vector<int64_t>& shape) {
  program::Array array(from.elem(), shape);
  for (int64_t k = 0; k < std::min(array.elements(), from.elements()); ++k)
    array.set(k, from.get(k));
  return array;
}

/// What the program's own meaning gives for these arguments, by name.
Result<program::Arrays, std::string> meaning_of(const program::Program& program,
                                                program::Arrays inputs) {
  // Kernels may count dimensions as one; the elements are the same.
  const auto shapes = program::required_shapes(program, {});
  for (size_t t = 0; shapes && t < program.tensors.size(); ++t)
    if (const auto given = inputs.find(program.tensors[t].name); given != inputs.end())
      given->second = shaped(given->second, (*shapes)[t]);
  auto expected = program::interpret(program, {}, inputs);
  if (!expected)
    return fail(render({expected.error()}));
  return *std::move(expected);
}

/// What the interpreted kernel makes of these arguments, by name; blocks and threads in an order
/// that the seed chooses.
Result<program::Arrays, std::string>
results_of_kernel(const kernel::Kernel& kernel, std::vector<program::Array> arrays, uint64_t seed) {
  std::vector<kernel::Elements> elements;
  for (const program::Array& array : arrays) {
    elements.emplace_back();
    for (int64_t k = 0; k < array.elements(); ++k)
      elements.back().push_back(array.get(k));
  }
  kernel::InterpretOptions options;
  options.seed = seed;
  KAWARA_TRY([[maybe_unused]] const Done done, kernel::interpret(kernel, {}, elements, options));
  const emit::Signature signature = emit::signature_of(kernel);
  program::Arrays results;
  for (size_t n = 0; n < arrays.size(); ++n) {
    if (signature.arguments[n].role == program::Role::Input)
      continue;
    for (int64_t k = 0; k < arrays[n].elements(); ++k)
      arrays[n].set(k, elements[n][static_cast<size_t>(k)]);
    results.emplace(kernel.buffers[signature.arguments[n].id].name, std::move(arrays[n]));
  }
  return results;
}

bool has_floats(const program::Program& program) {
  for (const program::Tensor& tensor : program.tensors)
    if (scalar::is_float(tensor.elem))
      return true;
  return false;
}

/// Elements that are not numbers on both sides agree. Nothing is allowed where nothing is rounded.
std::string difference_of(const program::Arrays& got, const program::Arrays& expected,
                          double allowed) {
  for (const auto& [name, want] : expected) {
    const program::Array& have = got.at(name);
    for (int64_t k = 0; k < want.elements(); ++k) {
      if (allowed == 0 && !scalar::is_float(want.elem()) && have.get(k).i != want.get(k).i)
        return fmt::format("element {} of {}{} is {} instead of {}", k, name,
                           program::shape_text(want.shape()), have.get(k).i, want.get(k).i);
      const double a = have.get_double(k), b = want.get_double(k);
      const bool is_equal = a == b || (std::isnan(a) && std::isnan(b));
      if (!is_equal && !(std::abs(a - b) <= allowed * std::max({1.0, std::abs(a), std::abs(b)})))
        return fmt::format("element {} of {}{} is {:.9g} instead of {:.9g}, allowed {:.2g}", k,
                           name, program::shape_text(want.shape()), a, b, allowed);
    }
  }
  return "";
}

} // namespace

InterpretedTape::InterpretedTape(driver::Tape tape, const driver::GpuPrograms& programs,
                                 Played played)
    : tape_(std::move(tape)), programs_(programs), played_(played) {
  layout_ = driver::gpu_layout(tape_, 0, [&](size_t step) {
    return sizes_of(*programs_.at(std::get<TapeKernel>(tape_.steps[step]).program));
  });
  memory_.assign(static_cast<size_t>(layout_.bytes), kPoison);
  for (size_t k = 0; k < tape_.constants.size(); ++k)
    if (layout_.constants[k] >= 0)
      std::memcpy(memory_.data() + layout_.constants[k], tape_.constants[k].data(),
                  static_cast<size_t>(tape_.constants[k].bytes()));
}

Result<std::vector<Tensor>, std::string>
InterpretedTape::play(const std::map<std::string, run::Datum>& inputs) {
  for (size_t k = 0; k < tape_.inputs.size(); ++k)
    std::memcpy(memory_.data() + layout_.inputs[k], inputs.at(tape_.inputs[k].name).tensor.data(),
                static_cast<size_t>(tape_.inputs[k].bytes()));
  for (size_t k = 0; k < tape_.steps.size(); ++k) {
    const driver::TapeStep& step = tape_.steps[k];
    if (const auto* kernel = std::get_if<TapeKernel>(&step)) {
      KAWARA_TRY([[maybe_unused]] const Done done, run(k, *kernel));
    } else if (const auto* copy = std::get_if<driver::TapeCopy>(&step)) {
      std::memmove(address(copy->to), address(copy->from), static_cast<size_t>(copy->bytes));
    } else if (const auto* one = std::get_if<driver::TapeCall>(&step)) {
      KAWARA_TRY([[maybe_unused]] const Done done, call(*one));
    }
  }
  std::vector<Tensor> results;
  for (size_t k = 0; k < tape_.outputs.size(); ++k) {
    results.emplace_back(tape_.outputs[k].type, tape_.outputs[k].shape);
    std::memcpy(results.back().data(), memory_.data() + layout_.outputs[k],
                static_cast<size_t>(results.back().bytes()));
  }
  return results;
}

Result<Done, std::string> InterpretedTape::run(size_t number, const TapeKernel& step) {
  const driver::GpuProgram& made = *programs_.at(step.program);
  const emit::Signature signature = emit::signature_of(made.kernel);
  std::vector<std::byte*> places;
  for (const Slot& slot : step.arguments)
    places.push_back(address(slot));
  if (const auto detours = layout_.detours.find(number); detours != layout_.detours.end())
    for (const driver::Detour& detour : detours->second)
      if (detour.is_input) // results lie where they will be
        std::memcpy(memory_.data() + detour.place, memory_.data() + detour.at,
                    static_cast<size_t>(detour.bytes));
  program::Arrays inputs;
  std::vector<program::Array> arrays;
  for (size_t n = 0; n < signature.arguments.size(); ++n) {
    const kernel::Buffer& buffer = made.kernel.buffers[signature.arguments[n].id];
    program::Array array(buffer.elem, kernel::extents_of(buffer, {}));
    std::memcpy(array.data(), places[n], array.bytes());
    if (signature.arguments[n].role == program::Role::Input)
      inputs.emplace(buffer.name, array);
    arrays.push_back(std::move(array));
  }
  const auto fail_with = [&](const std::string& what) {
    return fail(made.name + ": " + what + "\n" + step.program);
  };
  if (const std::vector<std::string> broken = kernel::spec(made.kernel); !broken.empty())
    return fail_with(broken.front());
  const auto program = program::parse(make_source("step.kw", step.program));
  if (!program)
    return fail_with(render(program.error()));
  const auto expected = meaning_of(*program, inputs);
  if (!expected)
    return fail_with(expected.error());
  const double allowed = has_floats(*program) ? driver::tolerance_of(*program, {}) : 0;
  allowed_ += allowed;
  program::Arrays got = *expected;
  if (played_ == Played::Texts && is_text_for_host(made)) {
    auto made_by_text = results_of_text(made, arrays);
    if (!made_by_text)
      return fail_with(made_by_text.error());
    for (size_t n = 0; n < arrays.size(); ++n)
      if (signature.arguments[n].role != program::Role::Input)
        got.at(made.kernel.buffers[signature.arguments[n].id].name) = (*made_by_text)[n];
  } else if (played_ != Played::Programs) {
    auto made_by_kernel = results_of_kernel(made.kernel, arrays, number + 1);
    if (!made_by_kernel)
      return fail_with(made_by_kernel.error());
    got = *std::move(made_by_kernel);
  }
  const std::string wrong = difference_of(got, *expected, allowed);
  if (!wrong.empty())
    return fail_with(wrong);
  for (size_t n = 0; n < arrays.size(); ++n)
    if (signature.arguments[n].role != program::Role::Input) {
      const program::Array& result = got.at(made.kernel.buffers[signature.arguments[n].id].name);
      std::memcpy(places[n], result.data(), result.bytes());
    }
  return Done{};
}

Tensor InterpretedTape::fetch(const driver::TapeTensor& tensor) {
  if (tensor.slot.where == Slot::Where::Constant)
    return tape_.constants[static_cast<size_t>(tensor.slot.at)]
        .with_type(tensor.type)
        .with_shape(tensor.shape);
  Tensor elements(tensor.type, tensor.shape);
  std::memcpy(elements.data(), address(tensor.slot), static_cast<size_t>(elements.bytes()));
  return elements;
}

Result<Done, std::string> InterpretedTape::call(const driver::TapeCall& step) {
  std::vector<run::Datum> data;
  for (const auto& input : step.inputs) {
    data.emplace_back();
    if (input)
      data.back().tensor = fetch(*input);
  }
  const auto results = driver::results_of(step, std::move(data));
  if (!results)
    return fail(render({results.error()}));
  for (size_t k = 0; k < results->size(); ++k)
    if ((*results)[k])
      std::memcpy(address(step.outputs[k]->slot), (*results)[k].data(),
                  static_cast<size_t>((*results)[k].bytes()));
  return Done{};
}

} // namespace kawara::operator_models
