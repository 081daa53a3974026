#pragma once

#include "target/cpu.h"
#include "target/gpu.h"

#include <string_view>
#include <vector>

namespace kawara::target {

/// The loosest rule for results that an instruction needs before it may stand for plain arithmetic
/// (docs/numerics.md). Integer arithmetic needs none.
enum class Strictness : uint8_t {
  Exact,    ///< gives the same bits
  Rounding, ///< rounds a product and a sum once, or adds in another order
  Fast,     ///< also drops denormals or rounds in between in a way of its own
};

/// One argument of the LLVM function: an operand of the program, held in a register of `lanes`
/// elements of that type. An operand smaller than the register is repeated until the register is
/// full.
struct Register {
  char operand = 'a';
  std::string_view elem; ///< "i8", "bf16", as in program texts
  uint16_t lanes = 1;
};

/// An instruction that runs a small loop nest at once, as data: nothing but these fields decides
/// where `tensorize` may use it and what is emitted.
///
/// `program` is its meaning, a program in the language of users: operands `a` and `b` are inputs,
/// the accumulator `c` is an inout; one update inside loops of constant length, the axes. The
/// elements of an operand are in its register in row-major order.
struct Intrinsic {
  std::string_view name; ///< "neon.sdot"
  std::string_view program;
  Arch arch = Arch::Aarch64;
  Features needs;
  Strictness strictness = Strictness::Exact;
  double cost = 1.0;               ///< in vector multiply-adds of f32
  std::string_view llvm;           ///< symbol of the function that LLVM turns into the instruction
  std::vector<Register> arguments; ///< of that function, in its order
  std::string_view mnemonic;       ///< what an assembly listing shows
  bool is_added = false;           ///< the function leaves out `c`, which is added to its result
  /// Operands are tiles of 16 rows of 64 bytes, which have registers of their own (AMX); `a` and
  /// `c` may have fewer rows. Rows of `a` and `b` may lie at any one distance in memory. The
  /// function takes first the number of rows, the bytes of a row of `c` and the bytes of a row of
  /// `a`.
  bool is_tile = false;
  /// Of an NVIDIA GPU, run by 128 threads together (`arch` says nothing then). `a` and `b` are
  /// boxes of tensors that it brings to shared memory, with zeros where they reach over an edge;
  /// `c` is spread over the registers of 128 threads. Loops of any length will do.
  bool is_collective = false;
};

/// All instructions, of every machine.
const std::vector<Intrinsic>& intrinsics();
/// Null for a name that no instruction has.
const Intrinsic* find_intrinsic(std::string_view name);
/// Whether the machine has it.
bool is_available(const Intrinsic&, const Cpu&);
bool is_available(const Intrinsic&, const Gpu&);

} // namespace kawara::target
