#pragma once

#include "program/program.h"
#include "target/intrinsic.h"

#include <optional>
#include <vector>

namespace kawara::program {

/// An operand of an instruction. Each dimension follows one axis; one without an axis has one
/// element.
struct Operand {
  std::string name;
  scalar::Elem elem = scalar::Elem::F32;
  std::vector<int64_t> shape;
  std::vector<std::optional<uint32_t>> axes; ///< by dimension
  int64_t lanes() const;
  bool follows(uint32_t axis) const;
};

/// What an instruction does, read from the program that describes it (target/intrinsic.h).
struct Instruction {
  const target::Intrinsic* data = nullptr;
  std::vector<std::string> axes; ///< names, outermost first
  std::vector<int64_t> extents;  ///< by axis
  std::vector<Operand> operands; ///< a, b, c
  ReduceOp op = ReduceOp::Sum;
  Expr value; ///< what is combined with the accumulator; Load t is operand t, Iter d axis d
  const Operand& result() const { return operands.back(); }
  size_t inputs() const { return operands.size() - 1; }
};

/// Of an entry of `target::intrinsics()`; all of them are read when the first is asked for.
const Instruction& instruction_of(const target::Intrinsic&);

/// The axis of rows, which tiles may have fewer of (target::Intrinsic::is_tile): it moves `a` and
/// the result alone. Nothing for other instructions.
std::optional<uint32_t> axis_of_rows(const Instruction&);
/// The tile instruction on that many rows, at most its own.
Instruction with_rows(Instruction, int64_t rows);

/// Which load of an update each input operand stands for.
using OperandLoads = std::vector<Expr>;
/// All ways in which `value` computes what the instruction combines, whatever the elements: the
/// same operations on loads of the same types, in any order of the sides of sums and products.
std::vector<OperandLoads> matching_loads(const Instruction&, const Expr& value);

/// Row-major position p of an operand's elements as one value for each of its dimensions.
std::vector<int64_t> element_at(const Operand&, int64_t position);

} // namespace kawara::program
