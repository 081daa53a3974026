#include "schedule/tree/resolve.h"

#include "schedule/codes.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;

namespace {

std::string with_statement(const poly::Scop& scop, const Order& order, LoopId loop) {
  const std::vector<StmtId> below = poly::statements_below(order, loop);
  const std::string& name = order[loop].name;
  return below.empty() ? name : scop[below.front()].text.name + "." + name;
}

std::vector<LoopId> nameable_on(const Order& order, StmtId statement) {
  std::vector<LoopId> loops = poly::path_of(order, statement);
  std::erase_if(loops, [&](LoopId id) { return order[id].is_coalesced_into_parent; });
  return loops;
}

std::vector<std::string> names_of(const Order& order, const std::vector<LoopId>& loops) {
  std::vector<std::string> names;
  for (const LoopId id : loops)
    if (std::find(names.begin(), names.end(), order[id].name) == names.end())
      names.push_back(order[id].name);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names)
    shown.push_back("`" + name + "`");
  return shown.empty() ? "none" : join(shown, ", ");
}

/// Statements still in the tree that write the tensor; none where there is no such tensor.
std::vector<std::string> writers_of(const poly::Scop& scop, std::string_view tensor) {
  std::vector<std::string> writers;
  for (const poly::ScopStatement& statement : scop.statements)
    if (!statement.is_removed && scop.tensors[statement.text.tensor].name == tensor)
      writers.push_back(statement.text.name);
  return writers;
}

Refusal::Shape unknown_loop(const LoopName& name, std::string_view request,
                            const std::vector<std::string>& existing, const std::string& around) {
  Refusal::Shape refusal = shape_refusal(
      kUnknownLoop, std::string(request) + ": no loop " + around + "is called `" + name.loop + "`");
  refusal.body.push_back("The loops " + around + "are " + listed(existing) + ".");
  // Any one-letter name is one edit away from any other.
  if (const auto meant = closest(name.loop, existing); meant && name.loop.size() > 1) {
    const LoopName better{name.statement, *meant};
    refusal.body.push_back("Did you mean " + quoted(better) + "?");
  }
  return refusal;
}

} // namespace

Refusal::Shape shape_refusal(std::string_view code, std::string headline, Span where,
                             std::string label, std::vector<std::string> body) {
  return {std::string(code), std::move(headline), std::move(label), where, std::move(body), {}};
}

std::vector<LoopId> nameable_loops(const Order& order) {
  std::vector<LoopId> loops = poly::loops_in_order(order);
  std::erase_if(loops, [&](LoopId id) { return order[id].is_coalesced_into_parent; });
  return loops;
}

Result<StmtId, Refusal::Shape> resolve_statement(const Schedule& schedule, std::string_view name,
                                                 std::string_view request) {
  std::vector<std::string> existing;
  const auto& statements = schedule.scop.statements;
  for (uint32_t s = 0; s < statements.size(); ++s) {
    if (statements[s].is_removed)
      continue;
    if (statements[s].text.name == name)
      return StmtId{s};
    existing.push_back(statements[s].text.name);
  }
  Refusal::Shape refusal =
      shape_refusal(kUnknownStatement,
                    std::string(request) + ": there is no statement `" + std::string(name) + "`");
  refusal.body.push_back("The statements are " + listed(existing) + ".");
  if (const std::vector<std::string> writers = writers_of(schedule.scop, name); !writers.empty())
    refusal.body.push_back("`" + std::string(name) + "` is a tensor; it is written by " +
                           listed(writers) + ".");
  return fail(std::move(refusal));
}

Result<LoopId, Refusal::Shape> resolve_loop(const Schedule& schedule, const LoopName& name,
                                            std::string_view request) {
  const Order& order = schedule.order;
  if (name.statement) {
    KAWARA_TRY(const StmtId statement, resolve_statement(schedule, *name.statement, request));
    const std::vector<LoopId> path = nameable_on(order, statement);
    for (const LoopId id : path)
      if (order[id].name == name.loop)
        return id;
    return fail(
        unknown_loop(name, request, names_of(order, path), "around " + *name.statement + " "));
  }
  std::vector<LoopId> found;
  for (const LoopId id : nameable_loops(order))
    if (order[id].name == name.loop)
      found.push_back(id);
  if (found.size() == 1)
    return found.front();
  if (found.empty())
    return fail(unknown_loop(name, request, names_of(order, nameable_loops(order)), ""));
  std::vector<std::string> qualified;
  for (const LoopId id : found)
    qualified.push_back(with_statement(schedule.scop, order, id));
  return fail(shape_refusal(kAmbiguousLoop,
                            std::string(request) + ": " + std::to_string(found.size()) +
                                " loops are called `" + name.loop + "`",
                            order[found[1]].where, "one of them",
                            {"Say which one is meant: " + listed(qualified) + "."}));
}

LoopName name_of_loop(const poly::Scop& scop, const Order& order, LoopId loop) {
  const std::string& name = order[loop].name;
  size_t count = 0;
  for (const LoopId id : nameable_loops(order))
    count += order[id].name == name ? 1 : 0;
  const std::vector<StmtId> below = poly::statements_below(order, loop);
  if (count <= 1 || below.empty())
    return {std::nullopt, name};
  return {scop[below.front()].text.name, name};
}

std::string to_string(const LoopName& name) {
  return name.statement ? *name.statement + "." + name.loop : name.loop;
}

std::string quoted(const LoopName& name) { return "`" + to_string(name) + "`"; }

std::string quoted(const std::vector<LoopName>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + quoted(names[i]);
  return text;
}

} // namespace kawara::schedule
