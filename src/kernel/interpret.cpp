#include "kernel/interpret.h"

#include "kernel/machine.h"
#include "kernel/window_loads.h"

namespace kawara::kernel {

Result<Done, std::string> interpret(const Kernel& kernel, const std::vector<int64_t>& params,
                                    std::vector<Cells>& arguments,
                                    const InterpretOptions& options) {
  try {
    const Kernel stored = window_loads(kernel);
    Machine(stored, params, arguments, options).run(stored.body);
  } catch (const Stop& stop) {
    return fail(stop.why);
  }
  return Done{};
}

} // namespace kawara::kernel
