#include "kernel/loops/tile_start.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <numeric>

namespace kawara::kernel {
namespace {

/// Tiles have at most this many loops; more are not looked at.
constexpr size_t kMostLoops = 4;

/// A perfect nest of loops around one store.
struct ElementNest {
  std::vector<const For*> loops;
  const Store* store = nullptr;
};

ElementNest element_nest(const Stmt& outermost) {
  ElementNest nest;
  const Stmt* stmt = &outermost;
  while (const auto* loop = std::get_if<For>(stmt)) {
    if (loop->body.size() != 1 || loop->marks.is_parallel || nest.loops.size() == kMostLoops)
      return {};
    nest.loops.push_back(loop);
    stmt = &loop->body[0];
  }
  nest.store = std::get_if<Store>(stmt);
  return nest;
}

/// Whether both store to the same elements when loop k of `a` is loop order[k] of `b`. They may use
/// the same variables, for other loops even: both are compared in names that no kernel has.
bool has_same_elements(const ElementNest& a, const ElementNest& b,
                       const std::vector<size_t>& order) {
  constexpr uint32_t kUnused = 1U << 31;
  const auto same = [&](Expr x, Expr y) {
    for (size_t k = 0; k < order.size(); ++k) {
      const Expr name = scalar::var(kUnused + static_cast<uint32_t>(k));
      x = substitute_var(x, a.loops[k]->var, name);
      y = substitute_var(y, b.loops[order[k]]->var, name);
    }
    return scalar::equal(x, y);
  };
  for (size_t k = 0; k < order.size(); ++k) {
    const For &x = *a.loops[k], &y = *b.loops[order[k]];
    if (x.step != y.step || !same(x.lo, y.lo) || !same(x.hi, y.hi))
      return false;
  }
  return std::equal(a.store->index.begin(), a.store->index.end(), b.store->index.begin(),
                    b.store->index.end(), same);
}

} // namespace

bool starts_tile(const Kernel& kernel, const Stmt& first, Block& tile) {
  auto* allocate = tile.size() == 1 ? std::get_if<Allocate>(&tile[0]) : nullptr;
  if (allocate == nullptr || allocate->body.empty())
    return false;
  const ElementNest before = element_nest(first), after = element_nest(allocate->body.back());
  if (before.store == nullptr || after.store == nullptr ||
      before.loops.size() != after.loops.size() || before.store->buffer != after.store->buffer ||
      before.store->op != ReduceOp::None || after.store->op == ReduceOp::None)
    return false;
  const auto* result = scalar::as<scalar::Load>(after.store->value);
  const scalar::Type type = before.store->value.type();
  if (result == nullptr || result->tensor != allocate->buffer ||
      kernel.buffers[before.store->buffer].elem != type.elem ||
      !scalar::equal(scalar::simplify(before.store->value),
                     scalar::simplify(scalar::identity_of(after.store->op, type))))
    return false;
  std::vector<size_t> order(before.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    if (!has_same_elements(before, after, order))
      continue;
    Block& body = allocate->body;
    Origins started = before.store->origins;
    for (size_t l = before.loops.size(); l-- > 0;)
      started = over_loop(std::move(started), *before.loops[l]);
    allocate->origins = joined(std::move(allocate->origins), started);
    visit(body.back(), [](Store& store) { store.op = ReduceOp::None; });
    return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

} // namespace kawara::kernel
