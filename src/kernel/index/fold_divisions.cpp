#include "kernel/index/fold_divisions.h"

#include "kernel/analysis/ranges.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::Binary;
using scalar::BinaryOp;
using scalar::int_lit;

class Folder {
public:
  void fold(Block& block) {
    visit_scoped(block, ranges_,
                 [&](Stmt& stmt) { visit_own_exprs(stmt, [&](Expr& e) { e = folded(e); }); });
  }

private:
  Expr folded(const Expr& root) const {
    bool is_changed = false;
    const Expr result = scalar::rewrite(root, [&](const Expr& e) {
      Expr node = folded_node(e);
      is_changed = is_changed || static_cast<bool>(node);
      return node;
    });
    return is_changed ? scalar::simplify(result) : result;
  }

  /// `rewrite` gives every node with its operands rewritten already; empty: as it is.
  Expr folded_node(const Expr& e) const {
    const auto* n = as<Binary>(e);
    if (n == nullptr || e.type() != scalar::kIndex)
      return {};
    if (n->op != BinaryOp::FloorDiv && n->op != BinaryOp::Mod)
      return {};
    const auto divisor = scalar::constant_of(n->rhs);
    if (!divisor || *divisor <= 0)
      return {};
    const auto [multiple, rest] = parted(scalar::affine_sum(n->lhs), *divisor);
    const Expr remainder = scalar::simplify(scalar::expr_of(rest));
    if (!is_below(remainder, *divisor))
      return by_digits(*n, *divisor);
    return n->op == BinaryOp::Mod ? remainder : scalar::simplify(scalar::expr_of(multiple));
  }

  bool is_below(const Expr& e, int64_t end) const {
    return ranges_.is_at_least(e, 0) &&
           ranges_.is_at_least(scalar::simplify(int_lit(end - 1) - e), 0);
  }

  /// (4*i + j) % 16 = i % 4 * 4 + j and (4*i + j) // 16 = i // 4, for j in 0..3.
  Expr by_digits(const Binary& n, int64_t divisor) const {
    const scalar::AffineSum sum = scalar::affine_sum(n.lhs);
    for (const auto& [term, factor] : sum.terms) {
      if (factor <= 1 || factor >= divisor || divisor % factor != 0)
        continue;
      const auto [high, low] = parted(sum, factor);
      const Expr rest = scalar::simplify(scalar::expr_of(low));
      if ((low.terms.empty() && low.constant == 0) || !is_below(rest, factor))
        continue;
      const Expr part =
          scalar::simplify(scalar::binary(n.op, scalar::expr_of(high), int_lit(divisor / factor)));
      return n.op == BinaryOp::Mod ? scalar::simplify(part * int_lit(factor) + rest) : part;
    }
    return {};
  }

  /// sum = divisor * first + second, every term on one side; the constant's multiple goes first.
  static std::pair<scalar::AffineSum, scalar::AffineSum> parted(const scalar::AffineSum& sum,
                                                                int64_t divisor) {
    scalar::AffineSum multiple, rest;
    for (const auto& [term, factor] : sum.terms) {
      if (factor % divisor == 0)
        multiple.terms.emplace_back(term, factor / divisor);
      else
        rest.terms.emplace_back(term, factor);
    }
    const int64_t kept = ((sum.constant % divisor) + divisor) % divisor;
    multiple.constant = (sum.constant - kept) / divisor;
    rest.constant = kept;
    return {multiple, rest};
  }

  Ranges ranges_;
};

} // namespace

Kernel fold_divisions(Kernel kernel) {
  Folder().fold(kernel.body);
  return kernel;
}

} // namespace kawara::kernel
