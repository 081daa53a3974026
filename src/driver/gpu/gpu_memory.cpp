#include "driver/gpu/gpu_memory.h"

#include "emit/cuda/cuda_from_kernel.h"

namespace kawara::driver {
namespace {

constexpr int64_t kPieceAlignment = 256; ///< of the driver's own pieces

/// Hands out memory, one piece behind the other.
class Shelf {
public:
  int64_t take(int64_t bytes) {
    const int64_t at = end_;
    end_ += (std::max<int64_t>(bytes, 1) + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
    return at;
  }
  int64_t end() const { return end_; }

private:
  int64_t end_ = 0;
};

/// Which constants kernels and copies read.
std::vector<bool> constants_on_device(const Tape& tape) {
  std::vector<bool> is_read(tape.constants.size(), false);
  const auto read = [&](const Slot& slot) {
    if (slot.where == Slot::Where::Constant)
      is_read[static_cast<size_t>(slot.at)] = true;
  };
  for (const TapeStep& step : tape.steps) {
    if (const auto* kernel = std::get_if<TapeKernel>(&step))
      for (const Slot& slot : kernel->arguments)
        read(slot);
    if (const auto* copy = std::get_if<TapeCopy>(&step))
      read(copy->from);
    if (const auto* call = std::get_if<TapeCall>(&step); call && runs_on_device(step))
      for (const auto& input : call->inputs)
        read(input->slot);
  }
  return is_read;
}

} // namespace

bool runs_on_device(const TapeStep& step) {
  const auto* call = std::get_if<TapeCall>(&step);
  if (!call)
    return !std::holds_alternative<TapeGuard>(step);
  if (call->node.op != "Gather" || call->inputs.size() != 2 || !call->inputs[0] ||
      !call->inputs[1] || call->outputs.size() != 1 || !call->outputs[0])
    return false;
  const graph::DataType indices = call->inputs[1]->type;
  return (indices == graph::DataType::I64 || indices == graph::DataType::I32) &&
         !call->inputs[0]->shape.empty();
}

run::GatherSizes gather_sizes(const TapeCall& call) {
  const Shape& table = call.inputs[0]->shape;
  const auto given = call.node.attributes.find("axis");
  const auto* axis =
      given == call.node.attributes.end() ? nullptr : std::get_if<int64_t>(&given->second);
  const auto at = static_cast<size_t>(
      std::max<int64_t>(run::axis_of(axis ? *axis : 0, static_cast<int64_t>(table.size())), 0));
  run::GatherSizes sizes;
  for (size_t d = 0; d < table.size(); ++d)
    (d < at ? sizes.outer : d == at ? sizes.rows : sizes.bytes) *= table[d];
  sizes.bytes *= graph::bytes_of(call.inputs[0]->type);
  sizes.count = graph::elements_of(call.inputs[1]->shape).value_or(0);
  sizes.has_wide_indices = call.inputs[1]->type == graph::DataType::I64;
  return sizes;
}

int64_t GpuLayout::of(const Slot& slot) const {
  const auto at = static_cast<size_t>(slot.at);
  switch (slot.where) {
  case Slot::Where::Input:
    return inputs[at];
  case Slot::Where::Output:
    return outputs[at];
  case Slot::Where::Constant:
    return constants[at];
  case Slot::Where::Block:
    break;
  }
  return block + slot.at;
}

GpuLayout gpu_layout(const Tape& tape, int64_t workspace_bytes,
                     const std::function<std::vector<ArgumentSize>(size_t step)>& sizes) {
  GpuLayout layout;
  Shelf shelf;
  const std::vector<bool> is_read = constants_on_device(tape);
  for (size_t k = 0; k < tape.constants.size(); ++k)
    layout.constants.push_back(is_read[k] ? shelf.take(tape.constants[k].bytes()) : -1);
  layout.weight_bytes = shelf.end();
  for (const Port& port : tape.inputs)
    layout.inputs.push_back(shelf.take(port.bytes()));
  for (const Port& port : tape.outputs)
    layout.outputs.push_back(shelf.take(port.bytes()));
  layout.block = shelf.take(tape.block_bytes);
  layout.workspace = shelf.take(workspace_bytes);
  for (size_t k = 0; k < tape.steps.size(); ++k) {
    const auto* kernel = std::get_if<TapeKernel>(&tape.steps[k]);
    if (!kernel)
      continue;
    const std::vector<ArgumentSize> of_step = sizes(k);
    for (size_t n = 0; n < kernel->arguments.size(); ++n)
      if (const int64_t at = layout.of(kernel->arguments[n]); at % emit::kCudaAlignment != 0)
        layout.detours[k].push_back(
            {n, at, shelf.take(of_step[n].bytes), of_step[n].bytes, of_step[n].is_input});
  }
  layout.bytes = shelf.end();
  return layout;
}

} // namespace kawara::driver
