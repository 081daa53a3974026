#include "schedule/storage/store_in.h"

#include "poly/accesses.h"
#include "poly/legality/value_flows.h"
#include "program/recognise_update.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/codes.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "schedule/tree/solve_iterators.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::Access;
using poly::Scop;
using poly::StmtId;
using scalar::Expr;

namespace {

/// A statement that reads the temp and writes the other tensor.
struct Maker {
  StmtId id;
  std::vector<Expr> element; ///< of the temp, that it reads
};

std::vector<Maker> makers_of(const Scop& scop, uint32_t temp, uint32_t other) {
  std::vector<Maker> makers;
  for (const Access& access : poly::bare_accesses_of(scop, temp))
    if (!access.is_write && scop[access.statement].text.tensor == other)
      makers.push_back({access.statement, access.index});
  return makers;
}

/// The other tensor's element for each element of the temp, over Iter p = index p of the temp;
/// empty when the element does not tell it.
std::optional<std::vector<Expr>> place_of_element(const Scop& scop, const Maker& maker) {
  const program::Statement& text = scop[maker.id].text;
  const std::vector<Expr> solved = iterators_from_keys(maker.element, text.iters.size());
  std::vector<Expr> place;
  for (const Expr& index : text.index) {
    const Expr told = in_solved(index, solved);
    if (!told)
      return std::nullopt;
    place.push_back(scalar::simplify(told));
  }
  return place;
}

/// Every element of the temp that anything uses is one that the maker reads, and so has a place
/// within the other tensor.
bool covers_all(const Scop& scop, uint32_t temp, const Maker& maker) {
  const isl::set elements = map_of(maker.element, scop[maker.id].domain, scop.params).range();
  const std::vector<Access> all = poly::bare_accesses_of(scop, temp);
  return std::all_of(all.begin(), all.end(), [&](const Access& access) {
    return map_of(access.index, scop[access.statement].domain.intersect_params(scop.context),
                  scop.params)
        .range()
        .is_subset(elements);
  });
}

/// The statements with the temp's elements in their places.
Scop moved(Scop scop, uint32_t temp, uint32_t other, const std::vector<Expr>& place) {
  const auto placed = [&](const std::vector<Expr>& index) {
    std::vector<Expr> element;
    for (const Expr& e : place)
      element.push_back(scalar::simplify(scalar::substitute_iters(e, index)));
    return element;
  };
  for (poly::ScopStatement& statement : scop.statements) {
    if (statement.is_removed)
      continue;
    program::Statement& text = statement.text;
    if (text.tensor == temp) {
      text.tensor = other;
      text.index = placed(text.index);
    }
    text.value = scalar::rewrite(text.value, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      return load != nullptr && load->tensor == temp
                 ? scalar::load(other, placed(load->index), e.type())
                 : Expr();
    });
  }
  return scop;
}

/// Assigns an element to itself. A conversion to what is computed in and back keeps every value.
bool does_nothing(const program::Statement& text) {
  if (text.op != scalar::ReduceOp::None)
    return false;
  const auto* cast = scalar::as<scalar::Cast>(text.value);
  const auto* load = scalar::as<scalar::Load>(cast != nullptr ? cast->arg : text.value);
  return load != nullptr && load->tensor == text.tensor &&
         std::equal(load->index.begin(), load->index.end(), text.index.begin(), text.index.end(),
                    scalar::equal);
}

/// Those that do so now and wrote or read another element before.
std::set<StmtId> copies_of(const Scop& scop, const Scop& before) {
  std::set<StmtId> copies;
  for (uint32_t s = 0; s < scop.statements.size(); ++s)
    if (!scop.statements[s].is_removed && does_nothing(scop.statements[s].text) &&
        !does_nothing(before.statements[s].text))
      copies.insert(StmtId{s});
  return copies;
}

Proposal without_copies(Proposal made, const std::set<StmtId>& copies, uint32_t other) {
  for (const StmtId id : copies) {
    made.scop.statements[id.value].is_removed = true;
    remove_leaf(made.scop.source_order, id);
    remove_leaf(made.order, id);
  }
  for (poly::ScopStatement& statement : made.scop.statements)
    if (!statement.is_removed && statement.text.tensor == other)
      program::recognise_update(made.scop.tensors, statement.text);
  made.scop = poly::rebuilt(std::move(made.scop));
  return made;
}

