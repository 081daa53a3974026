#pragma once

#include "schedule/auto/facts/nest_facts.h"

#include <any>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::schedule {

/// What runs around a site.
enum class Around : uint8_t {
  Nothing, ///< that runs in parallel
  Threads, ///< a loop that threads share
  Parts    ///< nothing, and another candidate's plan has cut its reduction
};

/// A place in a schedule that rules are asked about: what stands at one loop. What is known of it
/// is computed for the first rule that asks, and kept for the others.
class Site {
public:
  Site(const Schedule&, poly::LoopId, Around, const Environment&);

  const Schedule& schedule() const { return schedule_; }
  poly::LoopId loop() const { return loop_; }
  bool may_be_parallel() const { return around_ != Around::Threads; }
  bool is_part() const { return around_ == Around::Parts; }
  const Environment& environment() const { return environment_; }
  /// What stands there as a perfect nest; nothing where it is none.
  const std::optional<Nest>& nest() const { return nest_; }
  /// Of that nest.
  const NestFacts& facts() const;
  /// What the recogniser makes of the site.
  template <class Form> const Form& form(Form (*recognise)(const Site&)) const {
    std::any& known = forms_[reinterpret_cast<void (*)()>(recognise)];
    if (!known.has_value())
      known = recognise(*this);
    return *std::any_cast<Form>(&known);
  }

private:
  const Schedule& schedule_;
  poly::LoopId loop_;
  Around around_;
  const Environment& environment_;
  std::optional<Nest> nest_;
  mutable std::optional<NestFacts> facts_;
  mutable std::map<void (*)(), std::any> forms_;
};

/// When rules are asked, one phase after the other for all sites of a program.
enum class Phase : uint8_t {
  Chains,          ///< what several nests do together; asked for the program, at its first loop
  EarlyReductions, ///< reductions that products would lay out worse
  Products,        ///< with the nests that begin and finish their results
  LateReductions,  ///< those that are no products
  Windows,         ///< with the nests that begin and finish their results
  Nests            ///< all others
};

/// Plans what stands at a loop by the rules of a phase.
using Planner = std::function<void(Schedule&, Phase, poly::LoopId, Around)>;

/// One way to run what stands at a site.
struct Candidate {
  std::string rule;                 ///< "product with epilogue"
  std::vector<poly::StmtId> covers; ///< what it is for; the first stays where the plan puts it
  std::vector<Directive> plan;      ///< all of it or nothing
  /// The plan begins here instead of at the site's schedule: what led there was proved already.
  std::optional<Schedule> start = std::nullopt;
  /// Once the plan holds: steps that are left out where they are refused, and sites inside, which
  /// the planner takes. False where the candidate cannot be taken after all.
  std::function<bool(Schedule&, const Planner&)> finish = nullptr;
};

/// Hands over one candidate; true where no more are asked for.
using Offer = std::function<bool(Candidate)>;

/// One idea how a kind of nest runs fast. Its candidates come best first: each asks for less than
/// the one before.
struct Rule {
  Phase phase;
  std::string_view name;
  std::string_view recognises; ///< in one line, for listings
  void (*candidates)(const Site&, const Offer&);
};

} // namespace kawara::schedule
