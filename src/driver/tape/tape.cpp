#include "driver/tape/tape.h"

#include "graph/errors.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kawara::driver {
namespace {

Diagnostic other_elements(const Tape& tape, const TapeGuard& guard) {
  return graph::model_error("K0568",
                            fmt::format("`{}` was compiled for other values of `{}`",
                                        printable(tape.name), printable(guard.value)),
                            "Shapes inside the model depend on them.",
                            "run the ONNX file, or compile it for these inputs");
}

Diagnostic other_result(const TapeCall& call, size_t output, const Tensor& got) {
  return refused(call.node, {},
                 fmt::format("output {} has the type {}{}, which the file was not compiled for",
                             output, graph::name_of(got.type()), graph::text_of(got.shape())));
}

int64_t bytes_of(const TapeTensor& tensor) {
  return graph::elements_of(tensor.shape).value_or(0) * graph::bytes_of(tensor.type);
}

bool overlaps(const run::Place& place, const std::vector<Datum>& data) {
  return std::any_of(data.begin(), data.end(), [&](const Datum& datum) {
    const std::byte* begin = datum.tensor ? datum.tensor.data() : nullptr;
    return begin != nullptr && begin < place.memory + place.bytes &&
           place.memory < begin + datum.tensor.bytes();
  });
}

/// Memory that somebody else keeps.
std::shared_ptr<std::byte> borrowed(std::byte* data) {
  return {std::shared_ptr<std::byte>(), data};
}

} // namespace

int64_t Port::bytes() const {
  return graph::elements_of(shape).value_or(0) * graph::bytes_of(type);
}

Result<std::vector<Tensor>, Diagnostic> results_of(const TapeCall& call, std::vector<Datum> inputs,
                                                   std::vector<run::Place> places) {
  const run::Function* function = run::find_function(call.node.op);
  if (!function)
    return fail(refused(call.node, {}, "this version of Kawara has no such function"));
  const auto results =
      function->call({call.node, call.opset, std::move(inputs), nullptr, std::move(places)});
  if (!results)
    return fail(refused(call.node, {}, results.error()));
  std::vector<Tensor> out;
  for (size_t k = 0; k < call.outputs.size(); ++k) {
    const auto& wanted = call.outputs[k];
    if (wanted && k >= results->size())
      return fail(refused(call.node, {}, fmt::format("it gives no output {}", k)));
    out.push_back(wanted ? (*results)[k].tensor : Tensor());
    if (wanted && (out.back().type() != wanted->type || out.back().shape() != wanted->shape))
      return fail(other_result(call, k, out.back()));
  }
  return out;
}

Result<Done, Diagnostic> check(const Tape& tape, const TapeGuard& guard,
                               const std::byte* elements) {
  if (std::memcmp(elements, guard.elements.data(), guard.elements.size()) != 0)
    return fail(other_elements(tape, guard));
  return Done{};
}

Player::Player(Tape tape) : tape_(std::move(tape)) {
  block_ = graph::make_memory(tape_.block_bytes);
  size_t most = 0;
  for (const TapeStep& step : tape_.steps)
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      most = std::max(most, kernel->arguments.size());
  pointers_.reserve(most);
}

std::byte* Player::address(const Slot& slot, std::span<void* const> inputs,
                           std::span<void* const> outputs) {
  const auto at = static_cast<size_t>(slot.at);
  switch (slot.where) {
  case Slot::Where::Input:
    return static_cast<std::byte*>(inputs[at]);
  case Slot::Where::Output:
    return static_cast<std::byte*>(outputs[at]);
  case Slot::Where::Constant:
    return tape_.constants[at].data();
  case Slot::Where::Block:
    break;
  }
  return block_.get() + slot.at;
}

Result<Done, Diagnostic> Player::play(std::span<void* const> inputs,
                                      std::span<void* const> outputs) {
  for (const TapeStep& step : tape_.steps) {
    if (const auto* kernel = std::get_if<TapeKernel>(&step)) {
      pointers_.clear();
      for (const Slot& slot : kernel->arguments)
        pointers_.push_back(address(slot, inputs, outputs));
      KAWARA_TRY([[maybe_unused]] const Done done, kernel->code->call(pointers_, kernel->params));
    } else if (const auto* copy = std::get_if<TapeCopy>(&step)) {
      std::memcpy(address(copy->to, inputs, outputs), address(copy->from, inputs, outputs),
                  static_cast<size_t>(copy->bytes));
    } else if (const auto* guard = std::get_if<TapeGuard>(&step)) {
      KAWARA_TRY([[maybe_unused]] const Done done,
                 check(tape_, *guard, address(guard->slot, inputs, outputs)));
    } else {
      KAWARA_TRY([[maybe_unused]] const Done done, call(std::get<TapeCall>(step), inputs, outputs));
    }
  }
  return Done{};
}

Result<Done, Diagnostic> Player::call(const TapeCall& call, std::span<void* const> inputs,
                                      std::span<void* const> outputs) {
  std::vector<Datum> data;
  for (const auto& input : call.inputs)
    data.push_back(input ? Datum{Tensor(input->type, input->shape,
                                        borrowed(address(input->slot, inputs, outputs))),
                                 false,
                                 {}}
                         : Datum{});
  std::vector<run::Place> places;
  for (const auto& output : call.outputs) {
    const run::Place place =
        output ? run::Place{address(output->slot, inputs, outputs), bytes_of(*output)}
               : run::Place{};
    places.push_back(overlaps(place, data) ? run::Place{} : place);
  }
  KAWARA_TRY(const std::vector<Tensor> results,
             results_of(call, std::move(data), std::move(places)));
  for (size_t k = 0; k < results.size(); ++k)
    if (results[k])
      if (std::byte* to = address(call.outputs[k]->slot, inputs, outputs); to != results[k].data())
        std::memcpy(to, results[k].data(), static_cast<size_t>(results[k].bytes()));
  return Done{};
}

} // namespace kawara::driver
