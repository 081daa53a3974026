#pragma once

#include "poly/legality/legality.h"
#include "poly/order.h"
#include "poly/scop.h"
#include "schedule/directive.h"
#include "support/diagnostic.h"
#include "target/cpu.h"
#include "target/gpu.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kawara::schedule {

/// A list of directives and the order that they produce. The list is the source of truth: it can be
/// printed, parsed, hashed and replayed on the same Program. Values: a refused directive changes
/// nothing.
struct Schedule {
  poly::Scop scop; ///< as inline, compute_at and rfactor left it
  poly::Order order;
  std::vector<Directive> applied;
  /// What `auto`, the last of `applied`, did to temps before it looked at loops: for listings, and
  /// for users who want to go on from there.
  std::vector<Directive> begun = {};
};

/// Why a directive was not applied. Cheap to build (a search meets thousands); text is made by
/// `explain`.
struct Refusal {
  /// The directive cannot be asked of these loops at all (no witness).
  struct Shape {
    std::string code;     ///< K02xx
    std::string headline; ///< "cannot interchange loops `i` and `k`"
    std::string label;    ///< beside the caret
    Span where;
    std::vector<std::string> body;
    std::vector<std::vector<Directive>>
        ways_out; ///< candidates; each is checked before it is shown
  };
  /// The judge's answer on the order that the directive would make, and what it was judged on.
  struct Judged {
    poly::Scop scop;
    poly::Order before, after;
    std::variant<poly::Illegal, poly::Undecided> verdict;
  };
  Directive directive;
  std::variant<Shape, Judged> why;
  std::vector<Directive> after; ///< members of the list given to `apply` that came before, applied
};

struct Attempt;

/// What directives may ask about the machine (vector width, caches); default schedules use more.
struct Environment {
  target::Cpu cpu;
  std::optional<target::Gpu> gpu = std::nullopt; ///< code is made for it; none: for the CPU
  unsigned long quota = poly::kDefaultQuota;
  std::vector<Attempt>* notes = nullptr; ///< where `auto` writes down what it tries; null: nowhere
};

/// The source order of the scop, no directive applied.
Schedule initial_schedule(poly::Scop);

/// `schedule` with one directive applied and proved. Every directive ends in the same gate
/// (require_legal.h); nothing else decides.
Result<Schedule, Refusal> apply(const Schedule&, const Directive&, const Environment&);
Result<Schedule, Refusal> apply(const Schedule&, const std::vector<Directive>&, const Environment&);

/// The refusal as the full message of docs/errors/README.md, alternatives checked. The schedule is
/// the one that `apply` was called with.
Diagnostic explain(const Schedule&, const Refusal&, const Environment&);

/// Directives from text: separated by `;` or newlines, `#` comments, `[a; b]` groups. All errors at
/// once.
Parsed<std::vector<Directive>> parse_directives(SourcePtr text);
std::string print(const Directive&);
std::string print(const std::vector<Directive>&); ///< `a; b; c`; parses back to the same list

/// `kawara show --stage schedule`: the directives, then the loop listing as comments.
std::string listing(const Schedule&);

/// Canonical hash of the directives and the program they apply to.
uint64_t hash_of(const Schedule&);

} // namespace kawara::schedule
