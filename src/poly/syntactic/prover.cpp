#include "poly/syntactic/prover.h"

#include "poly/isl/dimensions.h"
#include "poly/isl/text.h"
#include "poly/syntactic/against_sets.h"
#include "poly/syntactic/domain_facts.h"
#include "poly/syntactic/elements.h"
#include "poly/syntactic/given_values.h"
#include "poly/syntactic/loop_runs.h"
#include "support/text.h"

namespace kawara::poly {
namespace {

std::string word_for(Answer answer) {
  return answer == Answer::Yes ? "yes" : answer == Answer::No ? "no" : "unknown";
}

/// Writes down what was asked, for an error.
class Claims {
public:
  explicit Claims(const Scop& scop) : scop_(scop) {}

  std::string expr(StmtId id, const Expr& e) const {
    return "`" + scalar::to_string(e, names_of(scop_, id)) + "`";
  }
  std::string exprs(StmtId id, const std::vector<Expr>& list) const {
    std::vector<std::string> texts;
    for (const Expr& e : list)
      texts.push_back(expr(id, e));
    return "(" + join(texts, ", ") + ")";
  }
  /// In rows of a statement, r0, r1, ...
  static std::string of_rows(const Expr& e, size_t rows) {
    scalar::Names names;
    for (size_t k = 0; k < rows; ++k)
      names.iters.push_back("r" + std::to_string(k));
    return "`" + scalar::to_string(e, names) + "`";
  }
  std::string access(const Access& a) const {
    return name(a.statement) + " " + scop_.tensors[a.tensor].name + exprs(a.statement, a.index);
  }
  const std::string& name(StmtId id) const { return scop_[id].text.name; }
  std::string domain(StmtId id) const { return " in " + poly::text_of(scop_[id].domain); }

private:
  const Scop& scop_;
};

bool is_unknown(Answer answer) { return answer == Answer::Unknown; }
bool is_unknown(const std::vector<Step>&) { return false; }
template <class Value> bool is_unknown(const std::optional<Value>& answer) { return !answer; }

} // namespace

bool SyntacticProver::is_comparing() const {
  return scop_.context_owner && scop_.context_owner->comparison() != nullptr;
}

void SyntacticProver::compare(Question question, const std::function<std::string()>& claim,
                              const std::function<Counterexample()>& counterexample) const {
  if (is_comparing())
    scop_.context_owner->comparison()->compare(*scop_.context_owner, question, claim,
                                               counterexample);
}

/// The answer, or the fault that a test put in its place, after sets have been asked as well.
template <class Value, class Claim, class Against>
Value SyntacticProver::answered(Question question, Value answer, const Claim& claim,
                                const Against& against) const {
  if (!is_comparing())
    return answer;
  if (const auto& fault = scop_.context_owner->comparison()->fault)
    fault(question, AnswerRef(&answer));
  if (!is_unknown(answer))
    compare(
        question, [&] { return claim(answer); }, [&] { return against(answer); });
  return answer;
}

Answer SyntacticProver::remembered(Question question, Answer seen) const {
  if (is_comparing() && scop_.context_owner->comparison()->fault)
    scop_.context_owner->comparison()->fault(question, AnswerRef(&seen));
  return seen;
}

Answer SyntacticProver::are_disjoint(const Access& a, const Access& b) const {
  return answered(
      Question::Disjoint, yes_or_unknown(are_apart(a, b)),
      [&](Answer) { return Claims(scop_).access(a) + " and " + Claims(scop_).access(b); },
      [&](Answer) { return against_disjoint(scop_, a, b); });
}

Answer SyntacticProver::are_in_conflict(const Order& order, const Access& a,
                                        const Access& b) const {
  return answered(
      Question::Conflict, yes_or_unknown(meet_at_corners(scop_, order, a, b)),
      [&](Answer) { return Claims(scop_).access(a) + " before " + Claims(scop_).access(b); },
      [&](Answer) { return against_conflict(scop_, order, a, b); });
}

Equalities SyntacticProver::equalities_of(const isl::map& pairs, StmtId source, StmtId sink) const {
  Equalities equalities = equalities_of_pairs(scop_, pairs, source, sink);
  if (is_comparing())
    equalities.pairs = pairs;
  return equalities;
}

Equalities SyntacticProver::equalities_of(const Access& source, const Access& sink) const {
  Equalities equalities = equalities_of_elements(scop_, source, sink);
  if (is_comparing())
    equalities.pairs = pairs_of_accesses(scop_, source, sink);
  return equalities;
}

Equalities SyntacticProver::no_equalities(StmtId source, StmtId sink) const {
  Equalities equalities = no_equalities_of(scop_, source, sink);
  if (is_comparing())
    equalities.pairs =
        isl::map::universe(pairs_of(scop_[source].domain, scop_[sink].domain).space());
  return equalities;
}

Answer SyntacticProver::are_equal(const Equalities& of, const Expr& of_source,
                                  const Expr& of_sink) const {
  return answered(
      Question::EqualInPairs, yes_or_unknown(is_tied(of, of_source, of_sink)),
      [&](Answer) {
        const Claims claims(scop_);
        return claims.expr(of.from, of_source) + " of " + claims.name(of.from) + " and " +
               claims.expr(of.to, of_sink) + " of " + claims.name(of.to);
      },
      [&](Answer) {
        return of.pairs ? against_equal(scop_, *of.pairs, of.from, of.to, of_source, of_sink)
                        : std::nullopt;
      });
}

std::vector<Step> SyntacticProver::steps(const Order& order, const Equalities& of, size_t loops,
                                         const std::vector<bool>& is_apart) const {
  return answered(
      Question::Steps, steps_of(order, of, of.from, of.to, loops, is_apart),
      [&](const std::vector<Step>& steps) {
        const Claims claims(scop_);
        std::vector<std::string> texts;
        for (const Step& step : steps)
          texts.push_back(claims.expr(of.from, step.source));
        return "pairs of " + claims.name(of.from) + " and " + claims.name(of.to) +
               " come in the order of (" + join(texts, ", ") + ")";
      },
      [&](const std::vector<Step>& steps) {
        return of.pairs ? against_steps(scop_, order, *of.pairs, of.from, of.to, loops, steps)
                        : std::nullopt;
      });
}

Answer SyntacticProver::are_in_one_iteration(const Order& order, const Equalities& of,
                                             size_t loops) const {
  return yes_or_unknown(steps(order, of, loops).empty());
}

Answer SyntacticProver::are_equal(StmtId id, const Expr& a, const Expr& b) const {
  const auto domain = domain_facts_of(scop_[id]);
  const Expr one = canonical(a, domain->definitions()), other = canonical(b, domain->definitions());
  const Answer seen = scalar::equal(one, other)               ? Answer::Yes
                      : differ_somewhere(one, other, *domain) ? Answer::No
                                                              : Answer::Unknown;
  return answered(
      Question::Equal, seen,
      [&](Answer answer) {
        const Claims claims(scop_);
        return claims.expr(id, a) + " is " + claims.expr(id, b) + claims.domain(id) + ": " +
               word_for(answer);
      },
      [&](Answer answer) { return against_equal(scop_, id, a, b, answer); });
}

Answer SyntacticProver::give_iterators(StmtId id, const std::vector<Expr>& rows,
                                       const std::vector<Expr>& iterators) const {
  return answered(
      Question::Given, answer_from(gives_iterators(rows, iterators, *domain_facts_of(scop_[id]))),
      [&](Answer answer) {
        const Claims claims(scop_);
        return claims.exprs(id, rows) + " give " + claims.exprs(id, iterators) + claims.domain(id) +
               ": " + word_for(answer);
      },
      [&](Answer answer) { return against_given(scop_, id, rows, iterators, answer); });
}

Answer SyntacticProver::give_value(StmtId id, const std::vector<Expr>& rows,
                                   const Expr& value) const {
  return answered(
      Question::Given, yes_or_unknown(gives_value(value, rows, *domain_facts_of(scop_[id]))),
      [&](Answer) {
        const Claims claims(scop_);
        return claims.exprs(id, rows) + " give " + claims.expr(id, value) + claims.domain(id);
      },
      [&](Answer answer) { return against_given(scop_, id, rows, {value}, answer); });
}

std::optional<std::vector<Expr>>
SyntacticProver::iterators_from(StmtId id, const std::vector<Expr>& rows,
                                const std::vector<Expr>& iterators) const {
  using Solved = std::optional<std::vector<Expr>>;
  return answered(
      Question::Solved, iterators_from_rows(rows, iterators, *domain_facts_of(scop_[id])),
      [&](const Solved& solved) {
        const Claims claims(scop_);
        std::vector<std::string> texts;
        for (const Expr& e : *solved)
          texts.push_back(Claims::of_rows(e, rows.size()));
        return claims.exprs(id, iterators) + " are (" + join(texts, ", ") + ") of " +
               claims.exprs(id, rows) + claims.domain(id);
      },
      [&](const Solved& solved) { return against_solved(scop_, id, rows, iterators, *solved); });
}

std::optional<Boxes> SyntacticProver::boxes(StmtId id, const std::vector<Expr>& outer,
                                            const std::vector<Expr>& inner) const {
  using Found = std::optional<Boxes>;
  return answered(
      Question::Boxes, plain_boxes(outer, inner, *domain_facts_of(scop_[id])),
      [&](const Found& found) {
        const Claims claims(scop_);
        std::vector<std::string> texts;
        for (size_t d = 0; d < found->first.size(); ++d)
          texts.push_back(Claims::of_rows(found->extent[d], outer.size()) + " from " +
                          Claims::of_rows(found->first[d], outer.size()));
        return claims.exprs(id, inner) + " by " + claims.exprs(id, outer) + " are " +
               join(texts, ", ") + claims.domain(id);
      },
      [&](const Found& found) { return against_boxes(scop_, id, outer, inner, *found); });
}

std::optional<ConstantRange> SyntacticProver::range(const Order& order, LoopId loop) const {
  using Found = std::optional<ConstantRange>;
  return answered(
      Question::Range, range_of_iterator(scop_, order, loop),
      [&](const Found& range) {
        return order[loop].name + " runs from " + std::to_string(range->low) + " to " +
               std::to_string(range->high);
      },
      [&](const Found& range) { return against_range(scop_, order, loop, *range); });
}

Answer SyntacticProver::is_rectangle(const Order& order, LoopId outer, LoopId inner) const {
  return answered(
      Question::Rectangle, answer_from(is_plain_rectangle(scop_, order, outer, inner)),
      [&](Answer answer) {
        return order[inner].name + " in " + order[outer].name + ": " + word_for(answer);
      },
      [&](Answer answer) { return against_rectangle(scop_, order, outer, inner, answer); });
}

std::optional<int64_t> SyntacticProver::longest_run(const Order& order, LoopId loop) const {
  using Found = std::optional<int64_t>;
  return answered(
      Question::Run, longest_plain_run(scop_, order, loop),
      [&](const Found& run) { return order[loop].name + ": " + std::to_string(*run); },
      [&](const Found& run) { return against_run(scop_, order, loop, *run); });
}

} // namespace kawara::poly
