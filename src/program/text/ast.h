#pragma once

#include "program/program.h"

namespace kawara::program::ast {

// What the parser saw, before names and types are looked up. Names point into the source.
//
//   expr = Integer | Real | Name | Index name[args] | Call name(args) | Negate | Not
//        | Binary | Compare a < b <= c | Choice args[1] if args[0] else args[2]
//        | Tuple (a, b) | Binder name in range(args) | Bad
//
// Bad stands where an error was reported already; whoever meets it stays silent.

enum class Kind : uint8_t {
  Bad,
  Integer,
  Real,
  Name,
  Index,
  Call,
  Negate,
  Not,
  Binary,
  Compare,
  Choice,
  Tuple,
  Binder
};

struct Expr {
  Kind kind = Kind::Bad;
  Span where;
  std::string_view name;
  Span name_where;
  uint64_t integer = 0;
  double real = 0;
  scalar::BinaryOp op = scalar::BinaryOp::Add;
  std::vector<scalar::BinaryOp> compares; ///< between neighbouring args
  std::vector<Expr> args;
  uint32_t height = 1;

  bool is_bad() const { return kind == Kind::Bad; }
};

enum class StatementKind : uint8_t { For, If, Assign, Let };

struct Statement {
  StatementKind kind = StatementKind::Assign;
  Span where; ///< the header of a block, or the whole assignment
  // For, Let
  std::string_view name;
  Span name_where;
  Expr range; ///< Call of `range`, or Bad
  // If
  Expr cond;
  // For, If
  std::vector<Statement> body, otherwise;
  // Assign; Let has the value alone
  Expr target; ///< Name, Index or Bad
  ReduceOp op = ReduceOp::None;
  bool is_minus = false; ///< `-=`
  Expr value;
};

struct ParamDecl {
  std::string_view name;
  Span where;
  std::optional<Expr> value; ///< the size where none is given
};

struct TensorDecl {
  Role role = Role::Temp;
  bool is_constant = false; ///< declared `const`: an input that keeps its values
  std::string_view name;
  Span where;
  std::string_view elem;
  Span elem_where;
  std::vector<Expr> shape;
  bool is_bad = false; ///< the declaration was not understood; the name is known
};

/// `def name(parameters): result`, with `let` lines before the result.
struct FunctionDecl {
  struct Parameter {
    std::string_view name;
    Span where;
  };
  std::string_view name;
  Span where;
  std::vector<Parameter> parameters;
  std::vector<Statement> lets;
  Expr result;
  bool is_whole = true; ///< no line of it was misunderstood
};

struct NumericsDecl {
  std::string_view name;
  Span where;
};

struct File {
  std::vector<ParamDecl> params;
  std::vector<TensorDecl> tensors;
  std::vector<Expr> assumptions;
  std::vector<NumericsDecl> numerics;
  std::vector<FunctionDecl> functions;
  std::vector<Statement> body;
};

} // namespace kawara::program::ast
