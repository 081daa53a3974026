#pragma once

#include "scalar/expr.h"
#include "support/diagnostic.h"

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kawara::program {

using scalar::Expr;
using scalar::ReduceOp;

enum class Role : uint8_t { Input, Output, Inout, Temp };
std::string_view name_of(Role);

/// Which relaxations of floating-point order are allowed (docs/numerics.md).
///   Exact     same order of operations as the source, no contraction to fma
///   Rounding  reductions may be reassociated, a*b+c may be one fma; every store rounds  (default)
///   Fast      also approximate functions and dropped intermediate rounding
enum class Numerics : uint8_t { Exact, Rounding, Fast };
std::string_view name_of(Numerics);
std::optional<Numerics> numerics_from_name(std::string_view);

/// A size that is chosen when the program runs; a non-negative integer.
struct Param {
  std::string name;
  Span where;
  std::optional<int64_t> value = {}; ///< where none is given
};

/// Values from `lo` up to, but not including, `hi`; quasi-affine in the parameters.
struct ValueRange {
  Expr lo, hi;
};

struct Tensor {
  std::string name;
  Role role = Role::Temp;
  scalar::Elem elem = scalar::Elem::F32;
  std::vector<Expr> shape; ///< quasi-affine in the parameters; empty for a scalar
  Span where;
  bool is_hidden = false; ///< made by the front end (nested reductions, argmax), not declared
  /// Leading dimensions that count copies, one per iteration of the loops around (compute_at);
  /// their storage may be reused between iterations when lifetimes allow.
  uint32_t private_dims = 0;
  /// An input that keeps its values from call to call (`const`): what depends on such inputs alone
  /// is computed once.
  bool is_constant = false;
  /// Made by pack: its readers' loops are its writers' loops, and what partial tiles leave out may
  /// be filled with zeros.
  bool is_packed = false;
  /// From `assume idx in range(N)`: what elements hold where they are read as indices. Whoever
  /// calls answers for it.
  std::optional<ValueRange> values = {};
};

/// `for name in range(lo, hi)` whose bounds read data. It stands around one statement alone and
/// belongs to it: an instance of the statement is the whole loop, iteration by iteration, however
/// many the data say.
struct DataLoop {
  std::string name;
  Expr lo, hi; ///< i64
  Span where;
};

/// One assignment or update, executed once per iteration of its enclosing loops:
///   tensor[index] = value            op == None
///   tensor[index] op= value          otherwise; the old value is not part of `value`
/// Iter d inside `index` and `value` is the loop at depth d (outermost 0).
/// An index is quasi-affine, or it reads data: an i64 expression with loads in it, `Within` the
/// extent of its dimension unless that is assumed. Which element it is, only the run knows. `value`
/// has the compute type of the tensor's element type; the store casts it.
struct Statement {
  std::string name;               ///< S0, S1, ... in text order
  std::vector<std::string> iters; ///< names of the enclosing loops, outermost first
  uint32_t tensor = 0;
  std::vector<Expr> index;
  ReduceOp op = ReduceOp::None;
  Expr value;
  Span where;
  std::optional<DataLoop> over =
      {}; ///< its value is Iter d of `index` and `value`, d the number of `iters`
};

struct Loop;
struct If;
struct StatementRef {
  uint32_t statement;
};
using BodyNode = std::variant<Loop, If, StatementRef>;
using Body = std::vector<BodyNode>;

/// `for name in range(lo, hi, step)`: lo, lo+step, ... while < hi (step > 0) or > hi (step < 0).
/// `lo` and `hi` are quasi-affine in the parameters and the enclosing loops; step is never 0.
struct Loop {
  std::string name;
  Expr lo, hi;
  int64_t step = 1;
  Span where; ///< the `for ... :` header, or the index in a tensor expression
  Body body;
};

/// `cond` is a quasi-affine condition (Bool).
struct If {
  Expr cond;
  Span where;
  Body then, otherwise;
};

/// Statements over affine index ranges, in source order. All texts and APIs give this.
struct Program {
  SourcePtr source;
  std::vector<Param> params;
  std::vector<Tensor> tensors;
  std::vector<Expr> assumptions; ///< conditions on the parameters, from `assume`
  std::vector<Statement> statements;
  Body body;
  Numerics numerics = Numerics::Rounding;
};

/// Program from `.kw` text. All errors are collected; never throws on bad text.
Parsed<Program> parse(SourcePtr source);

/// `program` with parameter p fixed at values[p] where given; those become literals everywhere but
/// stay in `params`, so that numbering and signatures do not change, and are stated as assumptions.
Program specialise(const Program&, const std::vector<std::optional<int64_t>>& values);

/// Canonical loop text (tensor expressions appear as loops); `parse(print(p))` equals `p`.
std::string print(const Program&);

/// Invariants of the artefact; returns what is broken, empty when well formed.
std::vector<std::string> spec(const Program&);

/// Every expression of a statement: bounds of its DataLoop, indices, the value.
void visit_exprs(const Statement&, const std::function<void(const Expr&)>& f);
void map_exprs(Statement&, const std::function<Expr(const Expr&)>& f);
/// Whether which elements it touches, or how often, follows from data.
bool depends_on_data(const Statement&);
bool depends_on_data(const Program&);

scalar::Names names_of(const Program&, const Statement&);
scalar::Names names_of(const Program&); ///< params and tensors only

} // namespace kawara::program
