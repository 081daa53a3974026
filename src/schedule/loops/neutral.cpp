#include "schedule/loops/neutral.h"

#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/legality.h"
#include "poly/legality/witness.h"
#include "schedule/tree/rewrite.h"
#include "schedule/tree/solve_iterators.h"
#include "support/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kawara::schedule {

using poly::Access;
using poly::Scop;
using poly::StmtId;
using scalar::as;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::UnaryOp;

namespace {

/// An iteration to show: at the smallest sizes the first.
struct ProofCache {
  std::vector<int64_t> params, at;
};

ProofCache first_of(const Scop& scop, isl::set iterations) {
  ProofCache shown;
  std::vector<std::string> names;
  for (const program::Param& p : scop.params)
    names.push_back(p.name);
  shown.params = poly::first_point(poly::parameters_as_set(iterations.params(), names));
  for (size_t k = 0; k < names.size(); ++k)
    iterations = poly::fix_parameter(iterations, names[k], shown.params[k]);
  shown.at = poly::first_point(iterations.project_out_all_params());
  return shown;
}

bool divides_integers(const Expr& value) {
  bool found = false;
  scalar::visit(value, [&](const Expr& e) {
    const auto* n = as<scalar::Binary>(e);
    found = found || (n != nullptr && !scalar::is_float(e.type().elem) &&
                      (n->op == BinaryOp::FloorDiv || n->op == BinaryOp::Mod) &&
                      !scalar::constant_of(n->rhs));
  });
  return found;
}

class Neutrality {
public:
  Neutrality(const Scop& scop, const std::vector<Added>& added, int64_t to)
      : scop_(scop), added_(added), to_(to), accesses_(poly::accesses(scop)) {}

  std::optional<Change> of(const Added& added) const {
    const program::Statement& text = scop_[added.statement].text;
    for (const Access& access : accesses_)
      if (access.statement == added.statement && (access.is_write || !access.is_update))
        if (auto change = outside(added, access))
          return change;
    for (const Access& access : accesses_)
      if (access.statement == added.statement && !access.is_write)
        if (auto change = unwritten(added, access))
          return change;
    if (divides_integers(text.value))
      return Change{{first_text(added.iterations, added) +
                     " would divide integers, and by zero that fails."}};
    const bool moves = std::any_of(text.index.begin(), text.index.end(),
                                   [&](const Expr& e) { return mentions_iterator(e, added.iter); });
    return moves ? kept(added) : not_zero(added);
  }

private:
  const program::Tensor& tensor(uint32_t id) const { return scop_.tensors[id]; }

  isl::set domain(StmtId id) const { return scop_[id].domain.intersect_params(scop_.context); }

  /// Without what is added now.
  isl::set domain_before(StmtId id) const {
    for (const Added& added : added_)
      if (added.statement == id)
        return domain(id).subtract(added.iterations);
    return domain(id);
  }

  isl::set elements(const std::vector<Expr>& index, const isl::set& at) const {
    return map_of(index, at, scop_.params).range();
  }

  std::string instance(const Added& added, const ProofCache& shown) const {
    const program::Statement& text = scop_[added.statement].text;
    std::vector<std::string> at, sizes;
    for (size_t k = 0; k < shown.at.size(); ++k)
      at.push_back(text.iters[k] + " = " + std::to_string(shown.at[k]));
    for (size_t k = 0; k < shown.params.size(); ++k)
      sizes.push_back(scop_.params[k].name + " = " + std::to_string(shown.params[k]));
    return (sizes.empty() ? "" : "For " + join(sizes, ", ") + ": ") + text.name + " at " +
           join(at, ", ");
  }

  std::string first_text(const isl::set& iterations, const Added& added) const {
    return instance(added, first_of(scop_, iterations));
  }

  std::string element_text(uint32_t id, const std::vector<Expr>& index,
                           const ProofCache& shown) const {
    std::vector<std::string> parts;
    for (size_t d = tensor(id).private_dims; d < index.size(); ++d)
      parts.push_back(std::to_string(poly::value_at(index[d], shown.params, shown.at)));
    return "`" + tensor(id).name + (parts.empty() ? "" : "[" + join(parts, ", ") + "]") + "`";
  }

