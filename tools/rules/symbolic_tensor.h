#pragma once

#include "rules/symbolic_value.h"

#include <functional>
#include <map>
#include <memory>
#include <variant>

namespace kawara::rules {

using Exprs = std::vector<z3::expr>;

/// An element by its position in a row-major array of some shape; an array of another shape with as
/// many elements has it at another index.
struct Place {
  Exprs index, shape;
};

/// A tensor whose extents and elements are symbols.
struct SymbolicTensor {
  Exprs extents;
  std::function<SymbolicValue(const Place&)> at;
  size_t rank() const { return extents.size(); }
};

/// Attributes of a proof: integers and lists may be symbols, numbers are reals.
struct SymbolicAttribute {
  enum class Kind : uint8_t { Integer, List, Real };
  Kind kind = Kind::Integer;
  Exprs values; ///< one unless it is a list
};
using SymbolicAttributes = std::map<std::string, SymbolicAttribute>;

/// Thrown where an instance of a rule does not exist: shapes that do not fit.
struct NoInstance {};

/// Tries one of several cases; a proof runs over all of them.
using Chooser = std::function<size_t(size_t count)>;

/// The meaning of the operators of rules (graph/rewrite/term.h), element by element, for symbolic
/// extents.
class SymbolicOperators {
public:
  SymbolicOperators(Prover& prover, Chooser choose) : prover_(prover), choose_(std::move(choose)) {}

  /// A tensor of which nothing is known.
  SymbolicTensor unknown(const std::string& name, const Exprs& extents);
  SymbolicTensor number(const z3::expr& value);
  /// Throws NoInstance where the operands do not fit.
  SymbolicTensor apply(const std::string& op, const SymbolicAttributes&,
                       std::vector<SymbolicTensor> operands);
  Exprs generic_index(const Exprs& extents); ///< fresh indices inside the extents, assumed to be so

private:
  std::vector<size_t> real_dimensions(const Exprs& extents); ///< those that are not known to be 1
  /// The index of a place in a tensor of these extents.
  Exprs resolved(const Place&, const Exprs& extents);
  SymbolicValue element(const SymbolicTensor&, const Exprs& index);
  /// The same tensor with elements that are single expressions: folds get a name, equal ones the
  /// same.
  SymbolicTensor named(const SymbolicTensor&);
  Exprs broadcast(const Exprs&, const Exprs&);
  SymbolicValue broadcast_element(const SymbolicTensor&, const Exprs& index);
  SymbolicTensor unary(const std::string& op, const SymbolicAttributes&, const SymbolicTensor&);
  SymbolicTensor binary(const std::string& op, const SymbolicTensor&, const SymbolicTensor&);
  SymbolicTensor reduce(const std::string& op, const SymbolicAttributes&, const SymbolicTensor&);
  SymbolicTensor move(const std::string& op, const SymbolicAttributes&,
                      const std::vector<SymbolicTensor>&);
  SymbolicTensor concat(size_t axis, const std::vector<SymbolicTensor>&);
  SymbolicTensor matmul(const SymbolicTensor&, const SymbolicTensor&);
  SymbolicTensor conv(const SymbolicAttributes&, const std::vector<SymbolicTensor>&);
  SymbolicTensor max_pool(const SymbolicAttributes&, const SymbolicTensor&);
  SymbolicTensor softmax(size_t axis, const SymbolicTensor&);
  SymbolicTensor batch_norm(const SymbolicAttributes&, const std::vector<SymbolicTensor>&);
  SymbolicValue times(const SymbolicTensor& a, const Exprs& i, const SymbolicTensor& b,
                      const Exprs& j);
  void require(const z3::expr& fact);

  Prover& prover_;
  Chooser choose_;
  /// Extents broadcast together, the result's first.
  std::vector<std::pair<z3::expr, z3::expr>> longer_;
  /// Folds that have a name, as tensors of unknown elements.
  std::vector<std::pair<SymbolicTensor, SymbolicTensor>> names_;
};

/// A numeral as a number; throws NoInstance for a symbol.
size_t as_number(const z3::expr&);

} // namespace kawara::rules
