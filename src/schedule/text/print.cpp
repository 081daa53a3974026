#include "schedule/schedule.h"

#include "schedule/tree/resolve.h"
#include "support/text.h"

namespace kawara::schedule {
namespace {

std::string call(std::string_view name, const std::vector<std::string>& arguments) {
  return std::string(name) + "(" + join(arguments, ", ") + ")";
}
std::string number(int64_t value) { return std::to_string(value); }
std::string key(std::string_view name, const std::string& value) {
  return std::string(name) + "=" + value;
}
std::vector<std::string> with(const LoopName& loop, const std::optional<int64_t>& value) {
  std::vector<std::string> arguments{to_string(loop)};
  if (value)
    arguments.push_back(number(*value));
  return arguments;
}

std::string text_of(const Split& d) { return call("split", with(d.loop, d.size)); }
std::string text_of(const Tile& d) {
  std::vector<std::string> arguments;
  for (const auto& [loop, size] : d.loops)
    arguments.push_back(key(to_string(loop), number(size)));
  return call("tile", arguments);
}
std::string text_of(const Interchange& d) {
  return call("interchange", {to_string(d.a), to_string(d.b)});
}
std::string text_of(const Reorder& d) {
  std::vector<std::string> arguments;
  for (const LoopName& loop : d.loops)
    arguments.push_back(to_string(loop));
  return call("reorder", arguments);
}
std::string text_of(const Skew& d) {
  return call("skew",
              {to_string(d.loop), key("by", to_string(d.by)), key("factor", number(d.factor))});
}
std::string text_of(const Shift& d) { return call("shift", with(d.loop, d.amount)); }
std::string text_of(const Reverse& d) { return call("reverse", {to_string(d.loop)}); }
std::string text_of(const Coalesce& d) {
  return call("coalesce", {to_string(d.outer), to_string(d.inner)});
}
std::string text_of(const Fuse& d) { return call("fuse", {to_string(d.a), to_string(d.b)}); }
std::string text_of(const Distribute& d) { return call("distribute", {to_string(d.loop)}); }
std::string text_of(const Arrange& d) {
  std::vector<std::string> arguments;
  for (const ArrangedStatement& s : d.statements) {
    std::vector<std::string> inside;
    for (size_t k = 0; k < s.places.size(); ++k) {
      inside.push_back(number(s.places[k]));
      if (k < s.loops.size())
        inside.push_back(s.loops[k].loop + (s.loops[k].shift > 0 ? "+" : "") +
                         (s.loops[k].shift != 0 ? number(s.loops[k].shift) : ""));
    }
    arguments.push_back(s.statement + "[" + join(inside, ", ") + "]");
  }
  return call("arrange", arguments);
}
std::string text_of(const Cut& d) { return call("cut", with(d.loop, d.at)); }
std::string text_of(const Isolate& d) { return call("isolate", {to_string(d.loop)}); }
std::string text_of(const ComputeAt& d) {
  return call("compute_at", {d.statement, to_string(d.loop)});
}
std::string text_of(const Stage& d) {
  std::vector<std::string> arguments{d.tensor, to_string(d.loop)};
  if (d.panel)
    arguments.push_back(key("panel", number(*d.panel)));
  if (d.width)
    arguments.push_back(key("width", number(*d.width)));
  for (const RoundedDim& rounded : d.rounded)
    arguments.push_back(key("d" + number(rounded.dim), number(rounded.to)));
  return call("stage", arguments);
}
std::string text_of(const Pack& d) {
  std::vector<std::string> arguments{d.tensor};
  if (d.loop)
    arguments.push_back(to_string(*d.loop));
  if (d.type)
    arguments.push_back(key("type", std::string(scalar::name_of(*d.type))));
  if (d.reader)
    arguments.push_back(key("reader", *d.reader));
  return call("pack", arguments);
}
std::string text_of(const Prefetch& d) {
  std::vector<std::string> arguments{d.tensor, to_string(d.loop)};
  if (d.ahead != 1)
    arguments.push_back(std::to_string(d.ahead));
  return call("prefetch", arguments);
}
std::string text_of(const LayoutPart& part) {
  const std::string name = "d" + number(part.dim);
  if (part.kind == LayoutPart::Kind::Whole)
    return name;
  return name + (part.kind == LayoutPart::Kind::Blocks ? "/" : "%") + number(part.block);
}
std::string text_of(const Layout& d) {
  std::vector<std::string> arguments{d.tensor};
  for (const LayoutPart& part : d.parts)
    arguments.push_back(text_of(part));
  if (d.type)
    arguments.push_back(key("type", std::string(scalar::name_of(*d.type))));
  return call("layout", arguments);
}
std::string text_of(const Pad& d) {
  return call("pad",
              {d.tensor, "d" + number(d.dim), d.to ? key("to", number(*d.to)) : number(d.by)});
}
std::string text_of(const Extend& d) { return call("extend", with(d.loop, d.to)); }
std::string text_of(const Fold& d) {
  std::vector<std::string> arguments{d.tensor, to_string(d.loop)};
  if (d.size)
    arguments.push_back(number(*d.size));
  return call("fold", arguments);
}
std::string text_of(const Promote& d) { return call("promote", {d.tensor, to_string(d.loop)}); }
std::string text_of(const StoreAt& d) { return call("store_at", {d.tensor, to_string(d.loop)}); }
std::string text_of(const StoreIn& d) { return call("store_in", {d.tensor, d.other}); }
std::string text_of(const Inline& d) { return call("inline", {d.statement}); }
std::string text_of(const Unroll& d) { return call("unroll", with(d.loop, d.factor)); }
std::string text_of(const UnrollAndJam& d) {
  return call("unroll_and_jam", with(d.loop, d.factor));
}
std::string text_of(const Vectorize& d) { return call("vectorize", with(d.loop, d.width)); }
std::string text_of(const Parallel& d) { return call("parallel", {to_string(d.loop)}); }
std::string text_of(const Bind& d) {
  return call("bind", {to_string(d.loop), std::string(poly::name_of(d.axis))});
}
std::string text_of(const Pipeline& d) { return call("pipeline", with(d.loop, d.stages)); }
std::string text_of(const Online& d) {
  std::vector<std::string> arguments;
  for (const LoopName& loop : d.loops)
    arguments.push_back(to_string(loop));
  return call("online", arguments);
}
std::string text_of(const Tensorize& d) {
  return call("tensorize", {to_string(d.loop), d.instruction});
}
std::string text_of(const Rfactor& d) {
  std::vector<std::string> arguments{to_string(d.loop)};
  if (d.type)
    arguments.push_back(key("type", std::string(scalar::name_of(*d.type))));
  return call("rfactor", arguments);
}
std::string text_of(const Auto&) { return "auto"; }
std::string text_of(const Group& d) { return "[" + print(d.members) + "]"; }

} // namespace

bool operator==(const Group& a, const Group& b) { return a.members == b.members; }

std::string print(const Directive& directive) {
  return std::visit([](const auto& d) { return text_of(d); }, directive);
}

std::string print(const std::vector<Directive>& directives) {
  std::vector<std::string> texts;
  for (const Directive& directive : directives)
    texts.push_back(print(directive));
  return join(texts, "; ");
}

} // namespace kawara::schedule
