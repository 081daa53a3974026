#include "tune/measure/bench.h"

#include "tune/clock.h"

namespace kawara::tune {

Samples samples_in_turns(const Effort& effort, const std::function<double()>& own,
                         const std::function<double()>& theirs) {
  Samples samples;
  int behind = 0;
  const double begun = steady_seconds();
  for (int round = 0; round < effort.rounds; ++round) {
    if (round >= 2 && steady_seconds() - begun > effort.limit_seconds)
      break;
    samples.own.push_back(own());
    samples.theirs.push_back(theirs());
    behind += samples.own.back() > effort.unlikely * samples.theirs.back() ? 1 : 0;
    if (round == 0 && samples.own[0] > effort.hopeless * samples.theirs[0])
      break;
    if (round == 1 && behind == 2)
      break;
  }
  return samples;
}

} // namespace kawara::tune
