#include "schedule/text/build_arrange.h"

namespace kawara::schedule {
namespace {

/// `S0[0, i, 1, j+1, 0]`; the last place may be left out.
Result<ArrangedStatement, WrongArguments> arranged(const Argument& argument) {
  const bool is_word =
      argument.keyword.empty() && std::holds_alternative<std::string>(argument.value);
  if (!is_word || !argument.has_inside)
    return fail(WrongArguments{"expected a statement with places and loops: S0[0, i, 0, j, 0]",
                               argument.where});
  ArrangedStatement made{std::get<std::string>(argument.value), {}, {}};
  for (const Argument& entry : argument.inside) {
    const bool wants_place = made.places.size() == made.loops.size();
    if (wants_place != std::holds_alternative<int64_t>(entry.value))
      return fail(WrongArguments{wants_place ? "expected a number, the place in the body"
                                             : "expected a loop",
                                 entry.where});
    if (wants_place)
      made.places.push_back(std::get<int64_t>(entry.value));
    else
      made.loops.push_back({std::get<std::string>(entry.value), entry.added});
  }
  if (made.places.size() == made.loops.size())
    made.places.push_back(0);
  return made;
}

} // namespace

Result<Directive, WrongArguments> build_arrange(const std::vector<Argument>& arguments) {
  Arrange arrange;
  for (const Argument& argument : arguments) {
    KAWARA_TRY(ArrangedStatement statement, arranged(argument));
    arrange.statements.push_back(std::move(statement));
  }
  if (arrange.statements.empty())
    return fail(WrongArguments{"the statements are missing", Span{}});
  return Directive(std::move(arrange));
}

} // namespace kawara::schedule
