#include "tune/measure/prover.h"

#include "schedule/codes.h"
#include "schedule/unproved.h"

namespace kawara::tune {
namespace {

using schedule::Directive;
using schedule::Group;
using schedule::Schedule;

/// Beginnings that are kept.
constexpr size_t kMostBeginnings = 256;

std::string_view code_of(const schedule::Refusal::Judged& judged) {
  if (std::holds_alternative<poly::Undecided>(judged.verdict))
    return schedule::kUndecided;
  switch (std::get<poly::Illegal>(judged.verdict).broken) {
  case poly::Broken::Parallel:
    return schedule::kParallelCollides;
  case poly::Broken::Vector:
    return schedule::kVectorCollides;
  case poly::Broken::Order:
    break;
  }
  return schedule::kOrderNotKept;
}

/// The code of a refusal: what they are counted by.
Prepared refused_by(const schedule::Refusal& refusal) {
  if (const auto* shape = std::get_if<schedule::Refusal::Shape>(&refusal.why))
    return {Outcome::Refused, shape->code};
  return {Outcome::Refused, std::string(code_of(std::get<schedule::Refusal::Judged>(refusal.why)))};
}

} // namespace

void Prover::keep(std::string text, Schedule made) {
  if (known_.contains(text))
    return;
  recent_.push_front({std::move(text), std::move(made)});
  known_[recent_.front().text] = recent_.begin();
  if (recent_.size() > kMostBeginnings) {
    known_.erase(recent_.back().text);
    recent_.pop_back();
  }
}

Result<Schedule, Prepared> Prover::prove(const std::string& directives) {
  const auto parsed = schedule::parse_directives(make_source("candidate", directives));
  if (!parsed)
    return fail(Prepared{Outcome::Refused, parsed.error().front().code});
  const auto& environment = reference_.task.environment;
  const auto* group = parsed->size() == 1 ? std::get_if<Group>(&parsed->front()) : nullptr;
  if (group == nullptr || group->members.empty()) {
    auto proved = schedule::apply(reference_.initial, *parsed, environment);
    if (!proved)
      return fail(refused_by(proved.error()));
    return *std::move(proved);
  }
  std::vector<std::string> beginnings; // [k]: text of the first k + 1 members
  for (const Directive& member : group->members)
    beginnings.push_back((beginnings.empty() ? "" : beginnings.back() + "; ") +
                         schedule::print(member));
  // The last member is always applied anew: with it comes the proof of all.
  size_t done = group->members.size() - 1;
  while (done > 0 && !known_.contains(beginnings[done - 1]))
    --done;
  Schedule at = reference_.initial;
  if (done > 0) {
    const auto found = known_.at(beginnings[done - 1]);
    recent_.splice(recent_.begin(), recent_, found);
    at = found->made;
    taken_up_ += static_cast<int64_t>(done);
  }
  for (; done + 1 < group->members.size(); ++done) {
    auto next = schedule::unproved(at, {group->members[done]}, environment);
    if (!next)
      return fail(refused_by(next.error()));
    at = *std::move(next);
    keep(beginnings[done], at);
  }
  auto proved = schedule::apply(at, Group{{group->members.back()}}, environment);
  if (!proved)
    return fail(refused_by(proved.error()));
  proved->applied = reference_.initial.applied;
  proved->applied.push_back(parsed->front());
  return *std::move(proved);
}

} // namespace kawara::tune
