#include "schedule/auto/nest/private_temps.h"

#include "poly/accesses.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::Access;
using poly::LoopId;
using poly::StmtId;

namespace {

bool is_temp(const poly::Scop& scop, uint32_t tensor) {
  return scop.tensors[tensor].role == program::Role::Temp;
}

/// No index of the access moves with the loop at this depth of its statement.
bool stays_along(const Schedule& schedule, const Access& access, size_t depth) {
  const std::set<uint32_t> moving =
      iterators_of(schedule.order.rows[access.statement.value][depth]);
  return std::none_of(access.index.begin(), access.index.end(), [&](const scalar::Expr& index) {
    const std::set<uint32_t> own = iterators_of(index);
    return std::any_of(own.begin(), own.end(), [&](uint32_t i) { return moving.contains(i); });
  });
}

/// Text alone: the loops in which a temp's elements are written anew and read, innermost first.
/// Programs without such temps, most of those made of operators, are left here.
std::vector<LoopId> reusing_loops(const Schedule& schedule, const std::vector<Access>& accesses,
                                  const Access& write) {
  const std::vector<LoopId> path = poly::path_of(schedule.order, write.statement);
  std::vector<LoopId> loops;
  for (size_t depth = path.size(); depth-- > 0;) {
    const std::vector<StmtId> below = poly::statements_below(schedule.order, path[depth]);
    const bool is_read = std::any_of(accesses.begin(), accesses.end(), [&](const Access& a) {
      return !a.is_write && std::find(below.begin(), below.end(), a.statement) != below.end();
    });
    if (is_read && stays_along(schedule, write, depth))
      loops.push_back(path[depth]);
  }
  return loops;
}

/// What below a loop reads or writes a temp.
struct Uses {
  std::set<StmtId> writers, updaters,
      readers; ///< plain writers; updates; all that read, updates apart
};

Uses uses_below(const Schedule& schedule, const std::vector<Access>& accesses, LoopId loop) {
  const std::vector<StmtId> inside = poly::statements_below(schedule.order, loop);
  const std::set<StmtId> below(inside.begin(), inside.end());
  Uses uses;
  for (const Access& access : accesses)
    if (below.contains(access.statement))
      (access.is_update  ? uses.updaters
       : access.is_write ? uses.writers
                         : uses.readers)
          .insert(access.statement);
  return uses;
}

/// One statement uses the value, as often as it is made.
bool may_be_inlined(const Schedule& schedule, const Uses& uses) {
  return uses.writers.size() == 1 && uses.readers.size() == 1 && uses.updaters.empty() &&
         poly::path_of(schedule.order, *uses.writers.begin()) ==
             poly::path_of(schedule.order, *uses.readers.begin());
}

/// Tensors of which each iteration of the loop writes, for each of the temp's elements, an element
/// of its own with that value in it, as text shows it. Values in an element that iterations share
/// would keep them in order as before.
std::set<uint32_t> results_of(const Schedule& schedule, uint32_t temp, LoopId loop) {
  const size_t depth = *poly::depth_of(schedule.order, loop) + 1;
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  std::set<uint32_t> results;
  for (const Access& access : poly::bare_accesses_of(schedule.scop, temp)) {
    if (access.is_write || access.is_update ||
        std::find(below.begin(), below.end(), access.statement) == below.end())
      continue;
    const program::Statement& text = schedule.scop[access.statement].text;
    std::set<uint32_t> needed, moving;
    for (size_t d = 0; d < depth; ++d)
      needed.merge(iterators_of(schedule.order.rows[access.statement.value][d]));
    for (const scalar::Expr& index : access.index)
      needed.merge(iterators_of(index));
    for (const scalar::Expr& index : text.index)
      moving.merge(iterators_of(index));
    if (text.tensor != temp && needed == moving &&
        schedule.scop.tensors[text.tensor].elem == schedule.scop.tensors[temp].elem)
      results.insert(text.tensor);
  }
  return results;
}

bool reads_elements(const program::Statement& text) {
  bool found = text.op != scalar::ReduceOp::None;
  scalar::visit(text.value, [&](const scalar::Expr& e) {
    found = found || scalar::as<scalar::Load>(e) != nullptr;
  });
  return found;
}

class OwnTemps {
public:
  OwnTemps(const Schedule& schedule, const Environment& environment)
      : schedule_(schedule), environment_(environment) {}

  Schedule found() {
    for_all_temps(&OwnTemps::gone_at);
    const Schedule before = schedule_;
    for_all_temps(&OwnTemps::copies_at);
    keep_useful_copies(before);
    return std::move(schedule_);
  }

private:
  static constexpr uint32_t kGone = UINT32_MAX;

  /// A temp of which iterations of a loop have got copies.
  struct Copied {
    uint32_t tensor = kGone;
    LoopId loop{};
  };

  using Step = bool (OwnTemps::*)(uint32_t, LoopId);

  void for_all_temps(Step step) {
    const size_t tensors = schedule_.scop.tensors.size();
    for (uint32_t t = 0; t < tensors; ++t) {
      std::set<LoopId> refused;
      while (is_temp(schedule_.scop, t) && schedule_.scop.tensors[t].private_dims == 0 &&
             is_taken(step, t, refused)) {}
    }
  }

  /// For the first of the temp's writes that has a loop for it around; false when there is none.
  bool is_taken(Step step, uint32_t tensor, std::set<LoopId>& refused) {
    const std::vector<Access> accesses = poly::bare_accesses_of(schedule_.scop, tensor);
    for (const Access& write : accesses) {
      if (!write.is_write || write.is_update)
        continue;
      for (const LoopId loop : reusing_loops(schedule_, accesses, write))
        if (refused.insert(loop).second && (this->*step)(tensor, loop))
          return true;
    }
    return false;
  }

