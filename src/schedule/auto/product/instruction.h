#pragma once

#include "schedule/auto/product/product.h"

#include <optional>
#include <string>

namespace kawara::schedule {

/// An instruction for the innermost loops of a product.
struct ProductInstruction {
  std::string name;
  int64_t lanes = 1;                ///< neighbouring results in one accumulator
  int64_t rows = 1;                 ///< rows of them
  int64_t depth = 1;                ///< iterations of the reduction that one instruction does
  int64_t group = 1;                ///< of these, neighbours in both operands
  std::optional<scalar::Elem> type; ///< operands are packed as this; none: as they are
  int64_t operand_bytes = 4;        ///< of a packed element
  double speed = 1.0;               ///< multiplications at a time, relative to plain vectors
  /// Of an element of the left operand side by side in its copy
  /// (kernel/vector/duplicate_elements.h).
  int64_t copies = 1;
  bool copies_rows = false; ///< there, rows that are runs along the reduction stay such runs
  bool is_tile = false;     ///< its operands have registers of their own (target::Intrinsic)
  /// That a copy has to pay for: what is copied by rows costs little.
  int64_t copied_lanes() const { return is_tile || copies_rows ? 1 : lanes; }
};

/// The instruction that does most of the product's multiplications at once, among those that the
/// machine has and the contract allows; nothing where plain vectors do as many.
std::optional<ProductInstruction> instruction_for(const Schedule&, const Product&,
                                                  const Environment&);

/// The same among those that take the left operand unpacked: one row at a time, in groups of
/// neighbours, or tiles of `Product::tile_rows`.
std::optional<ProductInstruction> instruction_in_place(const Schedule&, const Product&,
                                                       const Environment&);
/// The same where the left operand can be laid out anew, in the instruction's type.
std::optional<ProductInstruction> instruction_laid_out(const Schedule&, const Product&,
                                                       const Environment&);

/// Iterations of the reduction after which sums of f16 products go on in f32: 16 channels of 3x3
/// windows. A block rounds at most this often: its error is below kF16Depth * 2^-11 times the sum
/// of the products' sizes.
inline constexpr int64_t kF16Depth = 144;
/// Steps of the reduction that a copy of a matrix takes at a time.
inline constexpr int64_t kBand = 8;
/// Iterations of the longest loop of the reduction that make up such a block: a divisor of its
/// extent where there is a large one; two blocks at least.
int64_t f16_block(const Product&);

/// Whether the product multiplies f16 into f32 on a machine that computes with f16, under a
/// contract that lets blocks of it be added up in f16. Wide vectors do not gain where results lie
/// across lanes: transposing them for each block, and loads of one f16 of an image into all lanes,
/// took as long as f32 did in all.
bool gains_from_f16_sums(const Schedule&, const Product&, const Environment&);

} // namespace kawara::schedule
