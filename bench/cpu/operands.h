#pragma once

#include "cpu/contestant.h"

#include "run/buffer.h"

namespace kawara::bench {

/// The memory behind the operands of a case: uniform in [-1, 1), always the same for the same case.
class OperandMemory {
public:
  explicit OperandMemory(const Case&);
  const Operands& operands() const { return operands_; }

private:
  const float* floats(int64_t elements);

  uint64_t state_ = 20261115;
  std::vector<run::Buffer> buffers_;
  Operands operands_;
};

} // namespace kawara::bench
