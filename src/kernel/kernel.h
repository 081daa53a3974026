#pragma once

#include "kernel/async_ops.h"
#include "kernel/origin.h"
#include "poly/order.h"
#include "program/program.h"
#include "program/rewrites/window_view.h"
#include "scalar/expr.h"

#include <array>
#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace kawara::kernel {

using scalar::Expr;
using scalar::ReduceOp;

/// Where a buffer lives.
enum class Scope : uint8_t {
  Argument,  ///< passed by the caller (inputs, outputs, inouts)
  Workspace, ///< one block per call, passed by the run time (temps)
  Private,   ///< inside the Allocate that names it; each thread has its own
  Shared,    ///< inside the Allocate that names it, in a Launch; each block has its own
};

struct Buffer {
  std::string name;
  scalar::Elem elem = scalar::Elem::F32;
  std::vector<Expr> shape; ///< in the parameters only; row-major
  Scope scope = Scope::Argument;
  program::Role role = program::Role::Temp;
  bool is_packed = false;   ///< program::Tensor
  bool is_constant = false; ///< program::Tensor
  /// Of a shared buffer with rows of 128 bytes: pieces of 16 bytes may lie in another order within
  /// a row, as TMA and the tensor cores know them.
  bool is_swizzled = false;
  /// Its stores are whole cache lines that nobody reads soon: where it begins with one, they are
  /// stored non-temporally.
  bool is_streamed = false;
  /// Nothing stores it: its elements are those of another buffer (window_loads.h).
  std::optional<program::WindowView> window = {};
};

struct Variable {
  std::string name; ///< for people; unique within the kernel
  scalar::Type type;
};

struct For;
struct If;
struct Allocate;
struct Launch;

/// buffer[index] = value, or buffer[index] op= value. `value` has the compute type of the element
/// type (lanes included); the store casts. A vector store has a Ramp as its last index (other
/// indices scalar); an index with a Broadcast or only scalars together with a vector `value` is
/// malformed.
struct Store {
  uint32_t buffer = 0;
  std::vector<Expr> index;
  ReduceOp op = ReduceOp::None;
  Expr value;
  /// A copy of elements to shared memory that need not be there before an Await and the Barrier
  /// after it.
  bool is_async = false;
  Origins origins = {}; ///< what of the scop it runs; copies of elements that passes add have none
};
/// First and only definition of a variable that is never assigned, or the first value of one that
/// is. Visible to the end of its block; not defined again while visible.
struct Define {
  uint32_t var = 0;
  Expr value;
  Origins origins = {};
};
struct Assign {
  uint32_t var = 0;
  Expr value;
  Origins origins = {};
};
struct Zero {
  uint32_t buffer = 0;
}; ///< all elements become zero
/// Asks for the cache line of an element; reads and writes nothing, and the element may lie outside
/// the buffer.
struct Prefetch {
  uint32_t buffer = 0;
  std::vector<Expr> index; ///< scalars
};
struct Comment {
  std::string text;
};
/// Of a Launch: no thread of the block goes on before all have come here. What they wrote, all see.
struct Barrier {};
/// Of a Launch: closes the group of asynchronous stores that this thread began since the last
/// Commit.
struct Commit {};
/// Of a Launch: waits until this thread's groups, but for the last `pending` of them, are done.
struct Await {
  int64_t pending = 0;
};
/// Of a Launch: defines `var` as the combination of `value` over the threads that differ in
/// thread.x alone; all of them get it. All threads of the block come here together, as to a
/// Barrier, but what they wrote to memory need not be seen. In a launch of warpgroups: all threads
/// of the warp.
struct Combine {
  uint32_t var = 0;
  ReduceOp op = ReduceOp::Sum;
  Expr value;
};

using Stmt = std::variant<For, If, Allocate, Launch, Store, Define, Assign, Zero, Prefetch, Comment,
                          Barrier, Commit, Await, Combine, AsyncOp>;
using Block = std::vector<Stmt>;

/// for var = lo; var < hi; var += step, with step > 0 and `hi` taken once, before the loop. `marks`
/// say what passes and emitters shall do with it; a mark that a pass has applied is cleared.
struct For {
  uint32_t var = 0;
  Expr lo, hi;
  int64_t step = 1;
  poly::Marks marks;
  /// Runs as one loop with its only child (coalesce), until the pass that does it.
  bool joins_child = false;
  Block body;
};

struct If {
  Expr cond;
  Block then, otherwise;
};
struct Allocate {
  uint32_t buffer = 0;
  Block body;
  Origins origins = {}; ///< what the first values of its elements stand for (tile_start.h)
};

/// Work for a GPU: `body` is run by every thread of every block. Blocks run in any order and do not
/// see each other's writes; threads run in any order between Barriers. The statements after it run
/// when all have finished. Statements around it run on the host; there are no Stores among them.
struct Launch {
  std::string name;           ///< of the function on the device; unique within the kernel
  std::array<Expr, 3> blocks; ///< x, y, z; in parameters and variables of the host
  std::array<int64_t, 3> threads = {1, 1, 1};                ///< of a block
  std::array<uint32_t, 3> block_vars = {}, thread_vars = {}; ///< which block and thread it is
  /// Buffers of which each element is touched by one thread of a block only, whatever barriers say.
  std::set<uint32_t> thread_private;
  std::vector<Mbarriers> mbarriers = {}; ///< in phase 0 when the block begins
  /// Neighbouring blocks along x that run at the same time, a cluster: they begin and end together,
  /// and asynchronous operations of one reach shared memory and barriers of the others.
  int64_t cluster = 1;
  Block body;
};

/// Explicit loops over buffers. No isl from here on.
///
/// Param p is the p-th parameter (an i64 argument); Var v the v-th variable; Load b reads buffer b.
/// Iter never occurs. Buffers never alias. Index division rounds towards minus infinity. An access
/// has an index for each dimension or, where there are several, one flat index: its row-major
/// position.
struct Kernel {
  std::string name;
  std::vector<program::Param> params;
  std::vector<Buffer> buffers;
  std::vector<Variable> variables;
  program::Numerics numerics = program::Numerics::Rounding;
  Block body;
  /// The first statements of the body depend on constants alone and fill workspaces that nothing
  /// else writes: a caller that kept both may leave them out.
  size_t prepared = 0;
};

scalar::Names names_of(const Kernel&);

Block block_of(Stmt); ///< one statement by itself
void append(Block& to, Block more);

/// Buffers that some statement loads, stores or zeroes. A temp that was inlined away is in none.
std::set<uint32_t> used_buffers(const Kernel&);

/// Whether threads wait for each other inside: a Barrier or a Combine.
bool has_barrier(const Block&);
bool has_barrier(const Stmt&);
/// Whether there is an order to TMA or the tensor cores inside.
bool has_async_op(const Block&);

uint32_t add_variable(Kernel&, std::string name, scalar::Type type); ///< makes the name unique

/// Readable listing.
std::string print(const Kernel&);
/// Invariants of the artefact; empty when well formed.
std::vector<std::string> spec(const Kernel&);

} // namespace kawara::kernel
