#include "kernel/interpret/race.h"

#include <iterator>

namespace kawara::kernel {

void RaceDetector::iterate(int64_t value) {
  Running& loop = loops_.back();
  loop.now = {value, -1, 0};
  const auto next = loop.groups.upper_bound(value);
  if (next == loop.groups.begin())
    return;
  const auto& [first, group] = *std::prev(next);
  if (value < first + group.count)
    loop.now = {value, first, group.meetings};
}

void RaceDetector::meet(int64_t first, int64_t count) {
  Running& loop = loops_.back();
  Group& group = loop.groups[first];
  group.count = count;
  ++group.meetings;
  iterate(loop.now.iteration);
}

RaceDetector::Touch& RaceDetector::touch_of(Running& loop, uint64_t key) {
  const uint64_t number = key / kPage;
  if (number != loop.last_number) {
    auto& page = loop.pages[number];
    if (!page)
      page = std::make_unique<std::array<Touch, kPage>>();
    loop.last_number = number;
    loop.last = page.get();
  }
  return (*loop.last)[key % kPage];
}

std::optional<Race> RaceDetector::touch(uint64_t storage, int64_t element, bool is_write) {
  constexpr uint64_t kElementBits = 40;
  const uint64_t key = (storage << kElementBits) | static_cast<uint64_t>(element);
  for (Running& loop : loops_) {
    Touch& seen = touch_of(loop, key);
    const auto clash = [&](const std::optional<Moment>& who) -> std::optional<Race> {
      if (who && !who->comes_before(loop.now))
        return Race{loop.var, who->iteration, loop.now.iteration};
      return std::nullopt;
    };
    if (const auto race = clash(seen.writer))
      return race;
    if (is_write) {
      for (const auto& reader : {seen.reader, seen.other_reader})
        if (const auto race = clash(reader))
          return race;
      seen.writer = loop.now;
    } else if (!seen.reader || seen.reader->comes_before(loop.now))
      seen.reader = loop.now;
    else
      seen.other_reader = loop.now;
  }
  return std::nullopt;
}

} // namespace kawara::kernel
