#pragma once

#include "poly/loop_values.h"
#include "poly/syntactic/equalities.h"
#include "poly/syntactic/plain_boxes.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace kawara::poly {

/// What text shows of a question with two answers; `Unknown`: sets have to be asked.
enum class Answer : uint8_t { No, Yes, Unknown };

constexpr Answer answer_from(std::optional<bool> seen) {
  return !seen ? Answer::Unknown : *seen ? Answer::Yes : Answer::No;
}
/// Of a search that finds what it looks for, or shows nothing.
constexpr Answer yes_or_unknown(bool is_seen) { return is_seen ? Answer::Yes : Answer::Unknown; }

/// The kinds of questions that text answers.
enum class Question : uint8_t {
  Disjoint,     ///< two accesses touch no element both
  Conflict,     ///< they touch one both, one iteration after the other
  EqualInPairs, ///< two functions have one value in every pair of iterations
  Steps,        ///< which loops decide the order of pairs
  Equal,        ///< two functions have one value in every iteration of a statement
  Given,        ///< rows give the values of functions
  Solved,       ///< iterators as functions of rows
  Boxes,        ///< the boxes of rows in each iteration of others
  Range,        ///< the values of a loop, the same wherever it runs
  Rectangle,    ///< a loop's values do not depend on loops around it
  Run,          ///< the longest run of a loop
  Proved,       ///< an order was proved to keep a dependence before
  Unchanged,    ///< dependences between two statements are what they were
};
inline constexpr size_t kQuestions = 13;

std::string_view name_of(Question);

/// An answer of the prover, of whichever question.
using AnswerRef =
    std::variant<Answer*, std::vector<Step>*, std::optional<std::vector<Expr>>*,
                 std::optional<Boxes>*, std::optional<ConstantRange>*, std::optional<int64_t>*>;

} // namespace kawara::poly
