#pragma once

// For emit/llvm only: LLVM types.

#include "emit/llvm/loaded_constant.h"
#include "emit/unit.h"
#include "kernel/analysis/intervals.h"
#include "scalar/affine_sum.h"
#include "support/check.h"
#include "target/intrinsic.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace kawara::emit {

/// LLVM's type for values of a type: bf16 is held as i16, bool as i1.
llvm::Type* value_type(llvm::LLVMContext&, scalar::Type);
/// The same as it lies in memory: bool takes a byte.
llvm::Type* memory_type(llvm::LLVMContext&, scalar::Type);

/// What all functions of one module share.
struct ModuleParts {
  llvm::Module& module;
  const kernel::Kernel& kernel;
  const Signature& signature;
  std::unordered_set<uint32_t> assigned; ///< variables that an Assign names
  /// Vectors of floats that start as a number and become only the greater, or only the smaller, of
  /// themselves and something else, on processors that take several instructions for NaN in that
  /// (extreme.cpp).
  std::unordered_set<uint32_t> extremes;
  uint32_t bodies = 0;         ///< parallel bodies so far; numbers their names
  bool streams = false;        ///< streamed buffers begin with a cache line
  bool rounds_to_bf16 = false; ///< there is an instruction for it, also for denormal numbers
  bool has_masks = false;      ///< comparisons of vectors come to bits
  std::vector<IndexCheck> checks = {}; ///< of the code so far
};

/// Vectors that start as a number and become only the greater, or only the smaller, of themselves
/// and something else; none where they are too many for the registers of x86.
std::unordered_set<uint32_t> extreme_variables(const kernel::Kernel&, bool has_masks);

/// Writes the statements of a kernel into one LLVM function.
///
/// A loop variable or a variable defined once is an SSA value; an assigned one is a stack slot in
/// the entry block, which LLVM turns into SSA values. Buffers are pointer arguments marked
/// noalias: the whole kernel and every parallel body are functions of their own for this reason.
class FunctionEmitter {
public:
  /// How a function's arguments are bound. `buffers` by buffer number, null where not visible.
  struct Frame {
    std::vector<llvm::Value*> buffers;
    std::vector<llvm::Value*> params;
    llvm::Value* runtime = nullptr;
    llvm::Value* thread = nullptr;
    bool in_parallel = false;
  };

  /// Starts at the end of `function`'s entry block.
  FunctionEmitter(ModuleParts& parts, llvm::Function* function, Frame frame);

  void bind(uint32_t variable, llvm::Value* value);
  void block(const kernel::Block&);
  /// The block, left out when the run time says that an earlier call prepared its results.
  void unless_prepared(const kernel::Block&);
  /// The loop over [lo, hi) with the body of `loop`, as plain code.
  llvm::Value* opaque(llvm::Value* index);
  void serial_loop(const kernel::For& loop, llvm::Value* lo, llvm::Value* hi);
  /// Makes what was streamed visible to other threads, and returns.
  void finish();
  llvm::IRBuilder<>& builder() { return b_; }

private:
  using Value = llvm::Value;
  using Expr = scalar::Expr;
  struct Binding {
    Value* value = nullptr;
    llvm::AllocaInst* slot = nullptr;
    llvm::AllocaInst* nans =
        nullptr; ///< of `ModuleParts::extremes`: in which lanes there was a NaN
  };
  /// One index of an access: an expression, or a value made already.
  struct Index {
    Expr expr;
    Value* value = nullptr;
  };
  /// What a parallel body needs from outside: buffers, all parameters, variables, the run time.
  struct Capture {
    std::string name;
    std::vector<uint32_t> buffers;
    std::vector<uint32_t> variables;
    llvm::StructType* env = nullptr;
  };

