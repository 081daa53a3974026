#pragma once

#include "driver/gpu/gpu_memory.h"
#include "driver/gpu/gpu_programs.h"

namespace kawara::operator_models {

/// What stands for a kernel of a tape.
enum class Played : uint8_t {
  Kernels, ///< the GPU's, interpreted, each compared with what its program means
  Texts,   ///< their CUDA text where this machine can run it (text_on_host.h), kernels elsewhere
  Programs ///< what the programs mean
};

/// Plays a tape of programs for a GPU on memory of the host that is laid out as on the device.
class InterpretedTape {
public:
  InterpretedTape(driver::Tape, const driver::GpuPrograms&, Played);

  /// The outputs; a sentence when a kernel does what is not allowed, or makes of its arguments
  /// anything else than its program does.
  Result<std::vector<graph::Tensor>, std::string>
  play(const std::map<std::string, run::Datum>& inputs);

  /// How far the outputs of another run may be from these, by the contract: the sum over all steps
  /// so far.
  double allowed() const { return allowed_; }

private:
  std::byte* address(const driver::Slot& slot) {
    return memory_.data() + static_cast<size_t>(layout_.of(slot));
  }
  Result<Done, std::string> run(size_t number, const driver::TapeKernel&);
  Result<Done, std::string> call(const driver::TapeCall&);
  graph::Tensor fetch(const driver::TapeTensor&);

  driver::Tape tape_;
  const driver::GpuPrograms& programs_;
  driver::GpuLayout layout_;
  Played played_;
  std::vector<std::byte> memory_;
  double allowed_ = 0;
};

} // namespace kawara::operator_models
