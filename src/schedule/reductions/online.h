#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run reductions that need the result of an earlier one in the same loop as it: `online(S1.k,
/// S3.j)`.
///
///   before   for k:  m max= s[k]                                   # S1
///            l = 0                                                 # S2
///            for j:  l += exp(s[j] - m)                            # S3
///   after    l = 0                                                 # S2
///            for k:  m_old = max(m, lowest)                        # S4
///                    m max= s[k]                                   # S1
///                    m_now = max(m, lowest)                        # S5
///                    m_factor = exp(m_old - m_now)                 # S6
///                    l *= m_factor                                 # S7
///                    l += exp(s[k] - m_now)                        # S3
///            l += select(m < lowest, nan, 0)                       # S8
///
/// The sum goes on with the running maximum, and is corrected whenever that moves. With tile loops
/// (`online(S1.k.0, S3.j.0)`) the correction happens once a tile. Factors that do not change along
/// the loop, such as `/ l`, wait until it ends. Temps between the reductions move along. `lowest`
/// is the lowest finite number, so that tiles of -inf do no harm; S8 restores the NaN of the source
/// where every s is -inf. The order so far counts as the source from here on; what `online` adds
/// and fuses is judged against it. On a CPU exponents that are never positive in f32 say so,
/// `exp(nan_min(0, s[k] - m_now))`: such an exponential is cheaper.
///
/// Needs    loops that follow each other inside the same loops; sums whose terms are products of
///          factors `exp(b * (e - m))`, with m the maximum or minimum over e, of factors made of
///          finished reductions and of factors that depend on neither (b: a number or a scalar
///          input); sums that start from 0; temps on the way that nothing else reads.
/// Legal    where reductions may be reassociated, and when every other dependence between the loops
///          stays within one iteration or goes forward.
/// Refuses  `numerics exact` (K0227), a term that obeys no such law (K0241, with the part in the
///          way), loops where nothing is needed or the order so far is not legal (K0240), loops
///          that do not stand inside the same loops (K0214), one loop twice (K0220), a vector,
///          unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const Online&, const Environment&);

} // namespace kawara::schedule
