#include "kernel/interpret/race.h"

#include "support/hash.h"

namespace kawara::kernel {

std::optional<Race> RaceDetector::touch(uint64_t storage, int64_t element, bool is_write) {
  constexpr uint64_t kElementBits = 40;
  const uint64_t key = (storage << kElementBits) | static_cast<uint64_t>(element);
  for (Running& loop : loops_) {
    Touch& seen = loop.elements[key];
    const auto clash = [&](const std::optional<int64_t>& who) -> std::optional<Race> {
      if (who && *who != loop.iteration)
        return Race{loop.var, *who, loop.iteration};
      return std::nullopt;
    };
    if (const auto race = clash(seen.writer))
      return race;
    if (is_write) {
      for (const auto& reader : {seen.reader, seen.other_reader})
        if (const auto race = clash(reader))
          return race;
      seen.writer = loop.iteration;
    } else if (!seen.reader)
      seen.reader = loop.iteration;
    else if (*seen.reader != loop.iteration)
      seen.other_reader = loop.iteration;
  }
  return std::nullopt;
}

} // namespace kawara::kernel
