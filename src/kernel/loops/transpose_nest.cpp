#include "kernel/loops/transpose_nest.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <utility>

namespace kawara::kernel {

bool is_run(const For& loop, const Store& store) {
  if (store.index.empty())
    return false;
  const scalar::AffineSum last = scalar::affine_sum(store.index.back());
  const bool is_next = std::any_of(last.terms.begin(), last.terms.end(), [&](const auto& term) {
    const auto* var = scalar::as<scalar::Var>(term.first);
    return var != nullptr && var->id == loop.var && term.second == 1;
  });
  return is_next && std::none_of(store.index.begin(), store.index.end() - 1,
                                 [&](const Expr& e) { return mentions(e, loop.var); });
}

bool is_strided(const For& lanes, const Store& store) {
  return !store.index.empty() && !mentions(store.index.back(), lanes.var) &&
         std::any_of(store.index.begin(), store.index.end(),
                     [&](const Expr& e) { return mentions(e, lanes.var); });
}

void transpose_nest(std::vector<For>& loops, const Store& store) {
  const int64_t width = std::exchange(loops.back().marks.vector_width, 0);
  const For& lanes = loops.back();
  const auto bounding = std::find_if(loops.rbegin() + 1, loops.rend(), [&](const For& loop) {
    return mentions(lanes.lo, loop.var) || mentions(lanes.hi, loop.var);
  });
  // Rows of a tile of an instruction, inside the loops over tiles.
  constexpr int64_t kFewRows = 4;
  const auto rows = loops.end() - 2;
  const bool has_tiles = loops.size() > 2 && bounding.base() <= rows &&
                         trip_count(*rows).value_or(0) > kFewRows && is_run(*rows, store);
  const auto first =
      std::rotate(has_tiles ? rows : bounding.base(), loops.end() - 1, loops.end()) - 1;
  For& neighbours = loops.back();
  const auto length = trip_count(neighbours);
  if (loops.end() - first != 2 || !length || *length < 2 || !is_run(neighbours, store))
    return;
  neighbours.marks.vector_width = std::min(width, *length);
  first->marks.unroll = width;
}

} // namespace kawara::kernel
