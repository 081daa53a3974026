#pragma once

#include "poly/isl/context.h"
#include "poly/syntactic/answer.h"

#include <array>
#include <functional>
#include <optional>
#include <string>

namespace kawara::poly {

/// Where sets say otherwise than text; nothing where they agree.
using Counterexample = std::optional<std::string>;

/// Compares answers of the syntactic prover with what sets say, within a quota, and counts. A
/// context that holds one (`make_context`) has all answers about its sets compared.
class Comparison {
public:
  /// Of one kind of question, by answers other than unknown.
  struct Count {
    size_t compared = 0;
    size_t unfinished = 0; ///< the quota ran out
    size_t left_out = 0;   ///< not asked: there were enough before
  };

  /// Operations of isl for one answer: a few hundredths of a second. Answers of one kind that are
  /// compared at most, and that may run out of the quota before the others are left out.
  static constexpr unsigned long kOperations = 100'000;
  static constexpr size_t kMostCompared = 2'000, kMostUnfinished = 20;

  /// An InternalError where sets contradict `claim`, which says what was asked and what text
  /// answered. Comparisons do not nest.
  void compare(const Context&, Question, const std::function<std::string()>& claim,
               const std::function<Counterexample()>& counterexample);

  const Count& of(Question q) const { return counts_[static_cast<size_t>(q)]; }
  /// Adds the counts of another one.
  void add(const Comparison&);

  /// Tests put a wrong answer here, in place of one of the prover.
  std::function<void(Question, AnswerRef)> fault;

private:
  std::array<Count, kQuestions> counts_{};
  bool is_comparing_ = false;
};

/// "2140 answers of the syntactic prover are those of sets (..., 12 boxes); 3 not finished; ...".
std::string text_of(const Comparison&);

} // namespace kawara::poly
