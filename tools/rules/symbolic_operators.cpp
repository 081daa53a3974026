#include "rules/symbolic_tensor.h"

#include <algorithm>

namespace kawara::rules {
namespace {

const Exprs& list(const SymbolicAttributes& attributes, const char* name) {
  return attributes.at(name).values;
}

} // namespace

SymbolicTensor SymbolicOperators::move(const std::string& op, const SymbolicAttributes& attributes,
                                       const std::vector<SymbolicTensor>& operands) {
  const SymbolicTensor x = operands[0];
  if (op == "Concat")
    return concat(as_number(list(attributes, "axis")[0]), operands);
  if (op == "Reshape") {
    const Exprs shape = list(attributes, "shape");
    return {shape, [x](const Place& place) { return x.at(place); }};
  }
  if (op == "Expand") {
    const Exprs shape = list(attributes, "shape");
    if (shape.size() < x.rank())
      throw NoInstance{};
    for (size_t k = 0; k < x.rank(); ++k) {
      const z3::expr &from = x.extents[k], &to = shape[k + shape.size() - x.rank()];
      if (!prover_.follows(from == to))
        require(choose_(2) == 0 ? from == to : from == 1 && to != 1);
    }
    return {shape, [this, x, shape](const Place& place) {
              return broadcast_element(x, resolved(place, shape));
            }};
  }
  if (op == "Transpose") {
    std::vector<size_t> perm;
    Exprs extents;
    for (const z3::expr& axis : list(attributes, "perm"))
      perm.push_back(as_number(axis));
    if (perm.size() != x.rank())
      throw NoInstance{};
    for (const size_t axis : perm)
      extents.push_back(x.extents[axis]);
    return {extents, [this, x, perm, extents](const Place& place) {
              const Exprs at = resolved(place, extents);
              Exprs index = at;
              for (size_t k = 0; k < perm.size(); ++k)
                index[perm[k]] = at[k];
              return element(x, index);
            }};
  }
  const Exprs starts = list(attributes, "starts"), counts = list(attributes, "counts"),
              steps = list(attributes, "steps");
  if (starts.size() != x.rank() || counts.size() != x.rank() || steps.size() != x.rank())
    throw NoInstance{};
  for (size_t k = 0; k < x.rank(); ++k)
    require(starts[k] >= 0 && counts[k] >= 1 && steps[k] >= 1 &&
            starts[k] + (counts[k] - 1) * steps[k] < x.extents[k]);
  return {counts, [this, x, starts, counts, steps](const Place& place) {
            Exprs index = resolved(place, counts);
            for (size_t k = 0; k < index.size(); ++k)
              index[k] = (starts[k] + index[k] * steps[k]).simplify();
            return element(x, index);
          }};
}

SymbolicTensor SymbolicOperators::concat(size_t axis, const std::vector<SymbolicTensor>& operands) {
  Exprs extents = operands[0].extents, begins{prover_.context().int_val(0)};
  if (axis >= extents.size())
    throw NoInstance{};
  for (const SymbolicTensor& operand : operands) {
    if (operand.rank() != extents.size())
      throw NoInstance{};
    for (size_t k = 0; k < extents.size(); ++k)
      if (k != axis)
        require(operand.extents[k] == extents[k]);
    begins.push_back((begins.back() + operand.extents[axis]).simplify());
  }
  extents[axis] = begins.back();
  std::vector<SymbolicTensor> parts;
  for (const SymbolicTensor& operand : operands) {
    const auto monoid = element(operand, generic_index(operand.extents)).monoid;
    parts.push_back(monoid == Monoid::Sum ? operand : named(operand));
  }
  return {extents, [this, parts, begins, axis, extents](const Place& place) {
            const Exprs index = resolved(place, extents);
            SymbolicValue all;
            for (size_t k = 0; k < parts.size(); ++k) {
              Exprs inner = index;
              inner[axis] = (index[axis] - begins[k]).simplify();
              Guard guard;
              guard.index = index[axis];
              if (k > 0)
                guard.lower = begins[k];
              if (k + 1 < parts.size())
                guard.upper = begins[k + 1];
              const SymbolicValue mine = Prover::guarded(element(parts[k], inner), guard);
              all.terms.insert(all.terms.end(), mine.terms.begin(), mine.terms.end());
            }
            return all;
          }};
}

SymbolicTensor SymbolicOperators::reduce(const std::string& op,
                                         const SymbolicAttributes& attributes,
                                         const SymbolicTensor& given) {
  const Monoid monoid = op == "ReduceMax"    ? Monoid::Maximum
                        : op == "ReduceMin"  ? Monoid::Minimum
                        : op == "ReduceProd" ? Monoid::Product
                                             : Monoid::Sum;
  const bool keeps = as_number(list(attributes, "keepdims")[0]) != 0;
  std::vector<bool> is_reduced(given.rank(), false);
  for (const z3::expr& axis : list(attributes, "axes")) {
    const size_t at = as_number(axis);
    if (at >= given.rank())
      throw NoInstance{};
    is_reduced[at] = true;
  }
  Exprs extents;
  for (size_t k = 0; k < given.rank(); ++k)
    if (!is_reduced[k] || keeps)
      extents.push_back(is_reduced[k] ? prover_.context().int_val(1) : given.extents[k]);
  const SymbolicValue probe = element(given, generic_index(given.extents));
  // Folds of the same kind are one; another one inside is a value of its own.
  const bool nests = probe.monoid == monoid &&
                     (prover_.arithmetic() == Arithmetic::Real || monoid > Monoid::Product);
  const SymbolicTensor x = probe.is_plain() || nests ? given : named(given);
  return {extents, [this, op, monoid, x, is_reduced, keeps, extents](const Place& place) {
            const Exprs at = resolved(place, extents);
            Exprs index;
            size_t next = 0;
            for (size_t k = 0; k < x.rank(); ++k) {
              index.push_back(is_reduced[k] ? prover_.fresh_integer("k") : at[next]);
              next += !is_reduced[k] || keeps;
            }
            SymbolicValue value = element(x, index);
            std::vector<SymbolicTerm::Bound> over;
            for (size_t k = 0; k < x.rank(); ++k)
              if (is_reduced[k])
                over.push_back({index[k], x.extents[k]});
            value = prover_.fold(monoid, over, std::move(value));
            for (size_t k = 0; op == "ReduceMean" && k < x.rank(); ++k)
              if (is_reduced[k])
                for (SymbolicTerm& term : value.terms)
                  term.factors.push_back(
                      prover_.expression(prover_.apply("inv", {z3::to_real(x.extents[k])})));
            return value;
          }};
}

SymbolicTensor SymbolicOperators::matmul(const SymbolicTensor& a, const SymbolicTensor& b) {
  if (a.rank() < 2 || b.rank() < 2)
    throw NoInstance{};
  require(a.extents.back() == b.extents[b.rank() - 2]);
  Exprs extents = broadcast(Exprs(a.extents.begin(), a.extents.end() - 2),
                            Exprs(b.extents.begin(), b.extents.end() - 2));
  extents.push_back(a.extents[a.rank() - 2]);
  extents.push_back(b.extents.back());
  const bool is_real = prover_.arithmetic() == Arithmetic::Real;
  const SymbolicTensor x = is_real ? a : named(a), y = is_real ? b : named(b);
  return {extents, [this, x, y, extents](const Place& place) {
            const Exprs index = resolved(place, extents);
            const z3::expr k = prover_.fresh_integer("k");
            const size_t rank = index.size();
            const auto side = [&](const SymbolicTensor& t, const z3::expr& row,
                                  const z3::expr& column) {
              Exprs mine;
              for (size_t d = 0; d + 2 < t.rank(); ++d)
                mine.push_back(prover_.follows(t.extents[d] == 1) ? prover_.context().int_val(0)
                                                                  : index[rank - t.rank() + d]);
              mine.push_back(row);
              mine.push_back(column);
              return element(t, mine);
            };
            return prover_.fold(
                Monoid::Sum, {{k, x.extents.back()}},
                prover_.multiply(side(x, index[rank - 2], k), side(y, k, index[rank - 1])));
          }};
}

SymbolicTensor SymbolicOperators::conv(const SymbolicAttributes& attributes,
                                       const std::vector<SymbolicTensor>& operands) {
  const Exprs strides = list(attributes, "strides"), dilations = list(attributes, "dilations"),
              pads = list(attributes, "pads");
  const size_t group = as_number(list(attributes, "group")[0]);
  const bool is_real = prover_.arithmetic() == Arithmetic::Real;
  const SymbolicTensor x = is_real ? operands[0] : named(operands[0]),
                       w = is_real ? operands[1] : named(operands[1]);
  const size_t spatial = strides.size();
  if (x.rank() != spatial + 2 || w.rank() != spatial + 2 || group > 2)
    throw NoInstance{};
  require(x.extents[1] == w.extents[1] * static_cast<int>(group));
  const z3::expr half = prover_.fresh_integer("half"); // output channels of a group
  require(w.extents[0] == half * static_cast<int>(group));
  Exprs extents{x.extents[0], w.extents[0]};
  std::string windows;
  for (size_t d = 0; d < spatial; ++d) {
    // How many windows fit is a function of these numbers; which one does not matter.
    const Exprs of{x.extents[d + 2], w.extents[d + 2], strides[d],
                   dilations[d],     pads[d],          pads[d + spatial]};
    z3::sort_vector sorts(prover_.context());
    z3::expr_vector arguments(prover_.context());
    for (const z3::expr& one : of) {
      sorts.push_back(prover_.context().int_sort());
      arguments.push_back(one);
    }
    extents.push_back(
        prover_.context().function("windows", sorts, prover_.context().int_sort())(arguments));
    prover_.assume(extents.back() >= 1);
  }
  const bool has_bias = operands.size() == 3;
  const SymbolicTensor bias = has_bias ? named(operands[2]) : x;
  if (has_bias) {
    if (bias.rank() != 1)
      throw NoInstance{};
    require(bias.extents[0] == w.extents[0]);
  }
  const auto sum = [=, this](const Place& place) {
    const Exprs index = resolved(place, extents);
    const z3::expr channel = prover_.fresh_integer("k");
    Exprs from{index[0], channel}, weight{index[1], channel}, taps;
    if (group == 2)
      from[1] = z3::ite(index[1] < half, channel, channel + w.extents[1]);
    Guard inside;
    inside.other = prover_.context().bool_val(true);
    for (size_t d = 0; d < spatial; ++d) {
      taps.push_back(prover_.fresh_integer("k"));
      weight.push_back(taps.back());
      from.push_back(index[d + 2] * strides[d] + taps.back() * dilations[d] - pads[d]);
      inside.other = *inside.other && from.back() >= 0 && from.back() < x.extents[d + 2];
    }
    SymbolicValue value =
        Prover::guarded(prover_.multiply(element(x, from), element(w, weight)), inside);
    std::vector<SymbolicTerm::Bound> over{{channel, w.extents[1]}};
    for (size_t d = 0; d < spatial; ++d)
      over.push_back({taps[d], w.extents[d + 2]});
    return prover_.fold(Monoid::Sum, over, std::move(value));
  };
  if (!has_bias)
    return {extents, sum};
  return {extents, [this, sum, bias, extents, is_real](const Place& place) {
            SymbolicValue value = sum(place);
            const SymbolicValue more = element(bias, {resolved(place, extents)[1]});
            if (is_real)
              return prover_.add(value, more);
            for (SymbolicTerm& term : value.terms)
              term.after.push_back(prover_.expression(more));
            return value;
          }};
}

SymbolicTensor SymbolicOperators::max_pool(const SymbolicAttributes& attributes,
                                           const SymbolicTensor& given) {
  const Exprs strides = list(attributes, "strides"), dilations = list(attributes, "dilations"),
              pads = list(attributes, "pads"), kernel = list(attributes, "kernel_shape");
  const SymbolicTensor x = named(given);
  if (x.rank() != kernel.size() + 2)
    throw NoInstance{};
  Exprs extents{x.extents[0], x.extents[1]};
  for (size_t d = 0; d < kernel.size(); ++d) {
    extents.push_back(prover_.context().int_const(("windows" + std::to_string(d)).c_str()));
    prover_.assume(extents.back() >= 1);
  }
  return {extents, [=, this](const Place& place) {
            Exprs from = resolved(place, extents), taps;
            Guard inside;
            inside.other = prover_.context().bool_val(true);
            for (size_t d = 0; d < kernel.size(); ++d) {
              taps.push_back(prover_.fresh_integer("k"));
              from[d + 2] = from[d + 2] * strides[d] + taps.back() * dilations[d] - pads[d];
              inside.other = *inside.other && from[d + 2] >= 0 && from[d + 2] < x.extents[d + 2];
            }
            SymbolicValue value = Prover::guarded(element(x, from), inside);
            std::vector<SymbolicTerm::Bound> over;
            for (size_t d = 0; d < kernel.size(); ++d)
              over.push_back({taps[d], kernel[d]});
            return prover_.fold(Monoid::Maximum, over, std::move(value));
          }};
}

SymbolicTensor SymbolicOperators::softmax(size_t axis, const SymbolicTensor& x) {
  if (axis >= x.rank())
    throw NoInstance{};
  const auto at = [&](size_t k) { return prover_.context().int_val(static_cast<int>(k)); };
  const SymbolicTensor powers = unary("Exp", {}, x);
  const SymbolicTensor total = reduce("ReduceSum",
                                      {{"axes", {SymbolicAttribute::Kind::List, {at(axis)}}},
                                       {"keepdims", {SymbolicAttribute::Kind::Integer, {at(1)}}}},
                                      powers);
  return binary("Div", powers, total);
}

SymbolicTensor SymbolicOperators::batch_norm(const SymbolicAttributes& attributes,
                                             const std::vector<SymbolicTensor>& operands) {
  const SymbolicTensor x = operands[0];
  if (x.rank() < 2)
    throw NoInstance{};
  for (size_t k = 1; k < operands.size(); ++k) {
    if (operands[k].rank() != 1)
      throw NoInstance{};
    require(operands[k].extents[0] == x.extents[1]);
  }
  const z3::expr epsilon = list(attributes, "epsilon")[0];
  return {x.extents, [this, operands, x, epsilon](const Place& place) {
            const Exprs index = resolved(place, x.extents);
            const auto of = [&](size_t k) { return element(operands[k], {index[1]}); };
            const z3::expr variance =
                prover_.expression(prover_.add(of(4), prover_.value(epsilon)));
            const z3::expr root = prover_.expression(prover_.apply("Sqrt", {variance}));
            const SymbolicValue scale = prover_.multiply(of(1), prover_.apply("inv", {root}));
            const SymbolicValue centred = prover_.add(element(x, index), prover_.negate(of(3)));
            return prover_.add(prover_.multiply(centred, scale), of(2));
          }};
}

} // namespace kawara::rules
