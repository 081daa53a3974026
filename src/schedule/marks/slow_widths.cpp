#include "schedule/marks/slow_widths.h"

#include "schedule/marks/vectorize.h"
#include "schedule/text/flatten.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <bit>

namespace kawara::schedule {
namespace {

Diagnostic slow_width(const Schedule& schedule, poly::LoopId loop, const Environment& environment) {
  const poly::OrderLoop& l = schedule.order[loop];
  const auto width = static_cast<uint64_t>(l.marks.vector_width);
  const std::string below = std::to_string(std::bit_floor(width));
  const int64_t lanes = natural_width(schedule.scop, schedule.order, loop, environment.cpu);
  Diagnostic d;
  d.code = "K0262";
  d.severity = Severity::Warning;
  d.headline = "vectors of " + std::to_string(width) + " lanes may be slow: no power of two";
  d.source = schedule.scop.source;
  d.where = l.where;
  d.label = "loop " + quoted(name_of_loop(schedule.scop, schedule.order, loop)) +
            " is vectorized by " + std::to_string(width);
  d.body.push_back("A register of " + environment.cpu.name + " has " + std::to_string(lanes) +
                   " lanes here. Vectors of 2, 4, 8, ... lanes fill\nregisters; others are "
                   "compiled in parts, which costs most where the vectors are sums or products.");
  d.help.push_back({"split and vectorize the loop by",
                    below + " or " + std::to_string(std::bit_ceil(width)), false});
  return d;
}

} // namespace

Diagnostics slow_widths(const Schedule& schedule, const std::vector<Directive>& asked,
                        const Environment& environment) {
  std::vector<Directive> flat;
  flatten(asked, flat);
  Diagnostics warnings;
  for (const poly::LoopId loop : poly::loops_in_order(schedule.order)) {
    const int64_t width = schedule.order[loop].marks.vector_width;
    const bool is_asked = std::any_of(flat.begin(), flat.end(), [&](const Directive& directive) {
      const auto* vectorize = std::get_if<Vectorize>(&directive);
      return vectorize && vectorize->width == width;
    });
    if (width > 0 && is_asked && !environment.gpu &&
        !std::has_single_bit(static_cast<uint64_t>(width)))
      warnings.push_back(slow_width(schedule, loop, environment));
  }
  return warnings;
}

} // namespace kawara::schedule
