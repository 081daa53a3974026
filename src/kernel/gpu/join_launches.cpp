#include "kernel/gpu/join_launches.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Blocks of a launch with a constant grid.
std::optional<int64_t> count_of_blocks(const Launch& launch) {
  int64_t count = 1;
  for (const Expr& along : launch.blocks) {
    const auto blocks = scalar::constant_of(along);
    if (!blocks)
      return std::nullopt;
    count *= *blocks;
  }
  return count;
}

/// Each thread loads, computes and stores, and is done.
bool is_straight(const Kernel& kernel, const Block& body) {
  return has_only<Store, If, Define, Assign, Comment, Allocate>(body) &&
         !has(body, [&](const Allocate& own) {
           return kernel.buffers[own.buffer].scope != Scope::Private;
         });
}

std::set<uint32_t> buffers_touched_in(const Block& body) {
  std::set<uint32_t> touched = buffers_stored_in(body);
  visit_loads(body, [&](const scalar::Load& load) { touched.insert(load.tensor); });
  return touched;
}

bool meet(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint32_t one) { return b.contains(one); });
}

bool may_join(const Kernel& kernel, const Launch& a, const Launch& b) {
  constexpr int64_t kMostBlocks = INT32_MAX;
  const auto first = count_of_blocks(a), second = count_of_blocks(b);
  return first && second && *first + *second <= kMostBlocks && a.threads == b.threads &&
         a.cluster == 1 && b.cluster == 1 && a.mbarriers.empty() && b.mbarriers.empty() &&
         is_straight(kernel, a.body) && is_straight(kernel, b.body) &&
         !meet(buffers_stored_in(a.body), buffers_touched_in(b.body)) &&
         !meet(buffers_stored_in(b.body), buffers_touched_in(a.body));
}

/// The body with the block's place in a grid of its own, `number` counting its blocks, and threads
/// of `launch`.
Block placed(const Launch& own, const Expr& number, const Launch& launch) {
  const int64_t nx = *scalar::constant_of(own.blocks[0]), ny = *scalar::constant_of(own.blocks[1]);
  const auto quotient = [&](int64_t by) { return binary(BinaryOp::FloorDiv, number, int_lit(by)); };
  const std::array<Expr, 3> at = {binary(BinaryOp::Mod, number, int_lit(nx)),
                                  binary(BinaryOp::Mod, quotient(nx), int_lit(ny)),
                                  quotient(nx * ny)};
  const bool is_flat = *count_of_blocks(own) == nx;
  Block body = own.body;
  for (size_t a = 0; a < 3; ++a) {
    const Expr place = !is_flat ? scalar::simplify(at[a]) : a == 0 ? number : int_lit(0);
    body = substitute_var(body, own.block_vars[a], place);
    if (own.thread_vars[a] != launch.thread_vars[a])
      body = substitute_var(body, own.thread_vars[a], scalar::var(launch.thread_vars[a]));
  }
  return body;
}

Launch joined(Kernel& kernel, const Launch& a, const Launch& b) {
  Launch both = a;
  // A number of its own: bodies of the first may have any of their block's variables in them.
  both.block_vars[0] = add_variable(kernel, "block", scalar::kIndex);
  const Expr number = scalar::var(both.block_vars[0]);
  const int64_t first = *count_of_blocks(a);
  both.blocks = {int_lit(first + *count_of_blocks(b)), int_lit(1), int_lit(1)};
  both.thread_private.insert(b.thread_private.begin(), b.thread_private.end());
  both.body = block_of(If{binary(BinaryOp::Lt, number, int_lit(first)), placed(a, number, a),
                          placed(b, scalar::simplify(number - int_lit(first)), a)});
  return both;
}

} // namespace

Kernel join_launches(Kernel kernel) {
  KAWARA_CHECK(kernel.prepared == 0, "launches are joined after something was prepared");
  Block body;
  for (Stmt& stmt : kernel.body) {
    const auto* next = std::get_if<Launch>(&stmt);
    auto* last = body.empty() ? nullptr : std::get_if<Launch>(&body.back());
    if (next != nullptr && last != nullptr && may_join(kernel, *last, *next))
      *last = joined(kernel, *last, *next);
    else
      body.push_back(std::move(stmt));
  }
  kernel.body = std::move(body);
  return kernel;
}

} // namespace kawara::kernel
