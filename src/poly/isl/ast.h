#pragma once

#include <isl/cpp.h>

#include <cstdint>
#include <string>
#include <vector>

// What generating loops needs of isl and its C++ export lacks.

namespace kawara::poly {

/// `first` and then `second`.
isl::schedule in_sequence(const isl::schedule& first, const isl::schedule& second);
/// A band with these rows around everything.
isl::schedule with_outer_band(const isl::schedule&, const isl::multi_union_pw_aff& rows);

/// Loops at depth d get the name names[d].
isl::ast_build with_iterators(const isl::ast_build&, const std::vector<std::string>& names);

/// The loops of a schedule. isl puts statements into loops of their own where all they do is done
/// before (or after) what the others do, even in the one iteration that they share; with
/// `keeps_iterations` an iteration is never torn like that.
isl::ast_node loops_of(const isl::ast_build&, const isl::schedule&, bool keeps_iterations);

/// How often statements stand in the loops.
size_t places_of_statements(const isl::ast_node&);

/// Operators of AST expressions. isl's divisions and remainders are the same here: it picks the
/// special ones only where they agree with rounding towards minus infinity.
enum class AstOp : uint8_t {
  And,
  Or,
  Max,
  Min,
  Minus,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Select,
  Eq,
  Le,
  Lt,
  Ge,
  Gt,
  Other
};
AstOp operator_of(const isl::ast_expr&);

} // namespace kawara::poly
