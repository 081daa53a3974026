#include "explain/judged_fusion.h"

#include "poly/scop.h"
#include "scalar/loads.h"
#include "schedule/legality/narrate.h"
#include "support/text.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace kawara::explain {
namespace {

using program::Program;
using program::Statement;
using schedule::ComputeAt;
using schedule::Directive;
using schedule::Fuse;
using schedule::LoopName;

/// A statement of the body, with the number of the nest that it is in.
struct Placed {
  const Statement* statement;
  size_t nest;
};

void place(const Program& program, const program::Body& body, size_t nest,
           std::vector<Placed>& out) {
  for (const program::BodyNode& node : body) {
    if (const auto* loop = std::get_if<program::Loop>(&node)) {
      place(program, loop->body, nest, out);
    } else if (const auto* branch = std::get_if<program::If>(&node)) {
      place(program, branch->then, nest, out);
      place(program, branch->otherwise, nest, out);
    } else {
      out.push_back({&program.statements[std::get<program::StatementRef>(node).statement], nest});
    }
  }
}

std::vector<Placed> statements_of(const Program& program) {
  std::vector<Placed> out;
  for (size_t nest = 0; nest < program.body.size(); ++nest)
    place(program, {program.body[nest]}, nest, out);
  return out;
}

/// The outermost loop around the statement that an element which it reads of the tensor follows.
std::optional<size_t> loop_of_reads(const Statement& s, uint32_t tensor) {
  std::optional<size_t> least;
  for (const scalar::Load* load : scalar::loads_in(s.value))
    for (size_t d = 0; load->tensor == tensor && d < load->index.size(); ++d)
      scalar::visit(load->index[d], [&](const scalar::Expr& e) {
        const auto* iter = scalar::as<scalar::Iter>(e);
        if (iter != nullptr && iter->index < s.iters.size())
          least = std::min<size_t>(least.value_or(iter->index), iter->index);
      });
  return least;
}

LoopName loop_name(const Statement& s, size_t depth) { return {s.name, s.iters[depth]}; }

/// Lists of directives, the most likely first.
std::vector<std::vector<Directive>> candidates(const Program& program, uint32_t tensor) {
  std::vector<Placed> makers, readers;
  for (const Placed& each : statements_of(program)) {
    if (each.statement->tensor == tensor)
      makers.push_back(each);
    else if (scalar::reads(each.statement->value, tensor))
      readers.push_back(each);
  }
  std::vector<std::vector<Directive>> out;
  if (makers.empty() || readers.empty() || makers.back().statement->iters.empty() ||
      readers.front().statement->iters.empty())
    return out;
  const Statement &maker = *makers.back().statement, &reader = *readers.front().statement;
  const bool is_temp = program.tensors[tensor].role == program::Role::Temp;
  const size_t loop = loop_of_reads(reader, tensor).value_or(0);
  if (is_temp) {
    // Nests that read the value one after the other become one first.
    std::vector<Directive> steps;
    for (size_t k = 1; k < readers.size(); ++k)
      if (readers[k].nest != readers[k - 1].nest && !readers[k].statement->iters.empty())
        steps.push_back(Fuse{loop_name(reader, 0), loop_name(*readers[k].statement, 0)});
    steps.push_back(ComputeAt{maker.name, loop_name(reader, steps.empty() ? loop : 0)});
    out.push_back(std::move(steps));
    if (loop + 1 < reader.iters.size())
      out.push_back({ComputeAt{maker.name, loop_name(reader, reader.iters.size() - 1)}});
  }
  std::vector<Directive> steps;
  std::vector<const Statement*> firsts;
  std::vector<Placed> both = makers;
  both.insert(both.end(), readers.begin(), readers.end());
  for (size_t k = 1; k < both.size(); ++k)
    if (both[k].nest != both[k - 1].nest && !both[k].statement->iters.empty() &&
        !both.front().statement->iters.empty())
      steps.push_back(
          Fuse{loop_name(*both.front().statement, 0), loop_name(*both[k].statement, 0)});
  if (!steps.empty())
    out.push_back(std::move(steps));
  return out;
}

FusionVerdict judged(const schedule::Schedule& at, const std::vector<Directive>& steps,
                     const schedule::Environment& environment) {
  using Answer = FusionVerdict::Answer;
  FusionVerdict out{Answer::Legal, schedule::print(steps), ""};
  const auto after = schedule::apply(at, steps, environment);
  if (after)
    return out;
  const schedule::Refusal& refusal = after.error();
  if (const auto* shape = std::get_if<schedule::Refusal::Shape>(&refusal.why)) {
    out.answer = Answer::NotAsked;
    out.witness = shape->headline;
    return out;
  }
  const auto& why = std::get<schedule::Refusal::Judged>(refusal.why);
  if (const auto* illegal = std::get_if<poly::Illegal>(&why.verdict)) {
    out.answer = Answer::Illegal;
    out.witness = join(schedule::narrate(refusal.directive, why, *illegal), " ");
    std::replace(out.witness.begin(), out.witness.end(), '\n', ' ');
  } else {
    out.answer = Answer::Undecided;
    out.witness = std::get<poly::Undecided>(why.verdict).reason;
  }
  return out;
}

} // namespace

std::string_view name_of(FusionVerdict::Answer answer) {
  switch (answer) {
  case FusionVerdict::Answer::Legal:
    return "legal";
  case FusionVerdict::Answer::Illegal:
    return "illegal";
  case FusionVerdict::Answer::Undecided:
    return "undecided";
  case FusionVerdict::Answer::NotAsked:
    break;
  }
  return "not asked";
}

FusionVerdict judged_fusion(const Program& joined, const std::string& tensor,
                            const schedule::Environment& environment) {
  using Answer = FusionVerdict::Answer;
  const auto at = std::find_if(joined.tensors.begin(), joined.tensors.end(),
                               [&](const program::Tensor& t) { return t.name == tensor; });
  if (at == joined.tensors.end())
    return {Answer::NotAsked, "", "no statement of both uses the value"};
  const auto lists = candidates(joined, static_cast<uint32_t>(at - joined.tensors.begin()));
  if (lists.empty())
    return {Answer::NotAsked, "", "there are no loops around the value"};
  auto scop = poly::scop_from_program(joined, poly::make_context());
  if (!scop)
    return {Answer::NotAsked, "", scop.error().front().headline};
  const schedule::Schedule start = schedule::initial_schedule(*std::move(scop));
  std::optional<FusionVerdict> first, refused;
  for (const std::vector<Directive>& steps : lists) {
    FusionVerdict verdict = judged(start, steps, environment);
    if (verdict.answer == Answer::Legal)
      return verdict;
    if (verdict.answer != Answer::NotAsked && !refused)
      refused = verdict;
    if (!first)
      first = std::move(verdict);
  }
  return refused ? *refused : *first;
}

} // namespace kawara::explain
