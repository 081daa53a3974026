#include "kernel/loops/unroll.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::int_lit;

int64_t size_of(const Block& block) { return static_cast<int64_t>(count_of(block)); }

/// Copies of its body that a loop asks for.
int64_t copies_asked(const For& loop) {
  const int64_t factor = loop.marks.unroll;
  if (factor == 0 || loop.marks.vector_width != 0 || !loop.marks.instruction.empty())
    return 1;
  const auto trips = trip_count(loop);
  if (factor == poly::kFullUnroll)
    return trips.value_or(1);
  return trips ? std::min(factor, *trips) : factor;
}

/// Stores that the block has when every loop is copied as it asks.
int64_t stores_of(const Block& block) {
  int64_t count = 0;
  for (const Stmt& stmt : block) {
    const auto* loop = std::get_if<For>(&stmt);
    int64_t inside = std::holds_alternative<Store>(stmt) ? 1 : 0;
    for_blocks(stmt, [&](const Block& b) { inside += stores_of(b); });
    count += (loop != nullptr ? copies_asked(*loop) : 1) * inside;
  }
  return count;
}

/// Whether the block has loops whose length is not known; of two branches, whether both have or,
/// for `Branches::Any`, one.
enum class Branches : uint8_t { Both, Any };
bool has_open_loop(const Block& block, Branches asked) {
  return std::any_of(block.begin(), block.end(), [&](const Stmt& stmt) {
    if (const auto* loop = std::get_if<For>(&stmt); loop != nullptr && !trip_count(*loop))
      return true;
    size_t blocks = 0, open = 0;
    for_blocks(stmt, [&](const Block& inside) {
      ++blocks;
      open += has_open_loop(inside, asked) ? 1 : 0;
    });
    return open > 0 && (asked == Branches::Any || open == blocks);
  });
}

Block unrolled(Kernel& kernel, For loop, std::optional<Branches> spared) {
  // Copies of loops whose length is not known save nothing.
  if (spared && loop.marks.unroll != 0 && loop.marks.vector_width == 0 &&
      has_open_loop(substitute_var(loop.body, loop.var, int_lit(0)), *spared))
    loop.marks.unroll = 0;
  const int64_t factor = loop.marks.unroll;
  if (factor == 0 || factor == 1 || loop.marks.vector_width != 0 || !loop.marks.instruction.empty())
    return block_of(std::move(loop));
  const auto trips = trip_count(loop);
  const bool is_complete = trips && (factor == poly::kFullUnroll || factor >= *trips);
  if (is_complete && *trips * size_of(loop.body) <= kMaxCopies)
    return copies_of_body(kernel, loop, loop.lo, *trips);
  if (factor > 1 && !is_complete && !loop.marks.is_parallel &&
      factor * size_of(loop.body) <= kMaxCopies)
    return unroll_by(kernel, loop, factor,
                     [&](const Expr& at) { return copies_of_body(kernel, loop, at, factor); });
  loop.marks.unroll = 0;
  return block_of(std::move(loop));
}

} // namespace

Block copies_of_body(Kernel& kernel, const For& loop, const Expr& at, int64_t count) {
  Block result;
  for (int64_t copy = 0; copy < count; ++copy) {
    const Expr value = scalar::simplify(at + int_lit(copy * loop.step));
    const Block body = copy == 0 ? loop.body : with_fresh_defines(kernel, loop.body);
    const bool is_same = scalar::equal(value, scalar::var(loop.var));
    append(result, is_same ? body : substitute_var(body, loop.var, value));
  }
  return result;
}

Block unroll_by(Kernel& kernel, For loop, int64_t factor,
                const std::function<Block(const Expr&)>& copies) {
  loop.marks.unroll = 0;
  const auto trips = trip_count(loop);
  const int64_t stride = factor * loop.step;
  For main = loop;
  main.step = stride;
  main.body = copies(scalar::var(loop.var));
  if (trips) {
    const int64_t covered = *trips / factor * factor * loop.step;
    main.hi = scalar::simplify(loop.lo + int_lit(covered));
    if (*trips % factor == 0)
      return block_of(std::move(main));
    loop.lo = main.hi;
    return {std::move(main), std::move(loop)};
  }
  const uint32_t middle =
      add_variable(kernel, kernel.variables[loop.var].name + "_rest", scalar::kIndex);
  Define define{middle, scalar::simplify(loop.lo + covered_distance(loop, stride))};
  main.hi = scalar::var(middle);
  loop.lo = scalar::var(middle);
  return {std::move(define), std::move(main), std::move(loop)};
}

Kernel unroll(Kernel kernel, Unrolled copied) {
  std::optional<Branches> spared;
  if (copied == Unrolled::Known)
    spared = stores_of(kernel.body) > kManyStores ? Branches::Any : Branches::Both;
  kernel.body =
      rewrite(kernel.body, [&](For loop) { return unrolled(kernel, std::move(loop), spared); });
  return kernel;
}

} // namespace kawara::kernel
