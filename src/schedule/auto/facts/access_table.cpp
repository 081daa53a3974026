#include "schedule/auto/facts/access_table.h"

#include "poly/accesses.h"
#include "poly/legality/witness.h"
#include "scalar/loads.h"
#include "schedule/tree/nest.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Order;
using poly::Scop;
using poly::StmtId;
using scalar::Expr;

namespace {

/// What an expression over a statement's iterators is at a point far from any edge, and next to it.
class Steps {
public:
  Steps(const Scop& scop, StmtId id)
      : params_(scop.params.size(), 16), origin_(scop[id].text.iters.size(), 64) {}

  /// By how much it changes when the iterator advances by one.
  int64_t step(const Expr& e, uint32_t iterator) const {
    std::vector<int64_t> moved = origin_;
    moved[iterator] += 1;
    return poly::value_at(e, params_, moved) - poly::value_at(e, params_, origin_);
  }

  /// The iterator that a row is (plus a constant), when it is one.
  std::optional<uint32_t> iterator_of(const Expr& row) const {
    std::optional<uint32_t> found;
    for (uint32_t k = 0; k < origin_.size(); ++k) {
      const int64_t by = step(row, k);
      if (by == 0)
        continue;
      if (by != 1 || found)
        return std::nullopt;
      found = k;
    }
    return found;
  }

private:
  std::vector<int64_t> params_, origin_;
};

bool mentions(const Expr& e, uint32_t iterator) {
  bool found = false;
  scalar::visit(e, [&](const Expr& n) {
    const auto* it = scalar::as<scalar::Iter>(n);
    found = found || (it != nullptr && it->index == iterator);
  });
  return found;
}

Move move_of(const program::Statement& text, const Steps& steps, const std::vector<Expr>& index,
             uint32_t iterator) {
  Move move = Move::None;
  for (size_t d = 0; d < index.size(); ++d) {
    // Where an index is read from data, the next one may be anywhere.
    if (!poly::is_known_index(index[d], text)) {
      if (mentions(index[d], iterator))
        move = Move::Far;
      continue;
    }
    const int64_t step = steps.step(index[d], iterator);
    if (step == 0)
      continue;
    const bool is_unit = d + 1 == index.size() && step == 1;
    move = is_unit && move == Move::None ? Move::Unit : Move::Far;
  }
  return move;
}

/// Along the loops from `first` to before `last`, by depth.
void add_accesses(AccessTable& table, const Scop& scop, const Order& order, StmtId id, size_t first,
                  size_t last) {
  const program::Statement& text = scop[id].text;
  const Steps steps(scop, id);
  std::vector<std::optional<uint32_t>> iterators;
  for (size_t row = first; row < last; ++row)
    iterators.push_back(steps.iterator_of(order.rows[id.value][row]));
  const auto add = [&](uint32_t tensor, bool is_write, const std::vector<Expr>& index) {
    LoopAccess access{id, tensor, is_write, false, {}};
    for (const auto& iterator : iterators)
      access.moves.push_back(iterator ? move_of(text, steps, index, *iterator) : Move::Far);
    table.push_back(std::move(access));
  };
  add(text.tensor, true, text.index);
  const auto loads = scalar::loads_in(text.value);
  for (size_t n = 0; n < loads.size(); ++n) {
    add(loads[n]->tensor, false, loads[n]->index);
    table.back().is_repeated = std::any_of(
        loads.begin(), loads.begin() + static_cast<std::ptrdiff_t>(n), [&](const auto* earlier) {
          return earlier->tensor == loads[n]->tensor &&
                 std::equal(earlier->index.begin(), earlier->index.end(), loads[n]->index.begin(),
                            loads[n]->index.end(), scalar::equal);
        });
  }
}

void count(Strides& strides, const LoopAccess& access, size_t loop) {
  if (access.is_repeated)
    return;
  const Move move = access.moves[loop];
  strides.none += move == Move::None;
  strides.unit += move == Move::Unit;
  strides.far += move == Move::Far;
  strides.far_writes += access.is_write && move == Move::Far;
  strides.writes_same_element =
      strides.writes_same_element || (access.is_write && move == Move::None);
}

AccessTable table_at(const Schedule& schedule, const std::vector<StmtId>& statements,
                     size_t depth) {
  AccessTable table;
  for (const StmtId id : statements)
    if (depth < schedule.order.rows[id.value].size())
      add_accesses(table, schedule.scop, schedule.order, id, depth, depth + 1);
  return table;
}

} // namespace

bool LoopAccess::stays() const {
  return std::all_of(moves.begin(), moves.end(), [](Move m) { return m == Move::None; });
}

AccessTable access_table(const Scop& scop, const Order& order, StmtId id) {
  AccessTable table;
  add_accesses(table, scop, order, id, 0, order.rows[id.value].size());
  return table;
}

AccessTable access_table(const Schedule& schedule, const Nest& nest) {
  AccessTable table;
  for (const StmtId id : nest.statements)
    add_accesses(table, schedule.scop, schedule.order, id, nest.depth,
                 nest.depth + nest.loops.size());
  return table;
}

Strides strides_along(const AccessTable& table, size_t loop) {
  Strides strides;
  for (const LoopAccess& access : table)
    count(strides, access, loop);
  return strides;
}

Strides strides_at(const Schedule& schedule, const std::vector<StmtId>& statements, size_t depth) {
  return strides_along(table_at(schedule, statements, depth), 0);
}

Strides shared_strides_at(const Schedule& schedule, const std::vector<StmtId>& statements,
                          size_t depth) {
  AccessTable table = table_at(schedule, statements, depth);
  std::erase_if(table, [&](const LoopAccess& access) {
    return schedule.scop.tensors[access.tensor].private_dims > 0;
  });
  return strides_along(table, 0);
}

bool goes_far(const Strides& strides) {
  return strides.far_writes > 0 && strides.far >= strides.unit;
}

bool turns_back(const Schedule& schedule, const Nest& nest, size_t position) {
  const size_t depth = *poly::depth_of(schedule.order, nest.loops[position]);
  const auto is_bent = [](const Expr& index, uint32_t iterator) {
    bool found = false;
    scalar::visit(index, [&](const Expr& e) {
      const auto* node = scalar::as<scalar::Binary>(e);
      found = found || (node != nullptr &&
                        (node->op == scalar::BinaryOp::Min || node->op == scalar::BinaryOp::Max ||
                         node->op == scalar::BinaryOp::Mod) &&
                        mentions(e, iterator));
    });
    return found;
  };
  for (const StmtId id : nest.statements)
    for (const uint32_t iterator : iterators_of(schedule.order.rows[id.value][depth]))
      for (const scalar::Load* load : scalar::loads_in(schedule.scop[id].text.value))
        if (std::any_of(load->index.begin(), load->index.end(),
                        [&](const Expr& index) { return is_bent(index, iterator); }))
          return true;
  return false;
}

bool is_plain_row(const Scop& scop, const Order& order, StmtId id, size_t row) {
  return Steps(scop, id).iterator_of(order.rows[id.value][row]).has_value();
}

} // namespace kawara::schedule
