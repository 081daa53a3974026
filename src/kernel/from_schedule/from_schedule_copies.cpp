#include "kernel/from_schedule/from_schedule_copies.h"

#include "kernel/walk.h"
#include "poly/accesses.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>
#include <optional>
#include <set>

namespace kawara::kernel {
namespace {

using poly::Access;
using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

std::vector<LoopId> shared_path(const poly::Order& order, const std::vector<Access>& accesses) {
  std::vector<LoopId> shared = poly::path_of(order, accesses.front().statement);
  for (const Access& access : accesses) {
    const std::vector<LoopId> path = poly::path_of(order, access.statement);
    const auto end = std::mismatch(shared.begin(), shared.end(), path.begin(), path.end()).first;
    shared.erase(end, shared.end());
  }
  return shared;
}

/// Lanes and joined loops do not run iteration by iteration.
bool runs_one_by_one(const poly::Order& order, LoopId loop) {
  const poly::TreeNode* node = poly::find_node(order, loop);
  return order[loop].marks.vector_width == 0 &&
         !(node->body.size() == 1 && node->body[0].is_loop() &&
           order[node->body[0].loop()].is_coalesced_into_parent);
}

bool is_thread_loop(const poly::Order& order, LoopId loop) {
  return poly::is_thread(order[loop].marks.axis);
}

/// The loops of `path` outside all threads, when threads inside one thread's iteration share the
/// copy; else all of them.
std::vector<LoopId> outside_threads(const poly::Order& order, std::vector<LoopId> path,
                                    const std::vector<Access>& accesses) {
  const auto first = std::find_if(path.begin(), path.end(),
                                  [&](LoopId loop) { return is_thread_loop(order, loop); });
  const bool is_shared = std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    const std::vector<LoopId> own = poly::path_of(order, access.statement);
    return std::any_of(own.begin() + static_cast<std::ptrdiff_t>(path.size()), own.end(),
                       [&](LoopId loop) { return is_thread_loop(order, loop); });
  });
  if (is_shared)
    path.erase(first, path.end());
  return path;
}

/// { copy -> iteration of the first `depth` loops } over all accesses.
isl::map copies_by_iteration(const schedule::Schedule& s, const std::vector<Access>& accesses,
                             size_t copy_dims, size_t depth) {
  isl::map all;
  const auto first = [](const std::vector<Expr>& list, size_t count) {
    return std::vector<Expr>(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
  };
  for (const Access& access : accesses) {
    const isl::set domain = s.scop[access.statement].domain.intersect_params(s.scop.context);
    const isl::map copy = schedule::map_of(first(access.index, copy_dims), domain, s.scop.params);
    const isl::map iteration =
        schedule::map_of(first(s.order.rows[access.statement.value], depth), domain, s.scop.params);
    const isl::map part = copy.reverse().apply_range(iteration);
    all = all.is_null() ? part : all.unite(part);
  }
  return all;
}

std::optional<SingleCopy> single_copy(const schedule::Schedule& s, uint32_t tensor,
                                      const std::vector<Access>& accesses) {
  std::vector<LoopId> path = outside_threads(s.order, shared_path(s.order, accesses), accesses);
  const size_t dims = s.scop.tensors[tensor].private_dims;
  // Loops may share a copy that is kept over several of their iterations: the place is further out
  // then.
  for (; !path.empty(); path.pop_back())
    if (runs_one_by_one(s.order, path.back()) &&
        copies_by_iteration(s, accesses, dims, path.size()).is_bijective())
      return SingleCopy{tensor, path.back()};
  return std::nullopt;
}

using Statements = std::set<uint32_t>;

/// The statements in the block that touch the buffer.
Statements touching(const Block& block, uint32_t buffer) {
  Statements found;
  visit(block, [&](const Store& store) {
    bool touches = store.buffer == buffer;
    visit_own_loads(store, [&](const scalar::Load& load) { touches |= load.tensor == buffer; });
    if (touches)
      for (const Origin& origin : store.origins)
        found.insert(origin.statement);
  });
  return found;
}

/// Whether both run in an iteration of the loop and of those around it.
bool share_iteration(const schedule::Schedule& s, uint32_t a, uint32_t b, LoopId loop) {
  const auto iterations = [&](uint32_t id) {
    const std::vector<LoopId> path = poly::path_of(s.order, StmtId{id});
    const auto depth = std::find(path.begin(), path.end(), loop) - path.begin() + 1;
    const std::vector<Expr>& rows = s.order.rows[id];
    const isl::set domain = s.scop[StmtId{id}].domain.intersect_params(s.scop.context);
    return schedule::map_of({rows.begin(), rows.begin() + depth}, domain, s.scop.params).range();
  };
  return !iterations(a).intersect(iterations(b)).is_empty();
}

/// Of two parts of one loop that isl tore, each has a statement that the other lacks: it tears
/// between statements alone.
bool is_torn(const schedule::Schedule& s, const Statements& one, const Statements& other,
             LoopId loop) {
  for (const uint32_t a : one)
    for (const uint32_t b : other)
      if (!other.contains(a) && !one.contains(b) && share_iteration(s, a, b, loop))
        return true;
  return false;
}

} // namespace

bool has_torn_copy(const schedule::Schedule& s, const std::map<uint32_t, LoopId>& places,
                   const Block& body) {
  std::map<uint32_t, std::set<Statements>> parts;
  visit(body, [&](const Allocate& allocate) {
    if (places.contains(allocate.buffer))
      parts[allocate.buffer].insert(touching(allocate.body, allocate.buffer));
  });
  for (const auto& [buffer, own] : parts)
    for (auto one = own.begin(); one != own.end(); ++one)
      for (auto other = std::next(one); other != own.end(); ++other)
        if (is_torn(s, *one, *other, places.at(buffer)))
          return true;
  return false;
}

std::vector<SingleCopy> single_copies(const schedule::Schedule& s) {
  std::vector<SingleCopy> found;
  const std::vector<Access> all = poly::bare_accesses(s.scop);
  for (uint32_t tensor = 0; tensor < s.scop.tensors.size(); ++tensor) {
    if (s.scop.tensors[tensor].private_dims == 0)
      continue;
    std::vector<Access> own;
    std::copy_if(all.begin(), all.end(), std::back_inserter(own),
                 [&](const Access& access) { return access.tensor == tensor; });
    for (Access& access : own)
      access.relation = poly::relation_of(s.scop, access);
    if (!own.empty())
      if (const auto copy = single_copy(s, tensor, own))
        found.push_back(*copy);
  }
  return found;
}

} // namespace kawara::kernel
