#include "schedule/legality/request.h"

#include "schedule/schedule.h"
#include "schedule/tree/resolve.h"
#include "support/text.h"

namespace kawara::schedule {
namespace {

struct Words {
  std::string request, noun;
  std::string tail = {};       ///< comes after the statements
  bool has_statements = false; ///< names the statements itself
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
  return {"skew loop " + quoted(d.loop), "skewing", " by " + quoted(d.by)};
}
Words words(const Shift& d) {
  return {"shift loop " + quoted(d.loop), "shift", " by " + std::to_string(d.amount),
          d.loop.statement.has_value()};
}
Words words(const Reverse& d) { return {"reverse loop " + quoted(d.loop), "reversal"}; }
Words words(const Coalesce& d) {
  return {"coalesce loops " + quoted(d.outer) + " and " + quoted(d.inner), "coalescing"};
}
Words words(const Fuse& d) {
  return {"fuse loops " + quoted(d.a) + " and " + quoted(d.b), "fusion", "",
          d.a.statement.has_value()};
}
Words words(const Distribute& d) { return {"distribute loop " + quoted(d.loop), "distribution"}; }
Words words(const Arrange& d) {
  std::vector<std::string> names;
  for (const ArrangedStatement& s : d.statements)
    names.push_back(s.statement);
  return {std::string("arrange statement") + (names.size() == 1 ? " " : "s ") + join(names, ", "),
          "arrangement", "", true};
}
Words words(const Cut& d) {
  return {"cut loop " + quoted(d.loop), "cut", " at " + std::to_string(d.at)};
}
Words words(const Isolate& d) {
  return {"isolate the full tiles of loop " + quoted(d.loop), "isolation"};
}
Words words(const ComputeAt& d) {
  return {"compute `" + d.statement + "` inside loop " + quoted(d.loop), "move", "", true};
}
Words words(const Stage& d) {
  return {"stage `" + d.tensor + "` at loop " + quoted(d.loop), "copy", "", true};
}
Words words(const Pack& d) {
  return {"pack `" + d.tensor + "`" + (d.loop ? " at loop " + quoted(*d.loop) : ""), "copy", "",
          true};
}
Words words(const StoreAt& d) {
  return {"store `" + d.tensor + "` at loop " + quoted(d.loop), "change", "", true};
}
Words words(const StoreIn& d) {
  return {"store `" + d.tensor + "` in `" + d.other + "`", "change", "", true};
}
Words words(const Layout& d) { return {"lay out `" + d.tensor + "`", "layout", "", true}; }
Words words(const Pad& d) {
  return {"pad dimension " + std::to_string(d.dim) + " of `" + d.tensor + "`", "padding", "", true};
}
Words words(const Extend& d) {
  return {"extend loop " + quoted(d.loop), "extension",
          " to a multiple of " + std::to_string(d.to)};
}
Words words(const Fold& d) {
  return {"fold `" + d.tensor + "` along loop " + quoted(d.loop), "change", "", true};
}
Words words(const Promote& d) {
  return {"promote `" + d.tensor + "` over loop " + quoted(d.loop), "change", "", true};
}
Words words(const Prefetch& d) {
  return {"prefetch `" + d.tensor + "` at loop " + quoted(d.loop), "change", "", true};
}
Words words(const Inline& d) { return {"inline `" + d.statement + "`", "inlining", "", true}; }
Words words(const Unroll& d) { return {"unroll loop " + quoted(d.loop), "unrolling"}; }
Words words(const UnrollAndJam& d) {
  return {"unroll and jam loop " + quoted(d.loop), "unroll-and-jam"};
}
Words words(const Vectorize& d) { return {"vectorize loop " + quoted(d.loop), "vectorization"}; }
Words words(const Parallel& d) { return {"run loop " + quoted(d.loop), "change", " in parallel"}; }
Words words(const Tensorize& d) {
  return {"run loop " + quoted(d.loop) + " as `" + d.instruction + "`", "instruction"};
}
Words words(const Bind& d) {
  return {"bind loop " + quoted(d.loop), "change", " to " + std::string(poly::name_of(d.axis))};
}
Words words(const Pipeline& d) { return {"pipeline loop " + quoted(d.loop), "change"}; }
Words words(const Rfactor& d) {
  return {"factor the reduction at loop " + quoted(d.loop), "change"};
}
Words words(const Online& d) {
  return {"run loops " + quoted(d.loops) + " in one pass", "fusion", "", true};
}
Words words(const Auto&) { return {"find a schedule", "change", "", true}; }
Words words(const Group& d) {
  return {"apply the group `[" + print(d.members) + "]`", "group", "", true};
}

} // namespace

std::string request_of(const Directive& directive) {
  const Words w = std::visit([](const auto& d) { return words(d); }, directive);
  return "cannot " + w.request + w.tail;
}

std::string request_of(const Directive& directive, const std::string& source,
                       const std::string& sink) {
  const Words w = std::visit([](const auto& d) { return words(d); }, directive);
  if (w.has_statements)
    return request_of(directive);
  const std::string statements =
      source == sink ? " of statement " + source : " of statements " + source + " and " + sink;
  return "cannot " + w.request + statements + w.tail;
}

std::string noun_of(const Directive& directive) {
  return std::visit([](const auto& d) { return words(d).noun; }, directive);
}

} // namespace kawara::schedule
