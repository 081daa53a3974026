#pragma once

#include "kernel/origin.h"
#include "scalar/expr.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kawara::kernel {

/// A row of barriers in shared memory. Each has phases, counted from 0: one ends when `arrivals`
/// Arrives and all bytes they announced have come in; then the next begins.
struct Mbarriers {
  std::string name;
  int64_t slots = 1;
  int64_t arrivals = 1;
};
/// One of a launch's barriers.
struct MbarrierSlot {
  uint32_t row = 0; ///< in Launch::mbarriers
  scalar::Expr slot;
};

/// An element of a buffer; of a box, the first one.
struct ElementAt {
  uint32_t buffer = 0;
  std::vector<scalar::Expr> index;
};

/// Places that a window takes one after the other over an image [n, y, x, c], or [y, x, c]: along x
/// from the first to the last in steps of the stride, then y likewise, then n. By direction: y, x.
struct WindowWalk {
  std::array<int64_t, 2> first = {}, last = {}, stride = {1, 1};
  /// Of a place: zeros after them, the image's elements to the right before.
  int64_t channels = 0;
  friend bool operator==(const WindowWalk&, const WindowWalk&) = default;
};

/// Begins to copy a box of a tensor to shared memory. Elements of the box outside the tensor become
/// zero. Its bytes come in at the barrier. The box fills the last dimensions of `to` without gaps.
struct BulkLoad {
  ElementAt to, from;
  std::vector<int64_t> box; ///< by dimension of `from`
  MbarrierSlot done;
  /// Instead of a box: as many places of the walk as the box has columns, the first of which is
  /// `from`, and the box's channels of the element that lies `tap` (y, x) beside each.
  std::optional<WindowWalk> walk = {};
  std::vector<scalar::Expr> tap = {};
  /// The box comes to the same place in each block of the cluster, and its bytes come in at each
  /// one's barrier.
  bool is_multicast = false;
};
/// Begins to copy a box from shared memory to a tensor; elements outside the tensor are left out.
struct BulkStore {
  ElementAt to, from;
  std::vector<int64_t> box; ///< by dimension of `to`
};
/// Waits until this thread's bulk stores, but for the last `pending`, have read their source.
struct AwaitBulkStores {
  int64_t pending = 0;
};
/// One arrival, and that many bytes to wait for.
struct Arrive {
  MbarrierSlot at;
  int64_t bytes = 0;
  /// Which block of the cluster has the barrier, by its position there; nothing: the own one.
  std::optional<scalar::Expr> block = {};
};
/// Waits until the phase with that parity has ended: until the barrier is in a phase of the other.
struct AwaitPhase {
  MbarrierSlot at;
  scalar::Expr parity;
};
/// Begins a collective instruction (target/intrinsic.h) `steps` times along its reduction, by the
/// 128 threads of a warpgroup together. `c` is a private buffer, each thread's part of the result
/// (fragment.h). Tiles of `a` and `b` lie in the last two dimensions of shared buffers, in panels
/// of 64 columns in the dimension before them; `is_*_transposed`: the reduction runs down the rows.
/// `is_a_private`: `a` is a private buffer instead, each thread's part of a tile, and its first
/// element.
struct Mma {
  std::string instruction;
  ElementAt a, b;
  uint32_t c = 0;
  int64_t steps = 1;
  bool is_a_transposed = false, is_b_transposed = false;
  bool is_a_private = false;
  bool starts_at_zero = false; ///< whatever `c` holds
  Origins origins = {};
};
/// Waits until this warp's part of its warpgroup's Mmas, but for the last `pending`, is done: with
/// none pending results may be used. The threads of a warp go on together.
struct AwaitMma {
  int64_t pending = 0;
  /// Private buffers that no product uses any more. With none pending and none named: all of them.
  std::vector<uint32_t> settled = {};
};
/// No thread of this warpgroup goes on before all have come here; what they stored to shared
/// memory, bulk stores see.
struct GroupBarrier {};

/// From here on each thread of this warpgroup has that many registers. All its threads come here
/// once, before anything else; together the groups have no more than before.
struct SetRegisters {
  int64_t count = 0;
  bool is_more = false; ///< than at the start
};

/// Of a Launch: an order to TMA or the tensor cores, which work beside the threads, or a wait for
/// them.
struct AsyncOp {
  std::variant<BulkLoad, BulkStore, AwaitBulkStores, Arrive, AwaitPhase, Mma, AwaitMma,
               GroupBarrier, SetRegisters>
      what;
};

/// Its expressions, in order.
std::vector<const scalar::Expr*> exprs_of(const AsyncOp&);
std::vector<scalar::Expr*> exprs_of(AsyncOp&);
/// Buffers that it writes, and reads.
std::vector<uint32_t> written_by(const AsyncOp&);
std::vector<uint32_t> read_by(const AsyncOp&);

/// Threads that run a collective instruction together.
inline constexpr int64_t kWarpgroup = 128;
/// Columns of a panel of 2-byte elements: 128 bytes, what one row of swizzled shared memory holds.
inline constexpr int64_t kPanelBytes = 128;

} // namespace kawara::kernel