  std::optional<Change> outside(const Added& added, const Access& access) const {
    for (size_t d = 0; d < access.index.size(); ++d) {
      const isl::pw_aff at =
          poly::pw_aff_from_expr(access.index[d], added.iterations, scop_.params);
      const isl::pw_aff end =
          poly::pw_aff_from_expr(tensor(access.tensor).shape[d], added.iterations, scop_.params);
      const isl::set bad = at.lt_set(at.scale(0)).unite(at.ge_set(end)).intersect(added.iterations);
      if (bad.is_empty())
        continue;
      const ProofCache shown = first_of(scop_, bad);
      const std::string name = tensor(access.tensor).name;
      const bool is_temp = tensor(access.tensor).role == program::Role::Temp;
      const std::string dim = "d" + std::to_string(d - tensor(access.tensor).private_dims);
      const std::string padded = "pad(" + name + ", " + dim + ", to=" + std::to_string(to_) + ")";
      return Change{
          {instance(added, shown) + " would " + (access.is_write ? "write " : "read ") +
               element_text(access.tensor, access.index, shown) + ", and `" + name + "` has " +
               std::to_string(
                   poly::value_at(tensor(access.tensor).shape[d], shown.params, shown.at)) +
               " elements along " + dim + ".",
           is_temp           ? "`" + padded + "` puts zeros there."
           : access.is_write ? "`promote` first: a tile that is held has room for more."
                             : "`" + padded + "`, or `stage` with `" + dim + "=" +
                                   std::to_string(to_) + "`, puts zeros there."}};
    }
    return std::nullopt;
  }

  std::optional<Change> unwritten(const Added& added, const Access& read) const {
    const program::Role role = tensor(read.tensor).role;
    if (role == program::Role::Input || role == program::Role::Inout)
      return std::nullopt;
    isl::set missing = added.iterations;
    for (const Access& write : accesses_) {
      if (!write.is_write || write.tensor != read.tensor)
        continue;
      const isl::map earlier =
          write.relation.apply_range(read.relation.reverse())
              .intersect(poly::before(scop_, scop_.source_order, write.statement, read.statement));
      missing = missing.subtract(earlier.range());
    }
    if (missing.is_empty())
      return std::nullopt;
    const ProofCache shown = first_of(scop_, missing);
    return Change{{instance(added, shown) + " would read " +
                       element_text(read.tensor, read.index, shown) +
                       ", which nothing has written.",
                   "`pad(" + tensor(read.tensor).name +
                       ", d0, to=1)` writes zeros wherever nothing else does."}};
  }

  /// Results of the added iterations that somebody gets.
  std::optional<Change> kept(const Added& added) const {
    const program::Statement& text = scop_[added.statement].text;
    const isl::set written = elements(text.index, added.iterations);
    if (tensor(text.tensor).role != program::Role::Temp) {
      const ProofCache shown = first_of(scop_, added.iterations);
      return Change{{instance(added, shown) + " would write " +
                     element_text(text.tensor, text.index, shown) + ", which the caller keeps."}};
    }
    for (const Access& read : accesses_) {
      if (read.tensor != text.tensor || read.is_write || read.is_update)
        continue;
      const isl::set at = domain_before(read.statement);
      const isl::map who = map_of(read.index, at, scop_.params).intersect_range(written);
      if (who.is_empty())
        continue;
      const isl::set bad = added.iterations.intersect(
          who.range().apply(map_of(text.index, added.iterations, scop_.params).reverse()));
      const ProofCache shown = first_of(scop_, bad);
      return Change{{instance(added, shown) + " would write " +
                     element_text(text.tensor, text.index, shown) + ", which " +
                     scop_[read.statement].text.name + " reads."}};
    }
    return std::nullopt;
  }

  /// Elements of a temp that hold zero from the first write to the end.
  const isl::set& zeros_of(uint32_t id, const isl::set& like) const {
    const auto [at, is_new] = zeros_.try_emplace(id);
    if (!is_new)
      return at->second;
    isl::set zeros = isl::set::empty(like.space()), others = zeros;
    for (const Access& write : accesses_) {
      if (!write.is_write || write.tensor != id)
        continue;
      const program::Statement& text = scop_[write.statement].text;
      const isl::set written = elements(write.index, domain(write.statement));
      const bool is_zero = text.op == scalar::ReduceOp::None && is_zero_literal(text.value);
      (is_zero ? zeros : others) = (is_zero ? zeros : others).unite(written);
    }
    if (tensor(id).role == program::Role::Temp)
      at->second = zeros.subtract(others);
    else
      at->second = isl::set::empty(like.space());
    return at->second;
  }

  static bool is_zero_literal(const Expr& e) {
    if (const auto* cast = as<scalar::Cast>(e))
      return is_zero_literal(cast->arg);
    if (const auto* literal = as<scalar::FloatLit>(e))
      return literal->value == 0;
    return scalar::constant_of(e) == 0;
  }