  // neighbours.cpp
  /// An element in all lanes, taken out of a vector of its neighbours; null where a plain load does
  /// as well or the neighbours may not be loaded.
  Value* splat_of_neighbour(const Expr& element, unsigned lanes);
  bool may_load_neighbours(uint32_t buffer, const Expr& first) const;
  bool goes_along_steps(const scalar::AffineSum& index) const;
  std::optional<int64_t> beyond_last(uint32_t buffer, const Expr& first, size_t rank,
                                     int64_t count) const;

  // transpose.cpp
  /// As many vectors of strided lanes, side by side, as each has lanes.
  struct Square {
    uint32_t buffer = 0;
    unsigned lanes = 0;
    size_t dim = 0; ///< that the lanes run along
    int64_t stride = 0;
    std::vector<scalar::AffineSum> base; ///< at lane 0; the last without its constant
    int64_t offset = 0;                  ///< the constant of the first vector
    unsigned side = 0;                   ///< vectors: as many as lanes, or a part of those
    size_t statement = 0;                ///< of the block: the first that needs one of them
    std::vector<Value*> columns;
  };
  std::vector<Square> squares_of(const kernel::Block&) const;
  void load_square(Square&);
  std::vector<Value*> load_columns(const Square&, unsigned begin);
  /// Stores from there on whose lanes take turns in one run, as that run; how many statements these
  /// are, 0 where they are none.
  size_t store_in_turns(const kernel::Block&, size_t first);
  /// The vector at that index where a square has it; else null.
  Value* column_of_square(uint32_t buffer, const std::vector<Expr>& index, unsigned lanes) const;

  // masked_store.cpp
  /// Stores a vector that fills no register as one that does, under a mask, where that is worth it;
  /// whether it was.
  bool store_under_mask(const kernel::Store&);
  Value* lanes_under_mask(uint32_t buffer, const std::vector<Expr>& index, unsigned lanes);
  void forget_masked(const kernel::Stmt&);

  // instruction.cpp
  Value* emit_instruction(const scalar::Instruction&, scalar::Type);
  Value* emit_tile_instruction(const scalar::Instruction&, const target::Intrinsic&,
                               llvm::Type* result);
  /// Where there are tile instructions, vectors of this size are operands of theirs; loaded as
  /// tiles, they never pass through other registers.
  static constexpr unsigned kTileBytes = 1024;
  bool has_tiles() const;
  Value* load_tile(uint32_t buffer, const std::vector<Expr>& index, scalar::Type);
  Value* tile_operand(const Expr&);
  void forget_tiles(const kernel::Stmt&);
  Value* from_tile(Value* tile, llvm::Type*);
  Value* with_zero_tile(Value*);
  /// x * 2^k + number in one instruction, where the number fills the lower bits and the machine has
  /// it; else null.
  Value* shifted_onto_number(const scalar::Binary&);
  /// A value again and again until all lanes are full.
  Value* repeated(Value* value, unsigned lanes);

  // stmt.cpp
  void stmt(const kernel::For&);
  void stmt(const kernel::If&);
  void stmt(const kernel::Allocate&);
  void stmt(const kernel::Store&);
  void stmt(const kernel::Define&);
  void stmt(const kernel::Assign&);
  void stmt(const kernel::Zero&);
  void stmt(const kernel::Prefetch&);
  void stmt(const kernel::Comment&) {}
  /// Of kernels for a GPU only.
  template <class GpuStmt> void stmt(const GpuStmt&) {
    KAWARA_CHECK(false, "code of a GPU for a processor");
  }
  /// What a store leaves in its elements, in their type.
  Value* stored_value(const kernel::Store&);
  void store_variable(uint32_t variable, Value* value);
  void begin_statement();
  Value* private_memory(uint32_t buffer);
  llvm::MDNode* loop_hints(const kernel::For&);
  llvm::BasicBlock* new_block(const char* name);

  // parallel.cpp
  void parallel_loop(const kernel::For&, Value* lo, Value* hi);
  std::vector<uint32_t> captured_variables(const kernel::For&) const;
  llvm::Function* range_function(const kernel::For&, const Capture&);
  llvm::Function* unpacking_body(const Capture&, llvm::Function* range);

