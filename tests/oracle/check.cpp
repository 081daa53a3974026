#include "oracle/check.h"

#include "oracle/compiled.h"
#include "oracle/proposal.h"
#include "oracle/run_order.h"
#include "oracle/same_result.h"
#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"
#include "schedule/legality/require_legal.h"
#include "support/check.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kawara::oracle {

using namespace schedule;

namespace {

std::string describe(const Run& run, const std::optional<Broken>& broken) {
  if (!broken)
    return "legal";
  return "not legal (" + broken->promise + ": " + to_string(run, broken->source) + ", " +
         to_string(run, broken->sink) + ")";
}

std::string describe(const poly::Scop& scop, const poly::Illegal& illegal) {
  const poly::Dependence& d = scop.dependences[illegal.dependence];
  const auto instance = [&](poly::StmtId id, const std::vector<int64_t>& iters) {
    return scop[id].text.name + program::shape_text(iters);
  };
  return "not legal (" + std::string(name_of(d.kind)) + ": " + instance(d.source, illegal.source) +
         ", " + instance(d.sink, illegal.sink) + " at " + program::shape_text(illegal.params) + ")";
}

/// The judge's witness must be a real conflict of that run.
bool is_real(const Run& run, const poly::Scop& scop, const poly::Illegal& illegal) {
  const poly::Dependence& d = scop.dependences[illegal.dependence];
  return std::any_of(run.conflicts.begin(), run.conflicts.end(), [&](const Conflict& c) {
    const Instance &x = run.instances[c.source], &y = run.instances[c.sink];
    return x.statement == d.source.value && y.statement == d.sink.value &&
           x.iters == illegal.source && y.iters == illegal.sink && c.kind == d.kind &&
           c.element.index == illegal.element;
  });
}

bool has_scan(const poly::Order& order) {
  const std::vector<poly::LoopId> loops = poly::loops_in_order(order);
  return std::any_of(loops.begin(), loops.end(),
                     [&](poly::LoopId loop) { return order[loop].marks.is_scan; });
}

class Checker {
public:
  Checker(const Subject& subject, const Environment& environment, const Manner& manner,
          Counts& counts)
      : subject_(subject), environment_(environment), manner_(manner), counts_(counts),
        fixed_(subject.fixed), run_(&subject.run) {
    // Proofs for all sizes cost several times as much; every second sequence asks for one.
    if (manner.seed % 2 == 0)
      symbolic_ = subject.symbolic;
  }

  const Schedule& fixed() const { return fixed_; }

  std::optional<Disagreement> check(const Directive& directive) {
    ++counts_.directives;
    Proposed made = proposal_of(fixed_, directive, environment_);
    if (!made) {
      if (std::holds_alternative<Auto>(directive))
        return Disagreement{"auto: " + made.error().headline};
      ++counts_.shapes;
      symbolic_.reset();
      return std::nullopt;
    }
    auto applied = require_legal(fixed_, *made, directive, environment_);
    Run changed;
    const Run* run = run_;
    if (rewrites_statements(directive)) {
      changed = run_of(made->scop, subject_.params, subject_.inputs);
      run = &changed;
    }
    // A vector loop that is no longer innermost is found only when the whole order is there.
    if (!applied && std::holds_alternative<Refusal::Shape>(applied.error().why)) {
      ++counts_.shapes;
      symbolic_.reset();
      return std::nullopt;
    }
    const std::optional<Broken> broken = brute_judge(*run, made->order);
    if (auto wrong = compare(*run, made->scop, broken, applied))
      return wrong;
    if (auto wrong = check_symbolic(directive, broken, *run))
      return wrong;
    if (!applied) {
      if (std::holds_alternative<Auto>(directive))
        return Disagreement{"auto proposes an order that is not legal"};
      return std::nullopt;
    }
    if (rewrites_statements(directive)) {
      if (auto wrong = compare_result(*run, made->scop, made->scop.source_order,
                                      "the rewritten statements in source order"))
        return wrong;
      ++counts_.rewrites;
      own_run_ = std::move(changed);
      run_ = &own_run_;
    }
    counts_.tensorize += std::holds_alternative<Tensorize>(directive) ? 1 : 0;
    counts_.online += std::holds_alternative<Online>(directive) ? 1 : 0;
    fixed_ = *std::move(applied);
    counts_.scans += std::holds_alternative<Vectorize>(directive) && has_scan(fixed_.order) ? 1 : 0;
    if (std::holds_alternative<Auto>(directive))
      if (auto wrong = part_from_open_sizes())
        return wrong;
    return compare_result(*run_, fixed_.scop, fixed_.order, "the accepted schedule");
  }

