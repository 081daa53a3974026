#include "poly/from_program/proved_indices.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"

#include <algorithm>
#include <limits>

namespace kawara::poly {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::Elem;

/// The load of an integer tensor that is all an expression is, but for conversions that keep every
/// value of it.
const scalar::Load* read_integer(const Expr& e) {
  const auto* cast = as<scalar::Cast>(e);
  if (cast != nullptr && scalar::is_integer(cast->arg.type().elem) &&
      scalar::bytes_of(cast->arg.type().elem) <= scalar::bytes_of(e.type().elem))
    return read_integer(cast->arg);
  return scalar::is_integer(e.type().elem) ? as<scalar::Load>(e) : nullptr;
}

/// What elements of a type hold; nothing where that says nothing.
std::optional<std::pair<int64_t, int64_t>> values_of(Elem elem) {
  switch (elem) {
  case Elem::U8:
    return std::pair(0, 255);
  case Elem::I8:
    return std::pair(-128, 127);
  case Elem::I16:
    return std::pair(-32768, 32767);
  case Elem::I32:
    return std::pair<int64_t, int64_t>(std::numeric_limits<int32_t>::min(),
                                       std::numeric_limits<int32_t>::max());
  default:
    return std::nullopt;
  }
}

/// One statement's iterations, with a dimension more for each integer that is read.
class Proof {
public:
  Proof(const Scop& scop, const ScopStatement& statement) : scop_(scop), statement_(statement) {}

  /// Whether the index is inside, whatever is read.
  bool holds(const scalar::Within& n) {
    reads_.clear();
    loops_ = static_cast<uint32_t>(statement_.text.iters.size()) + (statement_.text.over ? 1 : 0);
    const Expr index = opened(n.index);
    std::vector<Expr> facts;
    if (const auto& over = statement_.text.over) {
      const Expr at = scalar::iter(loops_ - 1);
      facts = {scalar::binary(BinaryOp::Ge, at, opened(over->lo)),
               scalar::binary(BinaryOp::Lt, at, opened(over->hi))};
    }
    add_ranges(facts);
    if (!scalar::is_quasi_affine(index))
      return false;
    const isl::set all =
        statement_universe(statement_.domain.ctx(), scop_.params, "", loops_ + reads_.size());
    isl::set points = iterations(all);
    for (const Expr& fact : facts)
      if (scalar::is_quasi_affine(fact))
        points = set_from_condition(fact, points, scop_.params);
    const isl::pw_aff at = pw_aff_from_expr(index, points, scop_.params);
    const isl::pw_aff extent = pw_aff_from_expr(n.extent, points, scop_.params);
    return at.lt_set(at.scale(0)).is_empty() && at.ge_set(extent).is_empty();
  }

private:
  /// With an iterator of its own for each integer that is read.
  Expr opened(const Expr& e) {
    if (e.type() == scalar::kIndex && read_integer(e) != nullptr) {
      const auto known = std::find_if(reads_.begin(), reads_.end(),
                                      [&](const Expr& read) { return scalar::equal(read, e); });
      const auto number = static_cast<uint32_t>(known - reads_.begin());
      if (known == reads_.end())
        reads_.push_back(e);
      return scalar::iter(loops_ + number);
    }
    std::vector<Expr> kids = scalar::children(e);
    if (kids.empty() || as<scalar::Load>(e) != nullptr)
      return e;
    if (const auto* inner = as<scalar::Within>(e))
      return opened(inner->index);
    for (Expr& kid : kids)
      kid = opened(kid);
    return scalar::with_children(e, std::move(kids));
  }

  void add_ranges(std::vector<Expr>& facts) const {
    for (uint32_t k = 0; k < reads_.size(); ++k) {
      const program::Tensor& tensor = scop_.tensors[read_integer(reads_[k])->tensor];
      const Expr value = scalar::iter(loops_ + k);
      if (const auto range = values_of(tensor.elem)) {
        facts.push_back(scalar::binary(BinaryOp::Ge, value, scalar::int_lit(range->first)));
        facts.push_back(scalar::binary(BinaryOp::Le, value, scalar::int_lit(range->second)));
      }
      if (tensor.values) {
        facts.push_back(scalar::binary(BinaryOp::Ge, value, tensor.values->lo));
        facts.push_back(scalar::binary(BinaryOp::Lt, value, tensor.values->hi));
      }
    }
  }

  isl::set iterations(const isl::set& all) const {
    std::vector<Expr> own;
    for (uint32_t d = 0; d < statement_.text.iters.size(); ++d)
      own.push_back(scalar::iter(d));
    const isl::set range = isl::set::universe(statement_.domain.space());
    return map_from_exprs(own, all, range, scop_.params)
        .intersect_range(statement_.domain)
        .domain();
  }

  const Scop& scop_;
  const ScopStatement& statement_;
  uint32_t loops_ = 0;
  std::vector<Expr> reads_;
};

} // namespace

Scop with_proved_indices(Scop scop) {
  for (ScopStatement& statement : scop.statements) {
    if (statement.is_removed || !program::depends_on_data(statement.text))
      continue;
    const ScopStatement as_it_was = statement;
    Proof proof(scop, as_it_was);
    program::map_exprs(statement.text, [&](const Expr& root) {
      return scalar::rewrite(root, [&](const Expr& e) {
        const auto* n = as<scalar::Within>(e);
        return n != nullptr && proof.holds(*n) ? Expr(n->index) : Expr();
      });
    });
  }
  return scop;
}

} // namespace kawara::poly
