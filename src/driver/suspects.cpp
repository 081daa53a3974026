#include "driver/suspects.h"

#include "scalar/expr.h"
#include "scalar/type.h"
#include "support/text.h"

#include <algorithm>
#include <functional>

namespace kawara::driver {
namespace {

using program::Statement;

/// Whether a node of the statement is such, in its value, its indices or the bounds that it reads.
bool has_node(const Statement& statement, const std::function<bool(const scalar::Expr&)>& is) {
  bool found = false;
  const auto look = [&](const scalar::Expr& e) { found = found || is(e); };
  scalar::visit(statement.value, look);
  for (const scalar::Expr& index : statement.index)
    scalar::visit(index, look);
  if (statement.over) {
    scalar::visit(statement.over->lo, look);
    scalar::visit(statement.over->hi, look);
  }
  return found;
}

bool may_divide_by_zero(const scalar::Expr& e) {
  const auto* binary = scalar::as<scalar::Binary>(e);
  return binary && !scalar::is_float(e.type().elem) &&
         (binary->op == scalar::BinaryOp::FloorDiv || binary->op == scalar::BinaryOp::Mod) &&
         scalar::constant_of(binary->rhs).value_or(0) == 0;
}

bool is_checked_index(const scalar::Expr& e) { return scalar::as<scalar::Within>(e) != nullptr; }

/// Points at the first statement that has such a node; the names of all.
std::vector<std::string> point_at(Diagnostic& d, const SourcePtr& source,
                                  const std::vector<Statement>& statements,
                                  bool (*is)(const scalar::Expr&)) {
  std::vector<std::string> names;
  for (const Statement& statement : statements) {
    if (!has_node(statement, is))
      continue;
    if (names.empty()) {
      d.source = source;
      d.where = statement.where;
      d.label = statement.name;
    }
    names.push_back(statement.name);
  }
  if (names.size() > 1)
    d.label += " may have done it";
  return names;
}

} // namespace

Diagnostic with_divisions(Diagnostic d, const program::Program& program) {
  const std::vector<std::string> names =
      point_at(d, program.source, program.statements, may_divide_by_zero);
  if (names.size() > 1)
    d.body.push_back("Statements that divide integers: " + join(names, ", ") + ".");
  d.help.push_back({"to see at which iteration", "kawara run --check", false});
  return d;
}

Diagnostic with_place(Diagnostic d, const program::Program& program) {
  for (const Statement& statement : program.statements)
    if (statement.name == d.label) {
      d.source = program.source;
      d.where = statement.where;
    }
  return d;
}

Diagnostic with_data_indices(Diagnostic d, const poly::Scop& scop) {
  std::vector<Statement> statements;
  for (const poly::ScopStatement& statement : scop.statements)
    if (!statement.is_removed)
      statements.push_back(statement.text);
  const std::vector<std::string> names = point_at(d, scop.source, statements, is_checked_index);
  if (names.empty())
    return d;
  d.body.push_back("A launch ends where an index that was read is outside of its tensor. "
                   "Statements that read indices: " +
                   join(names, ", ") + ".");
  d.help.push_back({"to see which index", "kawara run --check", false});
  return d;
}

} // namespace kawara::driver
