#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Keep the values of a temp in the elements of the tensor that is made of them: `store_in(s, C)`.
///
///   before   for i: { s[i;] = 0;  for k: s[i;] += A[i, k];  C[i] = s[i;] / N }
///   after    for i: { C[i] = 0;   for k: C[i] += A[i, k];   C[i] = C[i] / N }
///
/// A statement that reads s and writes C says which element of C each element of s is. All that
/// reads or writes s uses these elements; what then assigns an element to itself (`C[i] = s`) goes
/// away. A product that is added up in a scalar becomes one that is added up in its result.
///
/// Needs    a temp and a tensor of the same type, no input; a statement that reads the one and
///          writes the other, in which the index of the temp tells the iteration: of a scalar,
///          after `store_at(s, i)`.
/// Legal    when every read finds the value that it found before, and every element that the caller
///          sees has the same last value: nothing else uses the element of C as long as s has a
///          value in it (exact flow, in the source order).
/// Refuses  an unknown tensor (K0208), everything else (K0237).
Proposed propose(const Schedule&, const StoreIn&, const Environment&);

} // namespace kawara::schedule
