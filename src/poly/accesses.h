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

/// Some index of one tensor has one value here and another there, as text shows it: no element is
/// the same.
bool are_apart(const Access&, const Access&);

/// The relation of an access.
isl::map relation_of(const Scop&, const Access&);

} // namespace kawara::poly