std::string name_in_quotes(const Scop& scop, uint32_t tensor) {
  return "`" + scop.tensors[tensor].name + "`";
}

/// Why no element of the one could hold values of the other, whoever makes it; empty where one
/// might.
std::optional<std::string> unfit(const Scop& scop, uint32_t temp, uint32_t other) {
  const program::Tensor &from = scop.tensors[temp], &to = scop.tensors[other];
  if (temp == other)
    return "Values of " + name_in_quotes(scop, temp) + " are there already.";
  if (from.role != program::Role::Temp)
    return name_in_quotes(scop, temp) + " is an " + std::string(name_of(from.role)) +
           ": its elements belong to the caller. Only a temp can be stored elsewhere.";
  if (to.role == program::Role::Input)
    return name_in_quotes(scop, other) + " is an input, which nothing may write.";
  if (from.elem != to.elem)
    return name_in_quotes(scop, temp) + " has " + std::string(scalar::name_of(from.elem)) +
           " and " + name_in_quotes(scop, other) + " " + std::string(scalar::name_of(to.elem)) +
           ", which round values differently.";
  return std::nullopt;
}

/// For a scalar: the loops around its makers, innermost first, may get copies of it before.
std::vector<std::vector<Directive>> with_copies_first(const Schedule& schedule,
                                                      const StoreIn& directive,
                                                      const std::vector<Maker>& makers) {
  std::vector<std::vector<Directive>> ways;
  for (const Maker& maker : makers) {
    const std::vector<poly::LoopId> path = poly::path_of(schedule.order, maker.id);
    for (auto loop = path.rbegin(); loop != path.rend(); ++loop)
      ways.push_back({StoreAt{directive.tensor, name_of_loop(schedule.scop, schedule.order, *loop)},
                      directive});
  }
  return ways;
}

} // namespace

Proposed propose(const Schedule& schedule, const StoreIn& directive, const Environment&) {
  const std::string request =
      "cannot store `" + directive.tensor + "` in `" + directive.other + "`";
  const Scop& scop = schedule.scop;
  KAWARA_TRY(const uint32_t temp, resolve_tensor(scop, directive.tensor, request));
  KAWARA_TRY(const uint32_t other, resolve_tensor(scop, directive.other, request));
  const std::string one = name_in_quotes(scop, temp), two = name_in_quotes(scop, other);
  const auto refused = [&](const std::string& why, Span where = {}) {
    return shape_refusal(kCannotStoreIn, request, where, where.is_nowhere() ? "" : "reads " + one,
                         {why});
  };
  if (const auto why = unfit(scop, temp, other))
    return fail(refused(*why));
  const std::vector<Maker> makers = makers_of(scop, temp, other);
  if (makers.empty())
    return fail(refused("No statement reads " + one + " and writes " + two +
                        ", so nothing says which element is meant."));
  const Span where = scop[makers.front().id].text.where;
  Refusal::Shape why = refused(
      "The index of " + one + " does not tell which element of " + two +
          " is made of it: each loop must stand alone in one index, plus or minus a constant.",
      where);
  why.ways_out = with_copies_first(schedule, directive, makers);
  for (const Maker& maker : makers) {
    const auto place = place_of_element(scop, maker);
    if (!place)
      continue;
    const std::string& name = scop[maker.id].text.name;
    if (!covers_all(scop, temp, maker)) {
      why = refused("There are elements of " + one + " that " + name +
                        " does not read, and no element of " + two + " is theirs.",
                    where);
      continue;
    }
    Proposal made{moved(scop, temp, other, *place), schedule.order};
    const std::set<StmtId> copies = copies_of(made.scop, scop);
    if (poly::have_same_values(scop, made.scop, {temp, other}, copies))
      return without_copies(std::move(made), copies, other);
    why =
        refused("The element of " + two + " that " + name + " writes is used for something else " +
                    "while " + one + " has a value that is still read.",
                where);
  }
  return fail(std::move(why));
}

} // namespace kawara::schedule
