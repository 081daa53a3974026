#include "run/spread.h"

#include <fmt/core.h>

namespace kawara::run {

std::string spread_note(const Timing& timing, RanOn ran_on, int64_t others) {
  constexpr double kLarge = 0.1;
  if (timing.spread <= kLarge)
    return "";
  std::string why = "the machine's clock or its caches changed meanwhile, measure again";
  if (ran_on == RanOn::Gpu)
    why = "another program used the GPU, or its clock changed meanwhile, measure again";
  else if (others > 0)
    why = fmt::format("{} other {} busy, measure again when the machine is quiet", others,
                      others == 1 ? "process is" : "processes are");
  return fmt::format("the times differ by {:.0f} %: {}\n", timing.spread * 100, why);
}

} // namespace kawara::run