  /// Gives iterations of the loop their copies, of the temp or, where others use that as well, of a
  /// new one.
  std::optional<uint32_t> copied(const StoreAt& directive) {
    const std::vector<program::Tensor>& tensors = schedule_.scop.tensors;
    const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const program::Tensor& t) {
      return t.name == directive.tensor;
    });
    const size_t count = tensors.size();
    const auto at = static_cast<size_t>(tensor - tensors.begin());
    if (!tried(directive))
      return std::nullopt;
    return static_cast<uint32_t>(schedule_.scop.tensors.size() > count ? count : at);
  }

  std::optional<uint32_t> copied(uint32_t tensor, LoopId loop) {
    return copied(StoreAt{name_of(tensor), name_of_loop(schedule_.scop, schedule_.order, loop)});
  }

  /// The copies are needed no longer once they are there.
  bool gone_at(uint32_t tensor, LoopId loop) {
    const Uses uses = uses_below(schedule_, poly::bare_accesses_of(schedule_.scop, tensor), loop);
    const bool may_go = may_be_inlined(schedule_, uses);
    const std::set<uint32_t> results = results_of(schedule_, tensor, loop);
    if (!may_go && results.empty())
      return false;
    const Schedule before = schedule_;
    const auto own = copied(tensor, loop);
    if (own && may_go && tried(Inline{schedule_.scop[*uses.writers.begin()].text.name}))
      return true;
    if (own && is_stored_in_one(*own, results))
      return true;
    schedule_ = before;
    return false;
  }

  bool is_stored_in_one(uint32_t temp, const std::set<uint32_t>& results) {
    return std::any_of(results.begin(), results.end(), [&](uint32_t other) {
      return tried(StoreIn{name_of(temp), name_of(other)});
    });
  }

  bool copies_at(uint32_t tensor, LoopId loop) {
    const Schedule before = schedule_;
    const auto own = copied(tensor, loop);
    if (own && !has_too_many_elements(*own)) {
      copied_.push_back({*own, loop});
      return true;
    }
    schedule_ = before;
    return false;
  }

  /// More dimensions than any tensor of the caller: where loops come apart, all of them may be live
  /// at once.
  bool has_too_many_elements(uint32_t temp) const {
    size_t most = 0;
    for (const program::Tensor& tensor : schedule_.scop.tensors)
      if (tensor.role != program::Role::Temp)
        most = std::max(most, tensor.shape.size());
    return schedule_.scop.tensors[temp].shape.size() > most;
  }

  /// Copies that let no loop run in any order only take memory. A scalar's are few: it is enough
  /// when a part of the loop can, by itself. Where iterations have copies of a result, too, values
  /// may lie in those.
  void keep_useful_copies(const Schedule& before) {
    std::vector<bool> is_useful;
    for (const Copied& copied : copied_) {
      const program::Tensor& temp = schedule_.scop.tensors[copied.tensor];
      const bool is_scalar = temp.shape.size() == temp.private_dims;
      is_useful.push_back(has_free_loop(copied.loop) || (is_scalar && has_free_part(copied.loop)));
    }
    const std::vector<Directive> all = schedule_.applied;
    schedule_ = before;
    for (size_t k = 0; k < copied_.size(); ++k) {
      const auto own =
          is_useful[k] ? copied(std::get<StoreAt>(all[before.applied.size() + k])) : std::nullopt;
      copied_[k].tensor = own.value_or(kGone);
    }
    for (const Copied& copied : copied_)
      if (copied.tensor != kGone)
        is_stored_in_one(copied.tensor, results_of(schedule_, copied.tensor, copied.loop));
  }

  bool has_free_loop(LoopId innermost) const {
    const poly::Order& order = schedule_.order;
    if (poly::find_node(order, innermost) == nullptr)
      return false;
    const StmtId inside = poly::statements_below(order, innermost).front();
    for (const LoopId loop : poly::path_of(order, inside)) {
      if (is_free(order, loop))
        return true;
      if (loop == innermost)
        break;
    }
    return false;
  }

  /// Starts that read nothing do not count: by themselves they take no time worth a nest.
  bool has_free_part(LoopId loop) const {
    if (poly::find_node(schedule_.order, loop) == nullptr)
      return false;
    const Distributed parts = distributed_at(schedule_.scop, schedule_.order, loop);
    return std::any_of(parts.loops.begin(), parts.loops.end(), [&](LoopId part) {
      const std::vector<StmtId> below = poly::statements_below(parts.order, part);
      return std::any_of(below.begin(), below.end(),
                         [&](StmtId id) { return reads_elements(schedule_.scop[id].text); }) &&
             is_free(parts.order, part);
    });
  }

  bool is_free(poly::Order order, LoopId loop) const {
    order[loop].marks.is_parallel = true;
    return std::holds_alternative<poly::Legal>(
        poly::judge(schedule_.scop, order, environment_.quota));
  }

  bool tried(const Directive& directive) {
    auto next = apply(schedule_, directive, environment_);
    if (!next)
      return false;
    schedule_ = *std::move(next);
    return true;
  }

  const std::string& name_of(uint32_t tensor) const { return schedule_.scop.tensors[tensor].name; }

  Schedule schedule_;
  const Environment& environment_;
  std::vector<Copied> copied_; ///< in the order of the directives
};

} // namespace

Schedule with_own_temps(const Schedule& schedule, const Environment& environment) {
  return OwnTemps(schedule, environment).found();
}

} // namespace kawara::schedule
