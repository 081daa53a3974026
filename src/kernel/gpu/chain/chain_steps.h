#pragma once

#include "kernel/gpu/chain/chain_nests.h"
#include "kernel/gpu/chain/chain_operands.h"

#include <set>

namespace kawara::kernel {

/// One product and what stands for its operands.
struct PlacedProduct {
  ChainProduct form;
  std::optional<size_t> a; ///< none: registers
  size_t b = 0;
  bool starts_at_zero = false;
};

/// What the warpgroups that compute do in a step of a chain. Products are known by their place in
/// ChainForm::inside.
class ChainSteps {
public:
  ChainSteps(Kernel& kernel, const Launch& launch, const ChainForm& form, const target::Gpu& gpu,
             TileElements& elements, int64_t rows)
      : kernel_(kernel), launch_(launch), form_(form), gpu_(gpu), elements_(elements),
        operands_(kernel, launch, form), nests_(kernel, form, elements, registers_, rows, widths_),
        rows_(rows) {}

  /// Whether the GPU has the products' instructions and TMA can bring their operands.
  bool can_run();
  /// Gives operands and buffers of the block their places. Copies that come before the launch go to
  /// `copies`.
  void place(const ChainOperands::Stages& stages, int64_t warps, Block& copies,
             std::vector<Mbarriers>& barriers);

  ChainOperands& operands() { return operands_; }
  ChainNests& nests() { return nests_; }
  ChainRegisters& registers() { return registers_; }
  uint32_t part(uint32_t buffer) const { return elements_.part_of(buffer)->buffer; }

  /// Operands that all steps of a tile share.
  void await_residents(Block& out) const;
  void release_residents(Block& out) const;

  bool is_product(size_t item) const { return products_.contains(item); }
  int64_t orders_of(size_t product) const; ///< to the tensor cores
  /// Waits for what the product reads, and begins it.
  void begin(size_t product, Block& out) const;
  /// Waits until it is done, but for the last `pending` orders, and gives back what it read.
  void end(size_t product, int64_t pending, Block& out) const;
  /// An item of the loop, but for the orders of a product: there it is what has to be true of its
  /// operand.
  Block run(size_t item);
  void run_all(const std::vector<size_t>& items, Block& out);
  /// A step up to its last product, beginning with that of the step before, if there is one.
  Block step(const ChainOverlap&, bool has_last);

private:
  bool is_of_block(uint32_t buffer) const { return form_.buffers.contains(buffer); }
  bool can_run(const ChainProduct&) const;
  void place_products(Block& copies);
  bool begins_with_zeros(size_t product);
  void make_parts();
  Expr slot(size_t operand) const;
  void await(size_t operand, Block& out) const;
  void release(size_t operand, Block& out) const;
  std::vector<size_t> moving_operands(const PlacedProduct&) const;

  Kernel& kernel_;
  const Launch& launch_;
  const ChainForm& form_;
  const target::Gpu& gpu_;
  TileElements& elements_;
  ChainOperands operands_;
  std::map<uint32_t, int64_t> widths_; ///< of buffers of the block that have columns
  ChainRegisters registers_;
  ChainNests nests_;
  int64_t rows_;
  std::map<size_t, PlacedProduct> products_;
  std::set<size_t> left_out_;    ///< items of `inside`
  std::map<size_t, Ring> rings_; ///< by operand
};

} // namespace kawara::kernel
