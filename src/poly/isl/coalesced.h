#pragma once

#include <isl/cpp.h>

namespace kawara::poly {

// The same points, or the same function, in fewer pieces.
//
// What isl joins is compared with what it was: isl 0.25 makes `{ 0 <= x <= 7 }` of `{ 0 <= x <= 1
// }` and
// `{ x = 2 e and 0 <= e <= 3 }`, and a copy over such a set would leave the tensor. Its own
// `coalesce` is called here only.
isl::set coalesced(const isl::set&);
isl::map coalesced(const isl::map&);
isl::pw_aff coalesced(const isl::pw_aff&);

/// Whether isl would make more points of the set, as it does on its own while it makes loops.
bool is_joined_wrongly(const isl::set&);

} // namespace kawara::poly
