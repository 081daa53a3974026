#include "schedule/request.h"

#include "schedule/resolve.h"
#include "schedule/schedule.h"

namespace kawara::schedule {
namespace {

struct Words {
  std::string request, noun;
};

Words words(const Split& d) { return {"split loop " + quoted(d.loop), "split"}; }
Words words(const Tile& d) {
  std::vector<LoopName> names;
  for (const auto& [name, size] : d.loops)
    names.push_back(name);
  return {std::string("tile loop") + (names.size() == 1 ? " " : "s ") + quoted(names), "tiling"};
}
Words words(const Interchange& d) {
  return {"interchange loops " + quoted(d.a) + " and " + quoted(d.b), "interchange"};
}
Words words(const Reorder& d) { return {"reorder loops " + quoted(d.loops), "reordering"}; }
Words words(const Skew& d) {
  return {"skew loop " + quoted(d.loop) + " by " + quoted(d.by), "skewing"};
}
Words words(const Shift& d) {
  return {"shift loop " + quoted(d.loop) + " by " + std::to_string(d.amount), "shift"};
}
Words words(const Reverse& d) { return {"reverse loop " + quoted(d.loop), "reversal"}; }
Words words(const Coalesce& d) {
  return {"coalesce loops " + quoted(d.outer) + " and " + quoted(d.inner), "coalescing"};
}
Words words(const Fuse& d) {
  return {"fuse loops " + quoted(d.a) + " and " + quoted(d.b), "fusion"};
}
Words words(const Distribute& d) { return {"distribute loop " + quoted(d.loop), "distribution"}; }
Words words(const Cut& d) {
  return {"cut loop " + quoted(d.loop) + " at " + std::to_string(d.at), "cut"};
}
Words words(const Isolate& d) {
  return {"isolate the full tiles of loop " + quoted(d.loop), "isolation"};
}
Words words(const ComputeAt& d) {
  return {"compute `" + d.statement + "` inside loop " + quoted(d.loop), "move"};
}
Words words(const Inline& d) { return {"inline `" + d.statement + "`", "inlining"}; }
Words words(const Unroll& d) { return {"unroll loop " + quoted(d.loop), "unrolling"}; }
Words words(const UnrollAndJam& d) {
  return {"unroll and jam loop " + quoted(d.loop), "unroll-and-jam"};
}
Words words(const Vectorize& d) { return {"vectorize loop " + quoted(d.loop), "vectorization"}; }
Words words(const Parallel& d) { return {"run loop " + quoted(d.loop) + " in parallel", "change"}; }
Words words(const Rfactor& d) {
  return {"factor the reduction at loop " + quoted(d.loop), "change"};
}
Words words(const Auto&) { return {"find a schedule", "change"}; }
Words words(const Group& d) { return {"apply the group `[" + print(d.members) + "]`", "group"}; }

} // namespace

std::string request_of(const Directive& directive) {
  return "cannot " + std::visit([](const auto& d) { return words(d).request; }, directive);
}

std::string noun_of(const Directive& directive) {
  return std::visit([](const auto& d) { return words(d).noun; }, directive);
}

} // namespace kawara::schedule