  /// In all iterations of the set.
  bool is_zero(const Expr& e, const isl::set& at) const {
    if (is_zero_literal(e))
      return true;
    if (const auto* load = as<scalar::Load>(e)) {
      const isl::set read = elements(load->index, at);
      return read.is_subset(zeros_of(load->tensor, read));
    }
    if (const auto* cast = as<scalar::Cast>(e))
      return is_zero(cast->arg, at);
    if (const auto* unary = as<scalar::Unary>(e))
      return (unary->op == UnaryOp::Neg || unary->op == UnaryOp::Abs ||
              unary->op == UnaryOp::Sqrt) &&
             is_zero(unary->arg, at);
    if (const auto* choice = as<scalar::Select>(e))
      return is_zero(choice->then, at) && is_zero(choice->otherwise, at);
    const auto* binary = as<scalar::Binary>(e);
    if (binary == nullptr)
      return false;
    const bool lhs = is_zero(binary->lhs, at), rhs = is_zero(binary->rhs, at);
    switch (binary->op) {
    case BinaryOp::Mul:
      return (lhs && (rhs || is_finite(binary->rhs))) || (rhs && is_finite(binary->lhs));
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Min:
    case BinaryOp::Max:
      return lhs && rhs;
    default:
      return false;
    }
  }

  /// Whatever the tensors hold.
  static bool is_finite(const Expr& e) {
    if (!scalar::is_float(e.type().elem))
      return true;
    if (const auto* literal = as<scalar::FloatLit>(e))
      return std::isfinite(literal->value);
    // Every integer is far below the largest f32, but not below the largest f16.
    const auto* cast = as<scalar::Cast>(e);
    return cast != nullptr && !scalar::is_float(cast->arg.type().elem) &&
           (e.type().elem == scalar::Elem::F32 || e.type().elem == scalar::Elem::F64);
  }

  std::optional<Change> not_zero(const Added& added) const {
    const program::Statement& text = scop_[added.statement].text;
    const ProofCache shown = first_of(scop_, added.iterations);
    const std::string begin = instance(added, shown) + " would ";
    const std::string element = element_text(text.tensor, text.index, shown);
    if (text.op == scalar::ReduceOp::None)
      return Change{
          {begin + "write " + element + " once more, over what an earlier iteration left."}};
    if (text.op != scalar::ReduceOp::Sum)
      return Change{{begin + "do `" + std::string(scalar::update_sign(text.op)) + "` on " +
                     element + ", and zero is not neutral there: " +
                     (text.op == scalar::ReduceOp::Max   ? "a maximum of -1 would become 0."
                      : text.op == scalar::ReduceOp::Min ? "a minimum of 1 would become 0."
                                                         : "a product of 1 would become 0.")}};
    if (!is_zero(text.value, added.iterations))
      return Change{reasons(text.value, added, shown, begin + "add to " + element)};
    if (scop_.numerics == program::Numerics::Exact && scalar::is_float(tensor(text.tensor).elem))
      return Change{{begin + "add 0 to " + element +
                     ". If that is -0, it becomes 0, which `numerics exact` does not allow."},
                    true};
    return std::nullopt;
  }

  /// What in a value keeps it from being zero.
  std::vector<std::string> reasons(const Expr& value, const Added& added, const ProofCache& shown,
                                   const std::string& begin) const {
    std::vector<std::string> zero, other;
    scalar::visit(value, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr)
        return;
      const std::string element = element_text(load->tensor, load->index, shown);
      std::vector<std::string>& list = is_zero(e, added.iterations) ? zero : other;
      if (std::find(list.begin(), list.end(), element) == list.end())
        list.push_back(element);
    });
    std::vector<std::string> why;
    if (other.empty())
      return {begin + " what is made of zeros here, and that is not known to be zero."};
    std::vector<std::string> all = zero;
    all.insert(all.end(), other.begin(), other.end());
    why.push_back(begin + " what is made of " + join(all, " and ") + ", and " +
                  join(other, " and ") + (other.size() == 1 ? " is" : " are") +
                  " not known to be zero.");
    if (!zero.empty() && scalar::is_float(value.type().elem))
      why.push_back("A zero times a number is zero, but 0 * inf is NaN: fill both with zeros.");
    return why;
  }

  const Scop& scop_;
  const std::vector<Added>& added_;
  int64_t to_;
  std::vector<Access> accesses_;
  mutable std::map<uint32_t, isl::set> zeros_;
};

} // namespace

std::optional<Change> change_by(const Scop& scop, const std::vector<Added>& added, int64_t to) {
  const Neutrality neutrality(scop, added, to);
  for (const Added& one : added)
    if (auto change = neutrality.of(one))
      return change;
  return std::nullopt;
}

} // namespace kawara::schedule
