#include "poly/isl/scheduler.h"

#include <isl/options.h>
#include <isl/schedule.h>

namespace kawara::poly {

isl::schedule compute_schedule(const SchedulerQuestion& question) {
  isl_ctx* ctx = question.domain.ctx().get();
  // Small coefficients keep loop bounds simple; without a limit isl at times skews by large
  // factors.
  isl_options_set_schedule_max_coefficient(ctx, 4);
  isl_options_set_schedule_maximize_band_depth(ctx, 1);
  isl_options_set_schedule_maximize_coincidence(ctx, question.prefers_parallel ? 1 : 0);
  isl_options_set_schedule_whole_component(ctx, 0);
  isl_options_set_schedule_treat_coalescing(ctx, 1);
  return isl::schedule_constraints::on_domain(question.domain)
      .set_context(question.context)
      .set_validity(question.validity)
      .set_proximity(question.proximity)
      .set_coincidence(question.coincidence)
      .compute_schedule();
}

} // namespace kawara::poly
