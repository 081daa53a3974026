#pragma once

#include "poly/scop.h"

#include <set>
#include <vector>

namespace kawara::poly {

/// { source[x] -> sink[y] : y reads what x wrote, and nothing has overwritten it in between }, in
/// the source order.
struct ValueFlow {
  StmtId source, sink;
  isl::map pairs;
};

/// How values travel through a tensor: exact, by the last write before each read. By source, then
/// sink.
std::vector<ValueFlow> value_flows(const Scop&, uint32_t tensor);

/// `after` has the statements of `before`, in the same order and with as many accesses each, some
/// of which go to other elements of the named tensors; of these, `copies` assign there an element
/// to itself. Whether every read still finds the value that the same iteration wrote, and every
/// element that a caller sees has its last value from the same iteration: a copy's value is from
/// where the copy has it.
bool have_same_values(const Scop& before, const Scop& after, const std::set<uint32_t>& tensors,
                      const std::set<StmtId>& copies);

} // namespace kawara::poly
