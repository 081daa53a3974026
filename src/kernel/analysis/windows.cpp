#include "kernel/analysis/windows.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::AffineSum;
using scalar::as;
using scalar::Binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Expressions that a value never goes below (or above), all of them.
struct Limits {
  std::vector<Expr> low, high;
};

/// More alternatives than this are not followed.
constexpr size_t kMaxLimits = 16;

class WindowFinder {
public:
  WindowFinder(const Block& block, uint32_t buffer, size_t rank)
      : buffer_(buffer), inside_(vars_set_in(block)), limits_(rank) {
    visit_scoped(block, around_, [&](const Stmt& stmt) {
      visit_own_loads(stmt, [&](const scalar::Load& load) {
        if (load.tensor == buffer_)
          access(load.index);
      });
      if (const auto* store = std::get_if<Store>(&stmt);
          store != nullptr && store->buffer == buffer_)
        access(store->index);
    });
  }

  std::optional<Window> window(size_t dimension) const {
    const std::vector<Limits>& accesses = limits_[dimension];
    if (accesses.empty())
      return std::nullopt;
    std::optional<Window> best;
    for (const Expr& base : accesses[0].low)
      if (const auto found = window_from(base, accesses); found)
        if (!best || found->size < best->size)
          best = found;
    return best;
  }

private:
  static std::optional<Window> window_from(const Expr& base, const std::vector<Limits>& accesses) {
    std::optional<int64_t> first, last;
    for (const Limits& l : accesses) {
      std::optional<int64_t> low, high;
      for (const Expr& e : l.low)
        if (const auto c = scalar::constant_of(scalar::simplify(e - base)))
          low = low ? std::max(*low, *c) : *c;
      for (const Expr& e : l.high)
        if (const auto c = scalar::constant_of(scalar::simplify(e - base)))
          high = high ? std::min(*high, *c) : *c;
      if (!low || !high)
        return std::nullopt;
      first = first ? std::min(*first, *low) : *low;
      last = last ? std::max(*last, *high) : *high;
    }
    return Window{scalar::simplify(base + int_lit(*first)),
                  std::max<int64_t>(*last - *first, 0) + 1};
  }

  /// Lower (or upper) limits of `e` without variables of the block.
  std::vector<Expr> limits(const Expr& e, bool is_low) const {
    if (!mentions_any(e, inside_))
      return {scalar::simplify(e)};
    const AffineSum sum = scalar::affine_sum(e);
    for (size_t t = 0; t < sum.terms.size(); ++t)
      if (as<scalar::Var>(sum.terms[t].first) == nullptr &&
          mentions_any(sum.terms[t].first, inside_))
        return replaced(sum, t, of_term(sum.terms[t].first, is_low == (sum.terms[t].second > 0)),
                        is_low);
    // The innermost variable first: its bounds may hold the others.
    for (auto loop = around_.loops.rbegin(); loop != around_.loops.rend(); ++loop)
      for (size_t t = 0; t < sum.terms.size(); ++t) {
        const auto* v = as<scalar::Var>(sum.terms[t].first);
        if (v != nullptr && v->id == (*loop)->var)
          return replaced(sum, t, of_loop(**loop, is_low == (sum.terms[t].second > 0)), is_low);
      }
    return {};
  }

  static std::vector<Expr> of_loop(const For& loop, bool is_low) {
    if (is_low)
      return operands_of(loop.lo, BinaryOp::Max);
    std::vector<Expr> last;
    for (const Expr& hi : operands_of(loop.hi, BinaryOp::Min))
      last.push_back(hi - int_lit(1));
    return last;
  }

  std::vector<Expr> of_term(const Expr& term, bool is_low) const {
    const auto* n = as<Binary>(term);
    const auto divisor = n != nullptr ? scalar::constant_of(n->rhs) : std::nullopt;
    if (!divisor || *divisor <= 0)
      return {};
    if (n->op == BinaryOp::Mod)
      return {int_lit(is_low ? 0 : *divisor - 1)};
    if (n->op != BinaryOp::FloorDiv)
      return {};
    std::vector<Expr> quotients;
    for (const Expr& e : limits(n->lhs, is_low))
      quotients.push_back(scalar::binary(BinaryOp::FloorDiv, e, n->rhs));
    return quotients;
  }

  std::vector<Expr> replaced(const AffineSum& sum, size_t position,
                             const std::vector<Expr>& options, bool is_low) const {
    AffineSum rest = sum;
    const int64_t factor = sum.terms[position].second;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(position));
    std::vector<Expr> result;
    for (const Expr& option : options)
      for (Expr& e :
           limits(scalar::simplify(scalar::expr_of(rest) + option * int_lit(factor)), is_low))
        if (result.size() < kMaxLimits)
          result.push_back(std::move(e));
    return result;
  }

  void access(const std::vector<Expr>& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      const bool is_known = !has_load(index[d]) && index[d].type() == scalar::kIndex;
      limits_[d].push_back(is_known ? Limits{limits(index[d], true), limits(index[d], false)}
                                    : Limits{});
    }
  }

  uint32_t buffer_;
  VarSet inside_;
  LoopsAround around_;
  std::vector<std::vector<Limits>> limits_; ///< by dimension, then access
};

} // namespace

std::vector<std::optional<Window>> windows_of(const Block& block, uint32_t buffer, size_t rank) {
  const WindowFinder finder(block, buffer, rank);
  std::vector<std::optional<Window>> windows;
  for (size_t d = 0; d < rank; ++d)
    windows.push_back(finder.window(d));
  return windows;
}

} // namespace kawara::kernel