  /// `auto` looks at sizes: where it has chosen otherwise without them, the same names mean other
  /// loops from there on.
  std::optional<Disagreement> part_from_open_sizes() {
    const auto text = [](const Schedule& schedule) {
      return poly::print(schedule.order, names_of_statements(schedule.scop));
    };
    if (!symbolic_ || text(*symbolic_) == text(fixed_))
      return std::nullopt;
    const Schedule open = *std::exchange(symbolic_, std::nullopt);
    return compare_result(run_of(open.scop, subject_.params, subject_.inputs), open.scop,
                          open.order, "the default schedule for all sizes");
  }

  /// At the end the schedule for all sizes, run at these sizes, must give the result too.
  std::optional<Disagreement> check_end() {
    const bool is_open = symbolic_ && !symbolic_->applied.empty();
    if (is_open)
      if (auto wrong = compare_result(run_of(symbolic_->scop, subject_.params, subject_.inputs),
                                      symbolic_->scop, symbolic_->order,
                                      "the schedule accepted for all sizes"))
        return wrong;
    if (!manner_.is_compiled)
      return std::nullopt;
    ++counts_.compiled;
    if (auto wrong =
            wrong_code(subject_, is_open ? *symbolic_ : fixed_, environment_, manner_.seed))
      return Disagreement{(is_open ? "sizes open; " : "sizes put in; ") + *std::move(wrong)};
    return std::nullopt;
  }

private:
  std::optional<Disagreement> compare(const Run& run, const poly::Scop& scop,
                                      const std::optional<Broken>& broken,
                                      const Result<Schedule, Refusal>& applied) {
    ++(broken ? counts_.illegal : counts_.legal);
    if (applied) {
      if (broken)
        return Disagreement{"judge: legal; brute force: " + describe(run, broken)};
      return std::nullopt;
    }
    const auto* judged = std::get_if<Refusal::Judged>(&applied.error().why);
    KAWARA_CHECK(judged, "shape refusals were dealt with");
    if (const auto* undecided = std::get_if<poly::Undecided>(&judged->verdict))
      return Disagreement{"judge: undecided (" + undecided->reason +
                          "); brute force: " + describe(run, broken)};
    const auto& illegal = std::get<poly::Illegal>(judged->verdict);
    if (!broken && depends_on_data(run)) {
      ++counts_.cautious;
      return std::nullopt;
    }
    if (!broken)
      return Disagreement{"judge: " + describe(judged->scop, illegal) + "; brute force: legal"};
    if (!depends_on_data(run) && !is_real(run, scop, illegal))
      return Disagreement{"judge: " + describe(judged->scop, illegal) +
                          ", which are not in conflict"};
    return std::nullopt;
  }

  std::optional<Disagreement> check_symbolic(const Directive& directive,
                                             const std::optional<Broken>& broken, const Run& run) {
    if (!symbolic_)
      return std::nullopt;
    ++counts_.symbolic;
    auto applied = apply(*symbolic_, directive, environment_);
    if (applied) {
      if (broken)
        return Disagreement{"judge for all sizes: legal; brute force: " + describe(run, broken)};
      symbolic_ = *std::move(applied);
      return std::nullopt;
    }
    symbolic_.reset();
    const auto* judged = std::get_if<Refusal::Judged>(&applied.error().why);
    const auto* illegal = judged ? std::get_if<poly::Illegal>(&judged->verdict) : nullptr;
    if (!illegal ||
        std::any_of(illegal->params.begin(), illegal->params.end(),
                    [](int64_t value) { return value > 8; }) ||
        depends_on_data(run)) // of other sizes there are no data
      return std::nullopt;
    const Run example = run_of(judged->scop, illegal->params, {});
    if (!brute_judge(example, judged->after))
      return Disagreement{"judge for all sizes: " + describe(judged->scop, *illegal) +
                          "; brute force at these sizes: legal"};
    if (!is_real(example, judged->scop, *illegal))
      return Disagreement{"judge for all sizes: " + describe(judged->scop, *illegal) +
                          ", which are not in conflict"};
    return std::nullopt;
  }

  std::optional<Disagreement> compare_result(const Run& run, const poly::Scop& scop,
                                             const poly::Order& order, const std::string& who) {
    ++counts_.runs;
    const auto other = difference(run_order(run, scop, order, subject_.inputs, manner_.seed),
                                  subject_.expected, subject_.tolerance);
    if (!other)
      return std::nullopt;
    return Disagreement{who + " gives another result than the interpreter: " + *other + "\n" +
                        poly::print(order, names_of_statements(scop))};
  }

