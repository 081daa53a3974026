#pragma once

#include "program/interpret/values.h"
#include "program/program.h"

namespace kawara::program {

/// Shape of each tensor of `program`, in its order, at the given parameter values.
/// Refuses a negative parameter (K0404), an assumption that does not hold (K0405), and a shape
/// that is negative or larger than any memory (K0406).
Result<std::vector<std::vector<int64_t>>, Diagnostic>
required_shapes(const Program& program, const std::vector<int64_t>& params);

/// Refuses an array that is for no input or inout (K0407), or of another number of dimensions
/// (K0402), before sizes are known.
Result<Done, Diagnostic> check_names(const Program& program, const Arrays& given);

/// NumPy has no bf16: an array of u16 that is given for such a tensor holds its bits.
void accept_raw_bits(const Program& program, Arrays& given);

/// One array per tensor, in the program's order: inputs and inouts moved out of `given`, the others
/// zeroed. Refuses what `required_shapes` refuses, an array that is missing (K0401), has another
/// shape (K0402) or element type (K0403), or belongs to no input or inout (K0407).
Result<std::vector<Array>, Diagnostic>
bind_arguments(const Program& program, const std::vector<int64_t>& params, Arrays given);

/// Outputs and inouts of `arrays` (in the program's order) by name.
Arrays results_of(const Program& program, std::vector<Array> arrays);

/// An array for every input and inout, filled by `fill_pattern` with seeds derived from `seed` and
/// the tensor's position.
Result<Arrays, Diagnostic> pattern_inputs(const Program& program,
                                          const std::vector<int64_t>& params, uint64_t seed);

/// "N = 4, M = 7"; "no parameters" when there are none.
std::string params_text(const Program& program, const std::vector<int64_t>& params);

} // namespace kawara::program
