#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

Site::Site(const Schedule& schedule, poly::LoopId loop, Around around,
           const Environment& environment)
    : schedule_(schedule), loop_(loop), around_(around), environment_(environment),
      nest_(perfect_nest_at(schedule.order, loop)) {}

const NestFacts& Site::facts() const {
  if (!facts_)
    facts_ = facts_of(schedule_, *nest_);
  return *facts_;
}

} // namespace kawara::schedule