  const Subject& subject_;
  const Environment& environment_;
  Manner manner_;
  Counts& counts_;
  Schedule fixed_;
  std::optional<Schedule> symbolic_;
  const Run* run_;
  Run own_run_;
};

Result<Schedule, Rejected> schedule_of(const program::Program& program,
                                       const std::shared_ptr<poly::Comparison>& comparison) {
  auto scop = poly::scop_from_program(program, poly::make_context(comparison));
  if (!scop)
    return fail(Rejected{render(scop.error()), false});
  return initial_schedule(*std::move(scop));
}

/// Small integers in every element, so that every order of a sum gives the same number.
void make_whole(program::Arrays& arrays) {
  for (auto& [name, array] : arrays)
    if (scalar::is_float(array.elem()))
      for (int64_t at = 0; at < array.elements(); ++at)
        array.set_double(at, std::floor(array.get_double(at) * 8));
}

/// Whether sums of floats may have been rounded: elements grew past half the digits to spare.
bool may_be_rounded(const Subject& subject) {
  double limit = INFINITY;
  for (const program::Tensor& tensor : subject.program.tensors)
    if (scalar::is_float(tensor.elem))
      limit = std::min(limit, tensor.elem == scalar::Elem::F32 ? 0x1p20 : 0x1p45);
  return limit != INFINITY &&
         largest_element(subject.run, subject.fixed.scop, subject.inputs) > limit;
}

/// What the longer spelling of the sketch says otherwise; empty: nothing.
std::optional<std::string> unlike_long_spelling(const Sketch& sketch, const Subject& subject) {
  auto program = program::parse(make_source("long.kw", text_of(sketch, Spelling::Long)));
  if (!program)
    return "The long spelling is refused: " + render(program.error());
  auto inputs = subject.inputs;
  const auto results = program::interpret(*program, subject.params, inputs);
  if (!results)
    return "The long spelling stops: " + render(results.error());
  if (const auto other = difference(subject.expected, *results))
    return "The short spelling means something else: " + *other + "\n" +
           text_of(sketch, Spelling::Long);
  return std::nullopt;
}

} // namespace

Result<Subject, Rejected> subject_from(const Sketch& sketch,
                                       const std::shared_ptr<poly::Comparison>& comparison) {
  auto program = program::parse(make_source("oracle.kw", text_of(sketch)));
  if (!program)
    return fail(Rejected{render(program.error()), false});
  const std::vector<int64_t> params = values_of(sketch);
  std::vector<std::optional<int64_t>> all;
  for (const int64_t value : params)
    all.emplace_back(value);
  KAWARA_TRY(Schedule fixed, schedule_of(program::specialise(*program, all), comparison));
  auto inputs = program::pattern_inputs(*program, params, 5);
  if (!inputs)
    return fail(Rejected{render(inputs.error()), false});
  make_whole(*inputs);
  auto expected = program::interpret(*program, params, *inputs);
  if (!expected)
    return fail(Rejected{"accepted, but the interpreter stops: " + render(expected.error()), true});
  Subject subject{*program,     params,          run_of(*program, params, *inputs),
                  *inputs,      *expected,       std::move(fixed),
                  std::nullopt, sketch.tolerance};
  if (subject.run.instances != instances_of(subject.fixed.scop, params))
    return fail(Rejected{"domains and source order give other instances than the loops", true});
  if (subject.tolerance == 0 && may_be_rounded(subject))
    return fail(Rejected{"numbers too large for floats", false});
  if (sketch.has_forms)
    if (const auto unlike = unlike_long_spelling(sketch, subject))
      return fail(Rejected{*unlike, true});
  if (!sketch.params.empty()) {
    KAWARA_TRY(subject.symbolic, schedule_of(*program, comparison));
  }
  return subject;
}

std::optional<Disagreement> check_sequence(const Subject& subject, const Environment& environment,
                                           const Next& next, const Manner& manner, Counts& counts,
                                           std::vector<Directive>& asked) {
  ++counts.sequences;
  Checker checker(subject, environment, manner, counts);
  try {
    while (const auto directive = next(checker.fixed())) {
      asked.push_back(*directive);
      if (auto wrong = checker.check(*directive))
        return wrong;
    }
    return checker.check_end();
  } catch (const std::exception& error) {
    return Disagreement{std::string("stopped by an error: ") + error.what()};
  }
}

} // namespace kawara::oracle