  // reduce.cpp
  Value* combine(scalar::ReduceOp, scalar::Elem, Value* old, Value* value);
  Value* folded(scalar::ReduceOp, scalar::Elem, Value* value, uint16_t lanes);
  Value* emit_reduce(const scalar::Reduce&, uint16_t lanes);
  Value* emit_scan(const scalar::Scan&, scalar::Type);

  // division.cpp
  bool is_natural_division(const scalar::Binary&) const;
  void report_zero(Value* divisor);
  Value* floor_divide(Value* a, Value* b, bool wants_remainder);

  // data_index.cpp
  Value* emit_within(const Expr&, const scalar::Within&);
  void report_outside(const scalar::Within&, Value* index, Value* extent, Value* is_outside);
  void leave_if_outside(const kernel::Block& body);
  int64_t number_of_check(const scalar::Within&, const scalar::Load* read);

  // extreme.cpp
  Value* extreme(scalar::BinaryOp, Value* a, Value* b);
  Value* extreme_of_many(const Expr&);
  Value* number_extreme(scalar::BinaryOp, Value* a, Value* b);
  Value* no_nans(llvm::Type*);
  Value* with_nans_of(Value* nans, Value* value);
  Value* put_nans(Value* nans, Value* value);
  void update_extreme(const kernel::Assign&);

  // expr.cpp
  Value* emit(const Expr&);
  Value* emit_node(const Expr&);
  Value* emit_lane(const Expr&, unsigned lane);
  Value* emit_read_lane(const Expr&, unsigned lane);
  Value* emit_unary(const scalar::Unary&);
  Value* reciprocal_root(Value* x);
  Value* emit_binary(const Expr&, const scalar::Binary&);
  Value* emit_select(const scalar::Select&);
  void load_limited(const scalar::Select&);
  Value* branch_select(const scalar::Select&);
  Value* masked_select(const scalar::Select&);
  Value* integer_binary(scalar::BinaryOp, scalar::Elem, Value* a, Value* b);
  Value* natural_binary(scalar::BinaryOp, Value* a, Value* b);
  Value* bits_binary(scalar::BinaryOp, scalar::Elem, Value* a, Value* b);
  Value* float_binary(scalar::BinaryOp, Value* a, Value* b);
  void forget(size_t from);
  bool is_speculatable(const Expr&) const;
  bool is_speculatable(const Expr&, std::unordered_set<const scalar::Node*>& seen) const;
  Value* variable(uint32_t id);
  llvm::FastMathFlags plain_flags() const;
  llvm::FastMathFlags update_flags() const;

  // convert.cpp
  Value* convert(Value*, scalar::Elem from, scalar::Elem to);
  Value* saturated(Value*, llvm::Type* to, bool is_unsigned);
  Value* bf16_from_f32(Value*);
  Value* float8_from_f32(Value*, scalar::Elem);
  Value* f32_from_float8(Value*, scalar::Elem);
  Value* f32_rounded_to_odd(Value*);
  Value* constant(const scalar::IntLit&, scalar::Elem);
  Value* constant(const scalar::FloatLit&, scalar::Elem);

  // functions.cpp
  Value* call_function(const char* name, const std::vector<Value*>& args);
  Value* activation(scalar::UnaryOp, Value* arg);

