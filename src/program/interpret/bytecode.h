#pragma once

#include "program/interpret/values.h"
#include "program/program.h"

namespace kawara::program {

/// An expression as instructions for a stack machine; a value is left on top at the end.
struct Step {
  enum class Kind : uint8_t {
    Push,
    Iter,
    Param,
    Load,
    Unary,
    Binary,
    Fma,
    Convert,
    JumpIfFalse,
    Jump,
    Within
  };
  Kind kind = Kind::Push;
  scalar::Elem elem = scalar::Elem::I64; ///< of the operands
  scalar::Elem to = scalar::Elem::I64;   ///< Convert only
  scalar::UnaryOp unary = scalar::UnaryOp::Neg;
  scalar::BinaryOp binary = scalar::BinaryOp::Add;
  uint32_t which = 0;                           ///< iterator, parameter, tensor, or jump target
  uint32_t rank = 0;                            ///< of a Load; the dimension of a Within
  scalar::Value literal = scalar::int_value(0); ///< of a Within: whether its index reads something
};

struct Code {
  std::vector<Step> steps;
  scalar::Elem elem = scalar::Elem::I64; ///< of the result
  uint32_t depth = 0;                    ///< most values on the stack at once
};

/// Code for `e`; only scalar expressions of a Program have one.
Code code_of(const Expr& e);

/// Why a run of a Code stopped.
struct Fault {
  enum class Kind : uint8_t { None, OutOfBounds, Uninitialised, DividedByZero, NotWithin };
  Kind kind = Kind::None;
  uint32_t tensor = 0;
  std::vector<int64_t>
      element; ///< of the tensor; NotWithin: of the one that was read last to make the index
  /// NotWithin: an index of the tensor's dimension, and what it was read from.
  int64_t value = 0;
  uint32_t dim = 0;
  std::optional<uint32_t> index_tensor = {}; ///< none: a loop over a range gave it
};

/// What a Code runs on. `written` has one flag per element for temps, and is empty for the others.
struct Memory {
  std::vector<Array> arrays;
  std::vector<std::vector<bool>> written;
  std::vector<int64_t> params;
};

class Machine {
public:
  explicit Machine(Memory& memory) : memory_(memory) {}

  /// Result of `code`, or false with `fault()` set.
  bool run(const Code& code, const int64_t* iters, scalar::Value& result);
  const Fault& fault() const { return fault_; }
  void set_fault(Fault fault) { fault_ = std::move(fault); }

  /// Position of the element, or -1 with `fault()` set.
  int64_t locate(uint32_t tensor, const int64_t* index);
  bool is_readable(uint32_t tensor, int64_t at, const int64_t* index);

private:
  bool load(const Step& step, scalar::Value*& top);

  Memory& memory_;
  Fault fault_;
  std::vector<scalar::Value> stack_;
  std::vector<int64_t> index_; ///< of the last load
  uint32_t read_ = 0;          ///< its tensor
};

} // namespace kawara::program
