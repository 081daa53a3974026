#include "poly/syntactic/comparison.h"

#include "support/check.h"
#include "support/text.h"

namespace kawara::poly {

std::string_view name_of(Question question) {
  switch (question) {
  case Question::Disjoint:
    return "disjoint accesses";
  case Question::Conflict:
    return "pairs in conflict";
  case Question::EqualInPairs:
    return "equal values of pairs";
  case Question::Steps:
    return "loops that decide an order";
  case Question::Equal:
    return "equal values of a statement";
  case Question::Given:
    return "values given by rows";
  case Question::Solved:
    return "iterators from rows";
  case Question::Boxes:
    return "boxes";
  case Question::Range:
    return "ranges of loops";
  case Question::Rectangle:
    return "rectangles";
  case Question::Run:
    return "longest runs";
  case Question::Proved:
    return "orders proved before";
  case Question::Unchanged:
    return "unchanged dependences";
  }
  return "";
}

void Comparison::compare(const Context& context, Question question,
                         const std::function<std::string()>& claim,
                         const std::function<Counterexample()>& counterexample) {
  Count& count = counts_[static_cast<size_t>(question)];
  if (is_comparing_ || count.compared >= kMostCompared || count.unfinished >= kMostUnfinished) {
    ++count.left_out;
    return;
  }
  struct Comparing {
    bool& is_comparing;
    explicit Comparing(bool& flag) : is_comparing(flag) { is_comparing = true; }
    ~Comparing() { is_comparing = false; }
    Comparing(const Comparing&) = delete;
    Comparing& operator=(const Comparing&) = delete;
  };
  const Comparing comparing(is_comparing_);
  Counterexample found;
  if (!within_quota(context, kOperations, [&] { found = counterexample(); })) {
    ++count.unfinished;
    return;
  }
  ++count.compared;
  KAWARA_CHECK(!found, "the syntactic prover, about " + std::string(name_of(question)) + ": " +
                           claim() + "; sets say otherwise: " + *found);
}

void Comparison::add(const Comparison& other) {
  for (size_t q = 0; q < kQuestions; ++q) {
    counts_[q].compared += other.counts_[q].compared;
    counts_[q].unfinished += other.counts_[q].unfinished;
    counts_[q].left_out += other.counts_[q].left_out;
  }
}

std::string text_of(const Comparison& comparison) {
  Comparison::Count all;
  std::vector<std::string> kinds;
  for (size_t q = 0; q < kQuestions; ++q) {
    const Comparison::Count& one = comparison.of(static_cast<Question>(q));
    all.compared += one.compared;
    all.unfinished += one.unfinished;
    all.left_out += one.left_out;
    if (one.compared > 0)
      kinds.push_back(std::to_string(one.compared) + " " +
                      std::string(name_of(static_cast<Question>(q))));
  }
  std::string text =
      "answers of the syntactic prover compared with sets: " + std::to_string(all.compared) +
      " the same";
  if (!kinds.empty())
    text += " (" + join(kinds, ", ") + ")";
  if (all.unfinished > 0)
    text += "; " + std::to_string(all.unfinished) + " not finished";
  if (all.left_out > 0)
    text += "; " + std::to_string(all.left_out) + " left out";
  return text;
}

} // namespace kawara::poly
