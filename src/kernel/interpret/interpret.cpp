#include "kernel/interpret/interpret.h"

#include "kernel/interpret/machine.h"
#include "kernel/memory/window_loads.h"
#include "kernel/walk.h"

namespace kawara::kernel {

Result<Done, std::string> interpret(const Kernel& kernel, const std::vector<int64_t>& params,
                                    std::vector<Elements>& arguments,
                                    const InterpretOptions& options) {
  try {
    const Kernel stored = window_loads(kernel);
    Machine machine(stored, params, arguments, options);
    machine.run(stored.body);
    if (options.ran != nullptr) {
      size_t number = 0;
      visit(stored.body, [&](const Stmt& stmt) {
        if (options.ran->size() <= number)
          options.ran->push_back(false);
        if (machine.has_run(stmt))
          (*options.ran)[number] = true;
        ++number;
      });
    }
  } catch (const Stop& stop) {
    return fail(stop.why);
  }
  return Done{};
}

} // namespace kawara::kernel
