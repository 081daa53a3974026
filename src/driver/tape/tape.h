#pragma once

#include "driver/plan/plan.h"

#include <optional>
#include <span>

namespace kawara::driver {

/// Where a tape finds elements: the caller's inputs and outputs and the tape's constants by number,
/// its block by byte offset.
struct Slot {
  enum class Where : uint8_t { Input, Output, Constant, Block };
  Where where = Where::Block;
  int64_t at = 0;
};

struct TapeTensor {
  Slot slot;
  graph::DataType type = graph::DataType::F32;
  Shape shape;
};

/// Compiled code on slots, in the order of its signature.
struct TapeKernel {
  std::shared_ptr<const run::Executable> code; ///< null in a tape of plans without code
  std::vector<int64_t> params;                 ///< of the code: a size, or none
  std::vector<Slot> arguments;
  std::string name, program; ///< operators of the group, and its text; empty in a tape from a file
};
/// A run-time function. Absent inputs and outputs are empty.
struct TapeCall {
  graph::Node node; ///< its value numbers mean nothing here
  int64_t opset = 0;
  std::vector<std::optional<TapeTensor>> inputs, outputs;
};
struct TapeCopy {
  Slot from, to;
  int64_t bytes = 0;
};
/// Elements that the rest of the tape was made for: it ends with an error when they are others.
struct TapeGuard {
  Slot slot;
  std::string elements, value;
};
using TapeStep = std::variant<TapeKernel, TapeCall, TapeCopy, TapeGuard>;

/// An input or output of a tape.
struct Port {
  std::string name;
  graph::DataType type = graph::DataType::F32;
  Shape shape;
  int64_t bytes() const;
};

/// One run of a model for inputs of fixed shapes, laid out flat: no graph, no shapes to find out,
/// nothing to allocate. What a `.kwx` file holds.
struct Tape {
  std::string name;
  std::vector<Port> inputs, outputs;
  std::vector<Tensor> constants;
  std::vector<TapeStep> steps;
  int64_t block_bytes = 0;
};

/// The tape of a run that went through these plans, one after the other; of plans without code, one
/// that `Player` cannot play. Refuses graphs with subgraphs or sequences (K0563).
Result<Tape, Diagnostic> tape_from_plans(const graph::Graph&, const std::vector<const Plan*>&);

/// Results of a call, of the types and shapes that the tape has for them; those that it does not
/// want are empty. Refuses what the function refuses and results of other types or shapes (K0511).
Result<std::vector<Tensor>, Diagnostic> results_of(const TapeCall&, std::vector<Datum> inputs,
                                                   std::vector<run::Place> places = {});
/// Refuses elements that are not the guard's (K0568).
Result<Done, Diagnostic> check(const Tape&, const TapeGuard&, const std::byte* elements);

/// Plays a tape again and again; not by several threads at once.
class Player {
public:
  /// Throws std::bad_alloc when there is no memory for the block.
  explicit Player(Tape tape);

  const Tape& tape() const { return tape_; }
  /// Inputs are read, outputs written; each must have the bytes of its port. Calls after the first
  /// allocate nothing, unless the model has run-time functions. Refuses what functions refuse
  /// (K0511) and elements that shapes depend on when they are others than those that the tape was
  /// made for (K0568).
  Result<Done, Diagnostic> play(std::span<void* const> inputs, std::span<void* const> outputs);

private:
  std::byte* address(const Slot&, std::span<void* const> inputs, std::span<void* const> outputs);
  Result<Done, Diagnostic> call(const TapeCall&, std::span<void* const> inputs,
                                std::span<void* const> outputs);

  Tape tape_;
  std::shared_ptr<std::byte> block_;
  std::vector<void*> pointers_; ///< arguments of one kernel
};

} // namespace kawara::driver
