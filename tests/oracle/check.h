#pragma once

#include "oracle/brute_judge.h"
#include "oracle/sketch.h"
#include "poly/syntactic/comparison.h"
#include "program/interpret/values.h"
#include "schedule/schedule.h"

#include <functional>
#include <optional>
#include <string>

namespace kawara::oracle {

/// What was seen, over all programs.
struct Counts {
  size_t programs = 0, rejected = 0;
  size_t sequences = 0, directives = 0;
  size_t legal = 0, illegal = 0, shapes = 0, symbolic = 0, runs = 0;
  size_t rewrites = 0;              ///< accepted directives that changed statements
  size_t tensorize = 0, online = 0; ///< accepted directives of these kinds
  size_t scans = 0;                 ///< accepted lanes of running values
  size_t compiled = 0;              ///< schedules run as code
  size_t cautious = 0;              ///< refused for what data might do, and did not
  poly::Comparison comparison;      ///< of answers of the syntactic prover
};

/// A disagreement: what was expected and what came.
struct Disagreement {
  std::string what;
};

/// One program, ready to be scheduled: at the sketch's sizes and for all sizes.
struct Subject {
  program::Program program;
  std::vector<int64_t> params;
  Run run;
  program::Arrays inputs, expected;
  schedule::Schedule fixed;                   ///< sizes put in
  std::optional<schedule::Schedule> symbolic; ///< sizes open; absent without parameters
  double tolerance = 0;                       ///< of results (same_result.h)
};

/// Why a sketch gives no subject: its program is refused. Disagreements (the interpreter stops
/// where the polyhedral side saw nothing wrong, or the instances differ) say so.
struct Rejected {
  std::string why;
  bool is_disagreement = false;
};
/// Answers of the syntactic prover about its sets are compared with sets (`poly/syntactic`) where
/// there is a comparison.
Result<Subject, Rejected> subject_from(const Sketch&,
                                       const std::shared_ptr<poly::Comparison>& = nullptr);

/// Gives the next directive for what the schedule has become; empty: the end.
using Next = std::function<std::optional<schedule::Directive>(const schedule::Schedule&)>;

/// What a sequence is checked by, besides the judge.
struct Manner {
  uint64_t seed = 0;        ///< decides about shuffles; even: all sizes are asked about too
  bool is_compiled = false; ///< the schedule at the end is also run as code
  bool verifies = false;    ///< answers of the syntactic prover are compared with sets
};

/// Applies directives one by one. After each: the judge must agree with brute force at the sketch's
/// sizes, an answer for all sizes must hold for them, and an accepted schedule must give the
/// interpreter's result. A refused directive is left out and the next one is asked for; `auto` may
/// not be refused. `asked` receives all of them.
std::optional<Disagreement> check_sequence(const Subject&, const schedule::Environment&,
                                           const Next& next, const Manner&, Counts&,
                                           std::vector<schedule::Directive>& asked);

} // namespace kawara::oracle
