#pragma once

#include "oracle/enumerate.h"
#include "program/interpret/values.h"

namespace kawara::oracle {

/// What each instance touches when they run one after the other: indices that are read from data
/// are what they are there. Instances are `in_order`; temps start as zeros. Throws InternalError
/// where an element lies outside of its tensor.
std::vector<std::vector<Touch>> recorded_touches(const std::vector<Instance>& in_order,
                                                 const std::vector<program::Statement>&,
                                                 const std::vector<program::Tensor>&,
                                                 const std::vector<int64_t>& params,
                                                 const program::Arrays& inputs);

} // namespace kawara::oracle
