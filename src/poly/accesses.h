#pragma once

#include "poly/scop.h"

namespace kawara::poly {

/// As `accesses`, of one tensor alone.
std::vector<Access> accesses_of(const Scop&, uint32_t tensor);
/// The same, all relations empty.
std::vector<Access> bare_accesses_of(const Scop&, uint32_t tensor);

/// As `accesses`, all relations empty: most questions about them need none, and each is an integer
/// map.
std::vector<Access> bare_accesses(const Scop&);

/// An index of a statement that says which element it is: it reads no data, nor the loop over a
/// range that does.
bool is_known_index(const Expr&, const program::Statement&);

/// Of a pair whose source comes first.
DependenceKind kind_of(const Access& source, const Access& sink);
/// Both accesses are halves of updates with one operator: they commute where reassociation is
/// allowed.
bool commute(const Scop&, const Access&, const Access&);

/// The relation of an access.
isl::map relation_of(const Scop&, const Access&);

} // namespace kawara::poly
