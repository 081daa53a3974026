#include "schedule/auto/facts/nest_facts.h"

#include "poly/accesses.h"
#include "poly/legality/directions.h"
#include "poly/legality/witness.h"
#include "scalar/loads.h"
#include "schedule/tree/extent.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;

namespace {

/// Assumed where a loop's extent depends on parameters.
constexpr int64_t kUnknownExtent = 1000;

/// The iterator that a row is (plus a constant), when it is one.
std::optional<uint32_t> iterator_of(const Scop& scop, StmtId id, const scalar::Expr& row) {
  const std::vector<int64_t> params(scop.params.size(), 16);
  const size_t n = scop[id].text.iters.size();
  const std::vector<int64_t> origin(n, 64);
  const int64_t at_origin = poly::value_at(row, params, origin);
  std::optional<uint32_t> found;
  for (uint32_t k = 0; k < n; ++k) {
    std::vector<int64_t> moved = origin;
    moved[k] += 1;
    const int64_t step = poly::value_at(row, params, moved) - at_origin;
    if (step == 0)
      continue;
    if (step != 1 || found)
      return std::nullopt;
    found = k;
  }
  return found;
}

bool mentions(const scalar::Expr& e, uint32_t iterator) {
  bool found = false;
  scalar::visit(e, [&](const scalar::Expr& n) {
    const auto* it = scalar::as<scalar::Iter>(n);
    found = found || (it != nullptr && it->index == iterator);
  });
  return found;
}

Move move_of(const Scop& scop, StmtId id, const std::vector<scalar::Expr>& index,
             uint32_t iterator) {
  const std::vector<int64_t> params(scop.params.size(), 16);
  const std::vector<int64_t> origin(scop[id].text.iters.size(), 64);
  std::vector<int64_t> moved = origin;
  moved[iterator] += 1;
  Move move = Move::None;
  for (size_t d = 0; d < index.size(); ++d) {
    // Where an index is read from data, the next one may be anywhere.
    if (!poly::is_known_index(index[d], scop[id].text)) {
      if (mentions(index[d], iterator))
        move = Move::Far;
      continue;
    }
    const int64_t step =
        poly::value_at(index[d], params, moved) - poly::value_at(index[d], params, origin);
    if (step == 0)
      continue;
    const bool is_unit = d + 1 == index.size() && step == 1;
    move = is_unit && move == Move::None ? Move::Unit : Move::Far;
  }
  return move;
}

void count_move(Strides& strides, Move move, bool is_write) {
  strides.none += move == Move::None;
  strides.unit += move == Move::Unit;
  strides.far += move == Move::Far;
  strides.far_writes += is_write && move == Move::Far;
  strides.writes_same_element = strides.writes_same_element || (is_write && move == Move::None);
}

/// Pairs that an outer loop at or before `level` keeps apart need no further care.
bool is_carried_before(const poly::Direction& direction, size_t level) {
  for (size_t k = 0; k < level && k < direction.by_loop.size(); ++k)
    if (direction.by_loop[k].is_positive())
      return true;
  return false;
}

/// Smallest number of outer loops that must stay so that the rest may be permuted freely.
size_t fixed_loops(const Scop& scop, const std::vector<poly::Direction>& all, size_t loops) {
  const bool relaxes = scop.numerics != program::Numerics::Exact;
  for (size_t fixed = 0; fixed < loops; ++fixed) {
    bool holds = true;
    for (const poly::Direction& d : all) {
      if ((relaxes && scop.dependences[d.dependence].is_reduction) || is_carried_before(d, fixed))
        continue;
      for (size_t k = fixed; k < d.by_loop.size(); ++k)
        holds = holds && d.by_loop[k].is_non_negative();
    }
    if (holds)
      return fixed;
  }
  return loops;
}

} // namespace

std::optional<Nest> perfect_nest_at(const Order& order, LoopId loop) {
  Nest nest;
  nest.depth = *poly::depth_of(order, loop);
  const TreeNode* node = poly::find_node(order, loop);
  while (true) {
    nest.loops.push_back(node->loop());
    if (node->body.size() == 1 && node->body.front().is_loop()) {
      node = &node->body.front();
      continue;
    }
    for (const TreeNode& child : node->body) {
      if (child.is_loop())
        return std::nullopt;
      nest.statements.push_back(child.statement());
    }
    return nest;
  }
}

