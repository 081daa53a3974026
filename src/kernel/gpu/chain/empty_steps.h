#pragma once

#include "kernel/gpu/chain/chain_form.h"

namespace kawara::kernel {

/// Whether a step can run for rows that have no columns in it: causal attention, where the last
/// keys of a tile are those of its last rows.
///
///   for i in range(max(0, first), 128):  ...     becomes   for i in range(0, 128):  ...
///
/// `form` has been read with rows from 0 on. Rows below `first` have empty ranges of columns, so
/// that combinations along them add nothing; what is done once for a row (a rescaling by exp(old -
/// new)) must give back the value that was there. `kept` are buffers that live longer than a step.
/// Elements that are multiplied with zeros count as finite, so the program must have `numerics
/// fast`.
bool keeps_rows_without_columns(const ChainForm& form, const Expr& first,
                                const std::set<uint32_t>& kept);

} // namespace kawara::kernel
