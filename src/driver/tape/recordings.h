#pragma once

#include "driver/tape/result_memory.h"
#include "driver/tape/tape.h"

#include <map>
#include <memory>
#include <string>

namespace kawara::driver {

/// Runs of a model that were seen to come again, as tapes: playing one looks at no graph, no shape
/// and no plan. Kept by the types and shapes of the inputs.
class Recordings {
public:
  /// The tape for these inputs; null when there is none (yet).
  Player* find(const std::vector<Datum>& inputs);
  /// Says that a run with these inputs went through these plans. The second time it is recorded,
  /// unless no tape can hold it. True when that happened.
  bool add(const std::vector<Datum>& inputs, const graph::Graph&, const std::vector<const Plan*>&);
  /// Forgets the tape for these inputs for good.
  void drop(const std::vector<Datum>& inputs);

private:
  struct Recording {
    int runs = 0;
    std::unique_ptr<Player> player;
  };
  std::map<std::string, Recording> recordings_;
};

/// Plays a tape into memory for its results. Refuses what `Player::play` refuses.
Result<std::vector<Datum>, Diagnostic> play(Player&, std::vector<Datum> inputs, ResultMemory&);

} // namespace kawara::driver
