#include "schedule/codes.h"
#include "schedule/legality/narrate.h"
#include "schedule/legality/request.h"
#include "schedule/legality/suggest.h"
#include "schedule/schedule.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::Broken;
using poly::Illegal;
using poly::LoopId;

namespace {

std::string_view code_of(Broken broken) {
  switch (broken) {
  case Broken::Order:
    return kOrderNotKept;
  case Broken::Parallel:
    return kParallelCollides;
  case Broken::Vector:
    return kVectorCollides;
  }
  return kOrderNotKept;
}

struct Caret {
  Span where;
  std::string label;
};

/// The loop that the directive names first, or the one given, under the caret.
Caret caret_of(const Schedule& schedule, const Directive& directive, const Refusal::Judged& judged,
               const Illegal& illegal) {
  const auto at = [&](const LoopName& name, std::string label) -> Caret {
    const auto loop = resolve_loop(schedule, name, "");
    return {loop ? schedule.order[*loop].where : Span{}, std::move(label)};
  };
  if (const auto* d = std::get_if<Fuse>(&directive))
    return at(d->b, "would become one loop with " + quoted(d->a));
  if (const auto* d = std::get_if<Reverse>(&directive))
    return at(d->loop, "would run backwards");
  if (const auto* d = std::get_if<Distribute>(&directive))
    return at(d->loop, "would run once for each statement");
  if (const auto* d = std::get_if<Shift>(&directive))
    return at(d->loop, "would run " + std::to_string(d->amount) + " later");
  if (!illegal.parts_at_loop)
    return {judged.scop[judged.scop.dependences[illegal.dependence].sink].text.where,
            "would run too early"};
  const poly::OrderLoop& loop = judged.after[illegal.loop];
  if (illegal.broken == Broken::Parallel && loop.marks.axis != poly::Axis::None)
    return {loop.where, (std::holds_alternative<Bind>(directive) ? "would run as " : "runs as ") +
                            std::string(poly::name_of(loop.marks.axis))};
  if (illegal.broken == Broken::Parallel)
    return {loop.where, std::holds_alternative<Parallel>(directive) ? "would run in parallel"
                                                                    : "runs in parallel"};
  if (illegal.broken == Broken::Vector)
    return {loop.where,
            "would run in vectors of " + std::to_string(loop.marks.vector_width) + " lanes"};
  if (std::holds_alternative<Tile>(directive))
    return {loop.where, "tiles of this loop would run in the wrong order"};
  if (std::holds_alternative<Interchange>(directive))
    return {loop.where, "would become the outer loop"};
  return {loop.where, "would decide the order"};
}

void describe(Diagnostic& d, const Schedule&, const Directive&, const Refusal::Shape& shape) {
  d.code = shape.code;
  d.headline = shape.headline;
  d.where = shape.where;
  d.label = shape.label;
  for (const std::string& paragraph : shape.body)
    d.body.push_back(wrapped(paragraph));
}

void describe(Diagnostic& d, const Schedule& schedule, const Directive& directive,
              const Refusal::Judged& judged) {
  d.headline = request_of(directive);
  if (const auto* undecided = std::get_if<poly::Undecided>(&judged.verdict)) {
    d.code = kUndecided;
    d.headline += ": could not be decided";
    d.body = {
        wrapped("Whether the order keeps the meaning was not found out: " + undecided->reason +
                "."),
        wrapped("Nothing was assumed, so the schedule stays as it was. Fixing sizes (-p N=64), "
                "or a fact like `assume N % 32 == 0` in the program, makes the question "
                "easier.")};
    return;
  }
  const Illegal& illegal = std::get<Illegal>(judged.verdict);
  d.code = code_of(illegal.broken);
  const poly::Dependence& dependence = judged.scop.dependences[illegal.dependence];
  d.headline = request_of(directive, judged.scop[dependence.source].text.name,
                          judged.scop[dependence.sink].text.name);
  const Caret caret = caret_of(schedule, directive, judged, illegal);
  d.where = caret.where;
  d.label = caret.label;
  d.body = narrate(directive, judged, illegal);
}

} // namespace

Diagnostic explain(const Schedule& given, const Refusal& refusal, const Environment& environment) {
  // The prefix was applied once already, so it can be applied again.
  const auto replayed = apply(given, refusal.after, environment);
  const Schedule& schedule = replayed ? *replayed : given;
  Diagnostic d;
  d.source = schedule.scop.source;
  std::visit([&](const auto& why) { describe(d, schedule, refusal.directive, why); }, refusal.why);
  // An excerpt without a place would only repeat the file's name.
  if (d.where.is_nowhere())
    d.source = nullptr;
  for (const Alternative& a : checked_alternatives(schedule, refusal, environment))
    d.help.push_back({(d.help.empty() ? "" : "or ") + a.intro, print(a.directives), true});
  if (d.help.empty() && std::holds_alternative<Refusal::Judged>(refusal.why))
    d.help.push_back({"no legal alternative was found", "", false});
  return d;
}

} // namespace kawara::schedule
