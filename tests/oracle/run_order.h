#pragma once

#include "oracle/brute_judge.h"
#include "poly/scop.h"
#include "program/interpret/values.h"

namespace kawara::oracle {

/// Executes every instance of `run` in the order that `order` says, with nothing but scalar
/// evaluation: iterations of parallel loops in an order shuffled by `seed`, `width` iterations of a
/// vector loop at once, statement by statement, all lanes reading before any writes.
///
/// `scop` gives the tensors (its temps start with arbitrary contents), `inputs` the inputs and
/// inouts by name. Returns outputs and inouts by name. Throws InternalError when an element outside
/// its tensor is touched.
program::Arrays run_order(const Run& run, const poly::Scop& scop, const poly::Order& order,
                          const program::Arrays& inputs, uint64_t seed);

/// Largest magnitude that any element ever holds when `run` is executed in the source order.
double largest_element(const Run& run, const poly::Scop& scop, const program::Arrays& inputs);

} // namespace kawara::oracle
