#pragma once

#include "cpu/contestant.h"

namespace kawara::bench {

/// One element of the result in double precision, straight from the definition of the operation.
double expected_element(const Case&, const Operands&, int64_t element);

/// How far a result may be from the exact one, relative to the larger of the element and the root mean
/// square of the result.
double error_bound(const Case&);

struct Agreement {
  bool is_right = false;
  double error = 0; ///< the largest, measured as `error_bound` says; infinity for NaN
};

/// Compares each result with the definition at some elements, and with the other results everywhere: where
/// two differ, the definition says which of them is wrong. An empty result gives no agreement.
std::vector<Agreement> compare_results(const Case&, const Operands&,
                                       const std::vector<std::vector<float>>& results);

} // namespace kawara::bench
