#include "kernel/interpret.h"

#include "kernel/machine.h"

namespace kawara::kernel {

Result<Done, std::string> interpret(const Kernel& kernel, const std::vector<int64_t>& params,
                                    std::vector<Cells>& arguments,
                                    const InterpretOptions& options) {
  try {
    Machine(kernel, params, arguments, options).run(kernel.body);
  } catch (const Stop& stop) {
    return fail(stop.why);
  }
  return Done{};
}

} // namespace kawara::kernel
