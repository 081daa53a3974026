#include "schedule/legality/known_elements.h"

#include "poly/accesses.h"
#include "scalar/loads.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using poly::Scop;
using poly::ScopStatement;

Refusal::Shape refusal(const Directive& directive, const ScopStatement& statement,
                       const std::string& what) {
  return shape_refusal(
      kUnknownElements, request_of(directive) + ": " + what, statement.text.where,
      "which elements it touches, only the run knows",
      {"An index of " + statement.text.name +
       (statement.text.over ? ", or how often it runs," : "") +
       " is read from data. What it touches may be any element, so there is no part of a tensor to "
       "copy, move or compute elsewhere for it. Directives that change the order of iterations "
       "need no such part."});
}

/// Some index or bound of the statement reads the tensor.
bool reads_as_index(const program::Statement& text, uint32_t tensor) {
  bool found = false;
  const auto look = [&](const scalar::Expr& index) {
    for (const scalar::Load* load : scalar::loads_in(index))
      found = found || load->tensor == tensor;
  };
  program::visit_exprs(text, [&](const scalar::Expr& root) {
    for (const scalar::Load* load : scalar::loads_in(root))
      std::for_each(load->index.begin(), load->index.end(), look);
  });
  std::for_each(text.index.begin(), text.index.end(), look);
  if (text.over) {
    look(text.over->lo);
    look(text.over->hi);
  }
  return found;
}

/// Whether text says which element an access means. A statement over a range that data give may run
/// as often as it likes then, if all that it does to the element is to update it: without an
/// iteration the element has the value that it had.
bool says_its_element(const Scop& scop, const poly::Access& access) {
  const program::Statement& text = scop[access.statement].text;
  const bool is_known = std::all_of(access.index.begin(), access.index.end(),
                                    [&](const auto& e) { return poly::is_known_index(e, text); });
  return access.is_sure || (is_known && (!access.is_write || access.is_update));
}

/// All accesses of the tensor must say their elements.
std::optional<Refusal::Shape> refuse_tensor(const Scop& scop, const Directive& directive,
                                            const std::string& name) {
  for (const poly::Access& access : poly::bare_accesses(scop)) {
    const ScopStatement& statement = scop[access.statement];
    if (scop.tensors[access.tensor].name == name &&
        (!says_its_element(scop, access) || reads_as_index(statement.text, access.tensor)))
      return refusal(directive, statement,
                     "the elements of `" + name + "` that " + statement.text.name +
                         " touches are not known");
  }
  return std::nullopt;
}

/// What is rewritten may stand in any statement.
std::optional<Refusal::Shape> refuse_any(const Scop& scop, const Directive& directive) {
  for (const ScopStatement& statement : scop.statements)
    if (!statement.is_removed && program::depends_on_data(statement.text))
      return refusal(directive, statement,
                     "the elements that " + statement.text.name + " touches are not known");
  return std::nullopt;
}

struct Asked {
  const Scop& scop;
  const Directive& directive;

  using Answer = std::optional<Refusal::Shape>;
  Answer operator()(const Stage& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const Pack& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const StoreAt& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const StoreIn& d) const {
    auto refused = refuse_tensor(scop, directive, d.tensor);
    return refused ? refused : refuse_tensor(scop, directive, d.other);
  }
  Answer operator()(const Layout& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const Pad& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const Fold& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const Promote& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const Prefetch& d) const { return refuse_tensor(scop, directive, d.tensor); }
  Answer operator()(const ComputeAt&) const { return refuse_any(scop, directive); }
  Answer operator()(const Inline&) const { return refuse_any(scop, directive); }
  Answer operator()(const Rfactor&) const { return refuse_any(scop, directive); }
  Answer operator()(const Online&) const { return refuse_any(scop, directive); }
  Answer operator()(const Extend&) const { return refuse_any(scop, directive); }
  Answer operator()(const Tensorize&) const { return refuse_any(scop, directive); }
  Answer operator()(const Pipeline&) const { return refuse_any(scop, directive); }
  template <class Other> Answer operator()(const Other&) const { return std::nullopt; }
};

} // namespace

std::optional<Refusal::Shape> refuse_unknown_elements(const Schedule& schedule,
                                                      const Directive& directive) {
  return std::visit(Asked{schedule.scop, directive}, directive);
}

} // namespace kawara::schedule
