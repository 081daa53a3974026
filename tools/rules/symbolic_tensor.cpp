#include "rules/symbolic_tensor.h"

#include "graph/rewrite/term.h"

#include <algorithm>
#include <numeric>

namespace kawara::rules {
namespace {

const Exprs& values(const SymbolicAttributes& attributes, const char* name) {
  return attributes.at(name).values;
}

} // namespace

size_t as_number(const z3::expr& e) {
  const z3::expr plain = e.simplify();
  if (!plain.is_numeral())
    throw NoInstance{};
  return static_cast<size_t>(plain.get_numeral_int64());
}

void SymbolicOperators::require(const z3::expr& fact) {
  if (prover_.follows(fact))
    return;
  prover_.assume(fact);
  if (prover_.is_contradiction())
    throw NoInstance{};
}

Exprs SymbolicOperators::generic_index(const Exprs& extents) {
  Exprs index;
  for (const z3::expr& extent : extents) {
    index.push_back(prover_.fresh_integer("i"));
    prover_.assume(index.back() >= 0 && index.back() < extent);
  }
  return index;
}

SymbolicTensor SymbolicOperators::unknown(const std::string& name, const Exprs& extents) {
  return {extents, [this, name, extents](const Place& place) {
            return prover_.apply(name, resolved(place, extents));
          }};
}

SymbolicTensor SymbolicOperators::number(const z3::expr& value) {
  return {{}, [this, value](const Place&) { return prover_.value(value); }};
}

std::vector<size_t> SymbolicOperators::real_dimensions(const Exprs& extents) {
  std::vector<size_t> found;
  for (size_t k = 0; k < extents.size(); ++k)
    if (!prover_.follows(extents[k] == 1))
      found.push_back(k);
  return found;
}

Exprs SymbolicOperators::resolved(const Place& place, const Exprs& extents) {
  bool is_same = place.shape.size() == extents.size();
  for (size_t k = 0; k < extents.size() && is_same; ++k)
    is_same = prover_.follows(place.shape[k] == extents[k]);
  if (is_same)
    return place.index;
  const auto real = real_dimensions(place.shape), mine = real_dimensions(extents);
  bool fits = real.size() == mine.size();
  for (size_t k = 0; k < real.size() && fits; ++k)
    fits = prover_.follows(place.shape[real[k]] == extents[mine[k]]);
  Exprs index(extents.size(), prover_.context().int_val(0));
  if (fits) {
    for (size_t k = 0; k < real.size(); ++k)
      index[mine[k]] = place.index[real[k]];
    return index;
  }
  // Another shape: the index is some function of the position.
  z3::expr position = prover_.context().int_val(0);
  for (size_t k = 0; k < place.index.size(); ++k)
    position = position * place.shape[k] + place.index[k];
  z3::sort_vector sorts(prover_.context());
  z3::expr_vector arguments(prover_.context());
  arguments.push_back(position.simplify());
  for (const z3::expr& extent : extents)
    arguments.push_back(extent);
  for (unsigned k = 0; k < arguments.size(); ++k)
    sorts.push_back(prover_.context().int_sort());
  for (size_t k = 0; k < extents.size(); ++k) {
    const std::string name = "index" + std::to_string(k);
    index[k] =
        prover_.context().function(name.c_str(), sorts, prover_.context().int_sort())(arguments);
  }
  return index;
}

SymbolicValue SymbolicOperators::element(const SymbolicTensor& tensor, const Exprs& index) {
  return tensor.at({index, tensor.extents});
}

SymbolicTensor SymbolicOperators::named(const SymbolicTensor& tensor) {
  const Exprs index = generic_index(tensor.extents);
  const SymbolicValue value = element(tensor, index);
  if (value.is_plain())
    return {tensor.extents, [this, tensor](const Place& place) {
              return prover_.value(prover_.expression(tensor.at(place)));
            }};
  std::vector<size_t> order(tensor.rank());
  for (const auto& [known, name] : names_) {
    if (known.rank() != tensor.rank())
      continue;
    std::iota(order.begin(), order.end(), size_t{0});
    do {
      Exprs moved;
      bool fits = true;
      for (size_t k = 0; k < order.size(); ++k) {
        moved.push_back(index[order[k]]);
        fits = fits && prover_.follows(known.extents[k] == tensor.extents[order[k]]);
      }
      if (!fits || !prover_.is_equal(value, element(known, moved)))
        continue;
      const SymbolicTensor found = name;
      const Exprs extents = tensor.extents;
      return {extents, [this, found, order, extents](const Place& place) {
                const Exprs at = resolved(place, extents);
                Exprs permuted;
                for (const size_t k : order)
                  permuted.push_back(at[k]);
                return element(found, permuted);
              }};
    } while (std::next_permutation(order.begin(), order.end()));
  }
  const SymbolicTensor name = unknown("fold" + std::to_string(names_.size()), tensor.extents);
  names_.push_back({tensor, name});
  return name;
}

Exprs SymbolicOperators::broadcast(const Exprs& a, const Exprs& b) {
  Exprs result;
  const size_t rank = std::max(a.size(), b.size());
  for (size_t k = 0; k < rank; ++k) {
    if (k + a.size() < rank || k + b.size() < rank) {
      result.push_back(k + a.size() < rank ? b[k + b.size() - rank] : a[k + a.size() - rank]);
      continue;
    }
    const z3::expr &x = a[k + a.size() - rank], &y = b[k + b.size() - rank];
    if (prover_.follows(x == y)) {
      result.push_back(x);
      continue;
    }
    // What was chosen for two extents stays: both sides of a rule mostly combine the same ones.
    const auto known = std::find_if(longer_.begin(), longer_.end(), [&](const auto& chosen) {
      return (z3::eq(chosen.first, x) && z3::eq(chosen.second, y)) ||
             (z3::eq(chosen.first, y) && z3::eq(chosen.second, x));
    });
    if (known != longer_.end()) {
      result.push_back(known->first);
      continue;
    }
    const size_t which = choose_(3);
    require(which == 0 ? x == y : which == 1 ? x == 1 && y != 1 : y == 1 && x != 1);
    result.push_back(which == 1 ? y : x);
    longer_.emplace_back(result.back(), which == 1 ? x : y);
  }
  return result;
}

SymbolicValue SymbolicOperators::broadcast_element(const SymbolicTensor& tensor,
                                                   const Exprs& index) {
  Exprs mine;
  const size_t missing = index.size() - tensor.rank();
  for (size_t k = 0; k < tensor.rank(); ++k)
    mine.push_back(prover_.follows(tensor.extents[k] == 1) ? prover_.context().int_val(0)
                                                           : index[k + missing]);
  return element(tensor, mine);
}

SymbolicTensor SymbolicOperators::unary(const std::string& op, const SymbolicAttributes& attributes,
                                        const SymbolicTensor& x) {
  if (op == "Neg")
    return {x.extents, [this, x](const Place& place) { return prover_.negate(x.at(place)); }};
  Exprs more;
  for (const auto& [name, attribute] : attributes)
    more.insert(more.end(), attribute.values.begin(), attribute.values.end());
  const auto applied = [this, op, more](const z3::expr& element) {
    Exprs arguments{element};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return prover_.apply(op == "Reciprocal" ? "inv" : op, arguments);
  };
  const SymbolicValue probe = element(x, generic_index(x.extents));
  // A function that never decreases may as well be applied before a maximum or minimum is taken.
  if (op == "Relu" && probe.monoid > Monoid::Product)
    return {x.extents, [this, x, applied](const Place& place) {
              SymbolicValue value = x.at(place);
              for (SymbolicTerm& term : value.terms)
                term.factors = {prover_.expression(applied(
                    prover_.expression({Monoid::Sum, {SymbolicTerm{{}, {}, term.factors, {}}}})))};
              return value;
            }};
  const SymbolicTensor plain = named(x);
  return {x.extents, [this, plain, applied](const Place& place) {
            return applied(prover_.expression(plain.at(place)));
          }};
}

SymbolicValue SymbolicOperators::times(const SymbolicTensor& a, const Exprs& i,
                                       const SymbolicTensor& b, const Exprs& j) {
  return prover_.multiply(broadcast_element(a, i), broadcast_element(b, j));
}

SymbolicTensor SymbolicOperators::binary(const std::string& op, const SymbolicTensor& x,
                                         const SymbolicTensor& y) {
  const Exprs extents = broadcast(x.extents, y.extents);
  const bool is_linear = op == "Add" || op == "Sub" || op == "Mul" || op == "Div";
  const bool is_rounded = prover_.arithmetic() == Arithmetic::Uninterpreted;
  const auto folded = [&](const SymbolicTensor& one) {
    return element(one, generic_index(one.extents)).monoid;
  };
  // max(max(x), max(y)) stays a maximum.
  const bool joins = op == "Max" && folded(x) == Monoid::Maximum && folded(y) == Monoid::Maximum;
  const bool keeps = (is_linear && !is_rounded) || joins;
  const SymbolicTensor a = keeps && folded(x) <= Monoid::Sum ? x : joins ? x : named(x);
  const SymbolicTensor b =
      op == "Div" || !keeps || (!joins && folded(y) > Monoid::Sum) ? named(y) : y;
  return {extents, [this, op, a, b, extents, joins](const Place& place) {
            const Exprs index = resolved(place, extents);
            SymbolicValue left = broadcast_element(a, index), right = broadcast_element(b, index);
            if (joins) {
              left.terms.insert(left.terms.end(), right.terms.begin(), right.terms.end());
              return left;
            }
            if (op == "Add")
              return prover_.add(left, right);
            if (op == "Sub") {
              const bool is_zero = right.is_plain() && prover_.expression(right).is_numeral() &&
                                   prover_.follows(prover_.expression(right) == 0);
              return is_zero ? left : prover_.add(left, prover_.negate(right));
            }
            if (op == "Mul")
              return prover_.multiply(left, right);
            if (op == "Div")
              return prover_.multiply(left, prover_.apply("inv", {prover_.expression(right)}));
            return prover_.apply(op, {prover_.expression(left), prover_.expression(right)});
          }};
}

SymbolicTensor SymbolicOperators::apply(const std::string& op, const SymbolicAttributes& attributes,
                                        std::vector<SymbolicTensor> operands) {
  const rewrite::OperatorInfo* info = rewrite::find_operator_info(op);
  switch (info->kind) {
  case rewrite::Kind::Unary:
    return unary(op, attributes, operands[0]);
  case rewrite::Kind::Binary:
    return binary(op, operands[0], operands[1]);
  case rewrite::Kind::Reduce:
    return reduce(op, attributes, operands[0]);
  case rewrite::Kind::Move:
    return move(op, attributes, operands);
  default:
    break;
  }
  if (op == "MatMul")
    return matmul(operands[0], operands[1]);
  if (op == "Conv")
    return conv(attributes, operands);
  if (op == "MaxPool")
    return max_pool(attributes, operands[0]);
  if (op == "Softmax")
    return softmax(as_number(values(attributes, "axis")[0]), operands[0]);
  if (op == "BatchNormalization")
    return batch_norm(attributes, operands);
  throw NoInstance{};
}

} // namespace kawara::rules
