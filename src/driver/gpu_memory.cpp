#include "driver/gpu_memory.h"

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
  }
  return is_read;
}

} // namespace

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