bool adds_up(const Schedule& schedule, const Nest& nest, std::optional<uint32_t> tensor,
             const std::vector<size_t>& some, const std::vector<size_t>& others) {
  const std::vector<scalar::Expr>& rows = schedule.order.rows[nest.statements.front().value];
  const auto mentions_any = [&](const scalar::Expr& e, const std::vector<size_t>& positions) {
    bool found = false;
    scalar::visit(e, [&](const scalar::Expr& part) {
      for (const size_t k : positions)
        found = found || scalar::equal(part, rows[nest.depth + k]);
    });
    return found;
  };
  const auto loads = scalar::loads_in(schedule.scop[nest.statements.front()].text.value);
  return std::any_of(loads.begin(), loads.end(), [&](const scalar::Load* load) {
    return (!tensor || load->tensor == *tensor) &&
           std::any_of(load->index.begin(), load->index.end(), [&](const scalar::Expr& index) {
             return mentions_any(index, some) && mentions_any(index, others);
           });
  });
}

bool is_plain_row(const Scop& scop, const Order& order, StmtId id, size_t row) {
  return iterator_of(scop, id, order.rows[id.value][row]).has_value();
}

std::vector<Move> moves_of(const Scop& scop, const Order& order, StmtId id, size_t row) {
  const auto iterator = iterator_of(scop, id, order.rows[id.value][row]);
  const program::Statement& text = scop[id].text;
  const auto move = [&](const std::vector<scalar::Expr>& index) {
    return iterator ? move_of(scop, id, index, *iterator) : Move::Far;
  };
  std::vector<Move> moves{move(text.index)};
  scalar::visit(text.value, [&](const scalar::Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e))
      moves.push_back(move(load->index));
  });
  return moves;
}

Strides strides_of(const Scop& scop, const Order& order, const std::vector<StmtId>& statements,
                   size_t row) {
  Strides strides;
  for (const StmtId id : statements) {
    if (row >= order.rows[id.value].size())
      continue;
    const std::vector<Move> moves = moves_of(scop, order, id, row);
    for (size_t k = 0; k < moves.size(); ++k)
      count_move(strides, moves[k], k == 0);
  }
  return strides;
}

Strides shared_strides(const Schedule& schedule, const std::vector<StmtId>& statements,
                       size_t row) {
  Strides strides;
  for (const StmtId id : statements) {
    const program::Statement& text = schedule.scop[id].text;
    std::vector<uint32_t> tensors{text.tensor};
    scalar::visit(text.value, [&](const scalar::Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        tensors.push_back(load->tensor);
    });
    const std::vector<Move> moves = moves_of(schedule.scop, schedule.order, id, row);
    for (size_t k = 0; k < moves.size(); ++k)
      if (schedule.scop.tensors[tensors[k]].private_dims == 0)
        count_move(strides, moves[k], k == 0);
  }
  return strides;
}

bool goes_far(const Strides& strides) {
  return strides.far_writes > 0 && strides.far >= strides.unit;
}

NestFacts facts_of(const Schedule& schedule, const Nest& nest) {
  const Scop& scop = schedule.scop;
  const Order& order = schedule.order;
  const bool relaxes = scop.numerics != program::Numerics::Exact;
  const auto all = poly::directions(scop, order, nest.statements, nest.depth);
  NestFacts facts;
  facts.fixed = fixed_loops(scop, all, nest.loops.size());
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    bool is_parallel = true;
    bool is_reduction = relaxes;
    for (const poly::Direction& d : all) {
      if (k >= d.by_loop.size() || is_carried_before(d, std::min(k, facts.fixed)) ||
          d.by_loop[k].is_zero())
        continue;
      is_parallel = false;
      is_reduction = is_reduction && scop.dependences[d.dependence].is_reduction;
    }
    facts.is_parallel.push_back(is_parallel);
    facts.is_reduction.push_back(is_reduction && !is_parallel);
    facts.strides.push_back(strides_of(scop, order, nest.statements, nest.depth + k));
    const auto run = longest_run(scop, order, nest.loops[k]);
    facts.extents.push_back(run.value_or(kUnknownExtent));
    facts.is_open.push_back(!run);
  }
  return facts;
}

int64_t bytes_of_tensor(const program::Tensor& tensor) {
  int64_t bytes = scalar::bytes_of(tensor.elem);
  for (const scalar::Expr& extent : tensor.shape)
    bytes = std::min(bytes * scalar::constant_of(extent).value_or(1), int64_t{1} << 40);
  return bytes;
}

int64_t widest_bytes(const Schedule& schedule, const Nest& nest) {
  int64_t widest = 1;
  for (const StmtId id : nest.statements) {
    const uint32_t tensor = schedule.scop[id].text.tensor;
    widest = std::max(widest,
                      scalar::bytes_of(scalar::compute_type(schedule.scop.tensors[tensor].elem)));
  }
  return widest;
}

} // namespace kawara::schedule
