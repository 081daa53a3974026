#include "emit/cuda/lanes.h"

#include "kernel/walk.h"
#include "scalar/affine_sum.h"
#include "scalar/match.h"

#include <algorithm>
#include <set>

namespace kawara::emit {

using scalar::as;
using scalar::Expr;

void Lanes::set_loaded(const Expr& load, std::string name) {
  loaded_.emplace_back(load, std::move(name));
}

const std::string* Lanes::name_of(const Expr& load) const {
  const auto found = std::find_if(loaded_.begin(), loaded_.end(), [&](const auto& known) {
    return scalar::equal(known.first, load);
  });
  return found != loaded_.end() ? &found->second : nullptr;
}

Expr Lanes::lane_of(const Expr& e, int64_t lane) {
  if (e.type().lanes == 1)
    return e;
  const scalar::Type one{e.type().elem, 1};
  const std::string at = ".at[" + std::to_string(lane) + "]";
  if (const auto* n = as<scalar::Ramp>(e))
    return scalar::simplify(n->base + scalar::int_lit(lane * n->stride));
  if (const auto* n = as<scalar::Broadcast>(e))
    return n->arg;
  if (const auto* n = as<scalar::Var>(e))
    return expr_.named(expr_.names().variables[n->id] + at, one);
  if (const auto* n = as<scalar::Load>(e)) {
    for (const auto& [load, name] : loaded_)
      if (scalar::equal(load, e))
        return expr_.named(name + at, one);
    std::vector<Expr> index;
    for (const Expr& i : n->index)
      index.push_back(lane_of(i, lane));
    return scalar::load(n->tensor, std::move(index), one);
  }
  std::vector<Expr> kids;
  for (const Expr& kid : scalar::children(e))
    kids.push_back(lane_of(kid, lane));
  if (as<scalar::Cast>(e) != nullptr)
    return scalar::cast(kids[0], one);
  if (const auto* n = as<scalar::Unary>(e))
    return scalar::unary(n->op, kids[0]);
  if (const auto* n = as<scalar::Binary>(e))
    return scalar::binary(n->op, kids[0], kids[1]);
  if (as<scalar::Select>(e) != nullptr)
    return scalar::select(kids[0], kids[1], kids[2]);
  if (const auto* n = as<scalar::Within>(e))
    return scalar::within(kids[0], kids[1], n->tensor, n->dim);
  return scalar::fma(kids[0], kids[1], kids[2]);
}

bool is_run(const std::vector<Expr>& index) {
  if (index.empty())
    return false;
  const auto* ramp = as<scalar::Ramp>(index.back());
  return ramp != nullptr && ramp->stride == 1 &&
         std::all_of(index.begin(), index.end() - 1,
                     [](const Expr& e) { return e.type().lanes == 1; });
}

std::vector<Expr> first_of(const std::vector<Expr>& index) {
  std::vector<Expr> first = index;
  if (const auto* ramp = as<scalar::Ramp>(index.back()))
    first.back() = ramp->base;
  return first;
}

Expr Lanes::without_reductions(const Expr& root) {
  return scalar::rewrite(root, [&](const Expr& e) {
    const auto* n = as<scalar::Reduce>(e);
    if (n == nullptr)
      return Expr();
    Expr total = lane_of(n->arg, 0);
    for (int64_t lane = 1; lane < n->arg.type().lanes; ++lane)
      total = scalar::combine(n->op, total, lane_of(n->arg, lane));
    return total;
  });
}

Definitions definitions_in(const kernel::Block& block) {
  Definitions found;
  std::set<uint32_t> unknown;
  kernel::visit(block, [&](const kernel::Define& define) {
    if (!found.emplace(define.var, define.value).second)
      unknown.insert(define.var);
  });
  kernel::visit(block, [&](const kernel::Assign& assign) { unknown.insert(assign.var); });
  for (const uint32_t var : unknown)
    found.erase(var);
  return found;
}

namespace {

bool is_multiple(const Expr& e, int64_t of, const Definitions& known) {
  const scalar::AffineSum sum = scalar::affine_sum(e);
  return sum.constant % of == 0 &&
         std::all_of(sum.terms.begin(), sum.terms.end(), [&](const auto& part) {
           const auto& [term, factor] = part;
           if (factor % of == 0)
             return true;
           if (const auto* v = as<scalar::Var>(term)) {
             const auto value = known.find(v->id);
             return value != known.end() && is_multiple(value->second, of, known);
           }
           const auto* n = as<scalar::Binary>(term);
           if (n == nullptr)
             return false;
           const bool is_left = is_multiple(n->lhs, of, known);
           if (n->op == scalar::BinaryOp::Mul)
             return is_left || is_multiple(n->rhs, of, known);
           const bool keeps = n->op == scalar::BinaryOp::Mod || n->op == scalar::BinaryOp::Min ||
                              n->op == scalar::BinaryOp::Max;
           return keeps && is_left && is_multiple(n->rhs, of, known);
         });
}

} // namespace

bool is_aligned(const kernel::Kernel& kernel, uint32_t buffer, const std::vector<Expr>& index,
                const Definitions& known) {
  const int64_t lanes = index.back().type().lanes;
  const std::vector<Expr> first = first_of(index);
  Expr linear = first[0];
  for (size_t d = 1; d < first.size(); ++d)
    linear = linear * kernel.buffers[buffer].shape[d] + first[d];
  return is_multiple(scalar::simplify(linear), lanes, known);
}

const scalar::Load* copied_by_hardware(const kernel::Kernel& kernel, const kernel::Store& s,
                                       const Definitions& known) {
  Expr value = s.value;
  if (const auto* cast = as<scalar::Cast>(value))
    value = cast->arg;
  const auto* load = as<scalar::Load>(value);
  const scalar::Elem elem = kernel.buffers[s.buffer].elem;
  if (!s.is_async || load == nullptr || value.type().elem != elem)
    return nullptr;
  const int64_t lanes = value.type().lanes, bytes = lanes * scalar::bytes_of(elem);
  const auto is_whole = [&](uint32_t buffer, const std::vector<Expr>& index) {
    return lanes == 1 || (is_run(index) && is_aligned(kernel, buffer, index, known));
  };
  const bool fits = bytes == 4 || bytes == 8 || bytes == 16;
  return fits && is_whole(s.buffer, s.index) && is_whole(load->tensor, load->index) ? load
                                                                                    : nullptr;
}

} // namespace kawara::emit
