#include "kernel/loops/split_triangular.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::AffineSum;
using scalar::BinaryOp;
using scalar::int_lit;

/// Values of a loop's variable, whatever the variables around it are: from the constants in its
/// bounds.
struct Span {
  int64_t first = 0, last = 0;
};

/// The constant among what a bound is the greatest or the smallest of.
std::optional<int64_t> constant_among(const std::vector<Expr>& operands) {
  for (const Expr& e : operands)
    if (const auto value = scalar::constant_of(e))
      return value;
  return std::nullopt;
}

bool becomes_code(const For& loop) {
  return loop.marks.vector_width != 0 || loop.marks.unroll != 0;
}

bool has_code_inside(const For& loop) { return becomes_code(loop) || has(loop.body, becomes_code); }

/// Looks inside one loop for bounds that are constant up to some value of its variable.
class DiagonalSearch {
public:
  explicit DiagonalSearch(const For& loop)
      : loop_(loop), inside_(vars_set_in(loop.body)), whole_(look(loop.body, {})) {}

  /// Where iterations begin that meet a diagonal; nothing when there are none to tell apart.
  std::optional<Expr> first_that_meets() const {
    if (ends_.empty())
      return std::nullopt;
    Expr first = ends_.front();
    for (const Expr& end : ends_)
      if (!scalar::equal(end, first))
        first = scalar::binary(BinaryOp::Min, first, end);
    return scalar::simplify(first);
  }

  /// The body where no iteration meets one.
  const Block& whole() const { return whole_; }

private:
  /// Of loops around a place, by variable: another loop may have the same variable and other ends.
  using SpansAround = std::map<uint32_t, Span>;

  /// The statements without the diagonals, whose ends it notes.
  Block look(const Block& block, const SpansAround& around) {
    Block result;
    for (const Stmt& stmt : block) {
      const auto* loop = std::get_if<For>(&stmt);
      if (loop != nullptr && !has_code_inside(*loop)) {
        result.push_back(stmt);
        continue;
      }
      Stmt copy = stmt;
      SpansAround inside = around;
      if (auto* inner = std::get_if<For>(&copy)) {
        inside.erase(inner->var);
        const auto first = constant_among(operands_of(inner->lo, BinaryOp::Max));
        const auto end = constant_among(operands_of(inner->hi, BinaryOp::Min));
        if (first && end)
          inside[inner->var] = {*first, *end - 1};
        inner->lo = without_diagonals(inner->lo, BinaryOp::Max, around);
        inner->hi = without_diagonals(inner->hi, BinaryOp::Min, around);
      }
      result.push_back(
          with_nested_blocks(std::move(copy), [&](const Block& b) { return look(b, inside); }));
    }
    return result;
  }

  /// The bound without the operands that are diagonals.
  Expr without_diagonals(const Expr& bound, BinaryOp op, const SpansAround& around) {
    const std::vector<Expr> operands = operands_of(bound, op);
    const auto constant = constant_among(operands);
    if (!constant)
      return bound;
    Expr left;
    for (const Expr& e : operands) {
      if (const auto end = end_of_whole(e, *constant, op == BinaryOp::Max, around))
        ends_.push_back(*end);
      else
        left = left ? scalar::binary(op, left, e) : e;
    }
    return left;
  }

  /// The value of the loop's variable from which on the operand may decide over the constant, where
  /// it is a diagonal's.
  std::optional<Expr> end_of_whole(const Expr& operand, int64_t constant, bool is_lower,
                                   const SpansAround& around) const {
    const AffineSum limit{{}, constant};
    const AffineSum room = is_lower ? difference(limit, scalar::affine_sum(operand))
                                    : difference(scalar::affine_sum(operand), limit);
    AffineSum rest{{}, room.constant};
    int64_t step = 0;
    bool moves_against = false;
    for (const auto& [term, factor] : room.terms) {
      const auto* v = scalar::as<scalar::Var>(term);
      if (v == nullptr)
        return std::nullopt;
      if (v->id == loop_.var) {
        step = factor;
        continue;
      }
      if (!inside_.contains(v->id)) {
        rest.terms.emplace_back(term, factor);
        moves_against = moves_against || factor > 0;
        continue;
      }
      const auto span = around.find(v->id);
      if (span == around.end())
        return std::nullopt;
      rest.constant += factor * (factor > 0 ? span->second.first : span->second.last);
    }
    if (step >= 0 || !moves_against)
      return std::nullopt;
    return scalar::simplify(scalar::divide_sum(rest, -step) + int_lit(1));
  }

  const For& loop_;
  VarSet inside_;
  std::vector<Expr> ends_;
  Block whole_;
};

class DiagonalSplitter {
public:
  explicit DiagonalSplitter(Kernel& kernel) : kernel_(kernel), room_(count_of(kernel.body)) {}

  Block block(const Block& statements) {
    return with_each_replaced(statements, [&](const Stmt& stmt) { return one(stmt); });
  }

private:
  static bool is_plain(const For& loop) {
    return loop.step == 1 && !loop.joins_child && !loop.marks.is_parallel && !becomes_code(loop) &&
           loop.marks.instruction.empty();
  }

  Block one(const Stmt& stmt) {
    const auto inside = [&](const Block& b) { return block(b); };
    const auto* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || !is_plain(*loop))
      return block_of(with_nested_blocks(stmt, inside));
    const DiagonalSearch search(*loop);
    const auto first = search.first_that_meets();
    const size_t copied = count_of(loop->body) + 1;
    if (!first || copied > room_)
      return block_of(with_nested_blocks(stmt, inside));
    room_ -= copied;
    For whole = *loop, others = *loop;
    whole.hi = scalar::simplify(scalar::binary(BinaryOp::Min, loop->hi, *first));
    whole.body = block(search.whole());
    others.lo = scalar::simplify(scalar::binary(BinaryOp::Max, loop->lo, *first));
    others.body = block(with_fresh_defines(kernel_, loop->body));
    Block result = block_of(std::move(whole));
    result.emplace_back(std::move(others));
    return result;
  }

  Kernel& kernel_;
  size_t room_; ///< statements that copies may still have
};

} // namespace

Kernel split_triangular(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = DiagonalSplitter(kernel).block(body);
  return kernel;
}

} // namespace kawara::kernel