  // memory.cpp
  /// The last index when it alone is a vector, and that a run of neighbouring elements.
  static const scalar::Ramp* run_of(const std::vector<Expr>& index);
  /// Elements from the start of a buffer: what varies, and distances that constants and sizes give.
  struct Offset {
    Value* variable = nullptr;
    Value* fixed = nullptr;
  };
  void add(Value*& sum, Value* term);
  void add_flat(Offset&, const Expr& index);
  Value* address(uint32_t buffer, const std::vector<Index>& index, bool is_inside = true);
  Value* extent(uint32_t buffer, size_t dim);
  Value* stride(uint32_t buffer, size_t dim);
  std::vector<Index> lane_index(const std::vector<Expr>& index, unsigned lane);
  Value* load_elements(uint32_t buffer, const std::vector<Expr>& index, unsigned lanes);
  Value* load_longer_run(uint32_t buffer, const std::vector<Index>& first, unsigned lanes);
  Value* load_run(uint32_t buffer, const std::vector<Index>&, unsigned lanes, bool reversed);
  Value* load_first_lanes(llvm::FixedVectorType* type, Value* from, llvm::Align align);
  Value* load_every_other(uint32_t buffer, const std::vector<Expr>& index, unsigned lanes);
  Value* load_between(uint32_t buffer, const std::vector<Index>& first, unsigned lanes,
                      unsigned stride);
  Value* load_lanes(uint32_t buffer, const std::vector<Expr>& index, unsigned lanes);
  Value* load_scalar(uint32_t buffer, const std::vector<Index>&);
  /// Of the largest vector that is stored at once: a register on x86, any vector elsewhere.
  unsigned bits_stored_at_once() const;
  void store_elements(uint32_t buffer, const std::vector<Expr>& index, Value* value,
                      unsigned lanes);
  void stream_run(Value* elements, Value* to);
  Value* to_memory(uint32_t buffer, Value* value);
  Value* from_memory(uint32_t buffer, Value* value);
  Value* byte_size(uint32_t buffer);
  llvm::Align element_align(uint32_t buffer) const;

  ModuleParts& parts_;
  llvm::LLVMContext& context_;
  llvm::Function* function_;
  Frame frame_;
  llvm::IRBuilder<> b_;
  LoadedConstants constants_{b_};
  std::vector<Binding> variables_;
  std::vector<std::vector<Value*>> strides_; ///< by buffer and dimension, made in the entry block
  kernel::Intervals intervals_;              ///< of the variables bound so far
  std::map<uint32_t, int64_t> steps_;        ///< of the loops that were entered, by variable
  std::set<uint32_t> stored_;                ///< buffers that the innermost loop under way writes
  std::set<uint32_t> loaded_;                ///< and those that it reads
  llvm::Instruction* entry_end_ = nullptr;   ///< what belongs at the start goes before this

  // State of the statement under way.
  /// The expression is kept: its address stands for it as long as the entry lives.
  struct Known {
    scalar::Expr expr;
    Value* value;
  };
  std::unordered_map<const scalar::Node*, Known> known_; ///< shared nodes are emitted once
  std::vector<const scalar::Node*> made_;                ///< those, in order
  std::vector<Expr> safe_loads_; ///< loads that this statement does in any case
  std::vector<Square> squares_;  ///< of the block under way
  /// Tiles that its statements have loaded: LLVM does not see that two loads of one are the same.
  struct LoadedTile {
    uint32_t buffer = 0;
    std::vector<Expr> index;
    Value* value = nullptr;
  };
  std::vector<LoadedTile> tiles_;
  /// What its statements have stored under a mask: those lanes are not loaded again.
  struct MaskedLanes {
    uint32_t buffer = 0;
    std::vector<Expr> index;
    unsigned lanes = 0;     ///< that were stored
    Value* value = nullptr; ///< these and some more
    const kernel::Store* store = nullptr;
  };
  std::vector<MaskedLanes> masked_;
  const kernel::Origins* origins_ = nullptr; ///< of the statement under way
  const scalar::Node* update_ = nullptr;     ///< the combining operation of an update
  Value* mask_ = nullptr;                    ///< lanes that are wanted, inside a vector select
  unsigned first_lanes_ =
      0; ///< how many lanes of a vector that was made longer are stored; 0: no such vector
};

/// Whether a block computes with vectors.
bool has_vectors(const kernel::Block&);

} // namespace kawara::emit
