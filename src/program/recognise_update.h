#pragma once

#include "program/program.h"

#include <vector>

namespace kawara::program {

/// `t[i] = t[i] op x` becomes `t[i] op= x` when x does not read that element; and the reverse when
/// an update's value does read the element it updates.
void recognise_update(const std::vector<Tensor>&, Statement&);

} // namespace kawara::program
