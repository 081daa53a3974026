#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// A unit more or less in what this node is given can be seen as a whole step in what it gives.
bool is_discontinuous(const Expr&);

/// Constants over constants, and divisors that are powers of two, which compilers turn into
/// products themselves.
bool is_cheap_quotient(const scalar::Binary& quotient, const Expr& divisor);

/// Whether a reciprocal of these sizes (the smallest and the largest of several) has all its
/// digits.
Expr is_normal_and_finite(const Expr& smallest, const Expr& largest);

} // namespace kawara::kernel
