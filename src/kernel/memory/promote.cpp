#include "kernel/memory/promote.h"

#include "kernel/analysis/elements.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <set>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::binary;
using scalar::BinaryOp;
using ElementSet = std::set<size_t>;

/// Loads of an expression. `is_sure`: evaluated whenever the expression is (not under a select).
void for_loads(const Expr& e, bool is_sure,
               const std::function<void(const Element&, bool is_sure)>& f) {
  if (const auto* load = as<scalar::Load>(e))
    f(element_of(e, *load), is_sure);
  const bool is_choice = as<scalar::Select>(e) != nullptr;
  size_t position = 0;
  for (const Expr& kid : scalar::children(e))
    for_loads(kid, is_sure && (!is_choice || position++ == 0), f);
}

/// Everything one loop body does to memory.
class Survey {
public:
  Survey(const Kernel& kernel, const For& loop, Ranges& ranges,
         const std::set<uint32_t>& thread_private)
      : kernel_(kernel), ranges_(ranges), set_inside_(vars_set_in(loop.body)),
        stored_(buffers_stored_in(loop.body)) {
    set_inside_.insert(loop.var);
    if (has_barrier(loop.body))
      for (const uint32_t buffer : stored_)
        if (kernel.buffers[buffer].scope != Scope::Private && !thread_private.contains(buffer))
          blocked_.insert(buffer);
    ranges_.enter(loop);
    sure_ = survey(loop.body);
    for (const size_t id : std::vector<size_t>(sure_.begin(), sure_.end()))
      if (!is_candidate(table_[id]))
        sure_.erase(id);
    check_conflicts(loop.body);
    ranges_.leave(loop);
  }

  /// Elements to promote, in order of first appearance.
  std::vector<size_t> chosen() const {
    if (sure_.size() > kMaxPromoted)
      return {};
    return {sure_.begin(), sure_.end()};
  }
  const ElementTable& table() const { return table_; }

private:
  bool is_candidate(const Element& element) const {
    // What is only read of a buffer that nobody writes here is left to the code generator.
    if (stored_.count(element.buffer) == 0 || blocked_.count(element.buffer) != 0)
      return false;
    return std::all_of(element.index.begin(), element.index.end(), [&](const Expr& e) {
      return !mentions_any(e, set_inside_) && !has_load(e);
    });
  }

  void loads(const Expr& e, ElementSet& sure) {
    for_loads(e, true, [&](const Element& element, bool is_sure) {
      const size_t id = table_.add(element);
      if (is_sure)
        sure.insert(id);
    });
  }

  /// Adds all elements to the table; those that the block is sure to touch.
  ElementSet survey(const Block& block) {
    ElementSet sure;
    for (const Stmt& stmt : block) {
      visit_own_exprs(stmt, [&](const Expr& e) { loads(e, sure); });
      std::visit([&](const auto& kind) { note(kind, sure); }, stmt);
    }
    return sure;
  }

  void note(const Store& store, ElementSet& sure) {
    sure.insert(table_.add(element_of(kernel_, store)));
  }
  void note(const For& loop, ElementSet& sure) {
    const bool runs = ranges_.runs_at_least_once(loop);
    ranges_.enter(loop);
    ElementSet inner = survey(loop.body);
    ranges_.leave(loop);
    if (runs)
      sure.merge(inner);
    // Threads cannot share a variable.
    if (loop.marks.is_parallel)
      blocked_.merge(buffers_stored_in(loop.body));
  }
  void note(const If& branch, ElementSet& sure) {
    ranges_.enter(branch);
    const ElementSet then = survey(branch.then);
    ranges_.leave(branch);
    ranges_.enter(branch);
    const ElementSet otherwise = survey(branch.otherwise);
    ranges_.leave(branch);
    std::set_intersection(then.begin(), then.end(), otherwise.begin(), otherwise.end(),
                          std::inserter(sure, sure.end()));
  }
  void note(const Allocate& allocate, ElementSet& sure) {
    sure.merge(survey(allocate.body));
    blocked_.insert(allocate.buffer);
  }
  void note(const Zero& zero, ElementSet&) { blocked_.insert(zero.buffer); }
  /// What touches memory beside this thread finds no variables.
  void note(const Launch& launch, ElementSet&) {
    blocked_.merge(buffers_stored_in(launch.body));
    visit_loads(launch.body, [&](const scalar::Load& load) { blocked_.insert(load.tensor); });
  }
  void note(const AsyncOp& async_op, ElementSet&) {
    for (const auto& buffers : {written_by(async_op), read_by(async_op)})
      blocked_.insert(buffers.begin(), buffers.end());
  }
  void note(const OneOf<Define, Assign, Combine, Prefetch, Comment, Barrier, Commit, Await> auto&,
            ElementSet&) {}

  /// Drops candidates that some other access may touch, with what is known of the loops around it.
  void check_conflicts(const Block& block) {
    visit_scoped(block, ranges_, [&](const Stmt& stmt) {
      if (const auto* store = std::get_if<Store>(&stmt))
        check(element_of(kernel_, *store), true);
      visit_own_loads(stmt, [&](const scalar::Load& load, const Expr& e) {
        check(element_of(e, load), false);
      });
    });
  }

  void check(const Element& element, bool is_store) {
    const auto own = table_.find(element);
    for (auto it = sure_.begin(); it != sure_.end();) {
      const Element& candidate = table_[*it];
      const bool may_clash = candidate.buffer == element.buffer && own != *it &&
                             (is_store || is_stored(*it)) &&
                             !(own && table_.are_far_apart(*own, *it));
      if (may_clash && !are_apart(candidate, element, ranges_))
        it = sure_.erase(it);
      else
        ++it;
    }
  }

  /// Elements of a buffer that is stored to count as stored: exact knowledge would save little.
  bool is_stored(size_t id) const { return stored_.count(table_[id].buffer) != 0; }

  const Kernel& kernel_;
  Ranges& ranges_;
  VarSet set_inside_;
  std::set<uint32_t> stored_, blocked_;
  ElementTable table_;
  ElementSet sure_;
};

/// Puts chosen elements of one loop into variables.
class Promotion {
public:
  Promotion(Kernel& kernel, For loop, const Survey& survey, Ranges& ranges,
            const std::set<uint32_t>& fresh)
      : kernel_(kernel), loop_(std::move(loop)), ranges_(ranges), fresh_(fresh) {
    for (const size_t id : survey.chosen()) {
      const Element& element = survey.table()[id];
      const std::string name = kernel_.buffers[element.buffer].name + "_element";
      vars_.push_back(add_variable(kernel_, name, element.type));
      chosen_.add(element);
    }
  }

  Block run(bool runs_surely) {
    Block result;
    std::vector<bool> is_stored(chosen_.size(), false);
    visit(loop_.body, [&](const Store& store) {
      if (const auto id = chosen_.find(element_of(kernel_, store)))
        is_stored[*id] = true;
    });
    for (size_t id = 0; id < chosen_.size(); ++id) {
      const Element& element = chosen_[id];
      const bool is_needed = needs_old_value(element);
      result.emplace_back(
          Define{vars_[id], is_needed ? load(element) : scalar::zero_of(element.type)});
    }
    For loop = loop_;
    loop.body = replaced(loop_.body);
    result.emplace_back(std::move(loop));
    for (size_t id = 0; id < chosen_.size(); ++id)
      if (is_stored[id])
        result.emplace_back(
            Store{chosen_[id].buffer, chosen_[id].index, ReduceOp::None, value(id)});
    if (runs_surely)
      return result;
    const Expr runs = scalar::simplify(binary(BinaryOp::Lt, loop_.lo, loop_.hi));
    return block_of(If{runs, std::move(result), {}});
  }

private:
  static Expr load(const Element& element) {
    return scalar::load(element.buffer, element.index, element.type);
  }

  Expr variable(size_t id) const { return scalar::var(vars_[id], chosen_[id].type); }

  static scalar::Type computed(scalar::Type type) {
    return {scalar::compute_type(type.elem), type.lanes};
  }

  /// The variable in the type that a store takes.
  Expr value(size_t id) const { return scalar::cast(variable(id), computed(chosen_[id].type)); }

  /// What a block does to the old value of an element first: nothing that is certain, reads it, or
  /// certainly replaces it.
  enum class First : uint8_t { Nothing, Reads, Writes };

  static bool has_read(const Expr& e, const Element& element) {
    bool found = false;
    for_loads(e, true, [&](const Element& c, bool) { found |= is_same(c, element); });
    return found;
  }

  First first_use(const Block& block, const Element& element) {
    for (const Stmt& stmt : block)
      if (const First use = first_use(stmt, element); use != First::Nothing)
        return use;
    return First::Nothing;
  }

  First first_use(const Stmt& stmt, const Element& element) {
    bool reads = false;
    visit_own_exprs(stmt, [&](const Expr& e) { reads = reads || has_read(e, element); });
    const auto inside = [&](const auto& kind) { return use_inside(kind, element); };
    return reads ? First::Reads : std::visit(inside, stmt);
  }

  First use_inside(const Store& store, const Element& element) const {
    if (!is_same(element_of(kernel_, store), element))
      return First::Nothing;
    return store.op == ReduceOp::None ? First::Writes : First::Reads;
  }
  First use_inside(const For& loop, const Element& element) {
    const bool runs = ranges_.runs_at_least_once(loop);
    ranges_.enter(loop);
    const First use = first_use(loop.body, element);
    ranges_.leave(loop);
    return use == First::Writes && !runs ? First::Nothing : use;
  }
  First use_inside(const If& branch, const Element& element) {
    ranges_.enter(branch);
    const First then = first_use(branch.then, element);
    ranges_.leave(branch);
    ranges_.enter(branch);
    const First other = first_use(branch.otherwise, element);
    ranges_.leave(branch);
    if (then == First::Reads || other == First::Reads)
      return First::Reads;
    return then == other ? then : First::Nothing;
  }
  First use_inside(const OneOf<Allocate, Launch> auto& stmt, const Element& element) {
    return first_use(stmt.body, element);
  }
  /// Elements that a Zero or an asynchronous operation touches are no candidates.
  First use_inside(const OneOf<Define, Assign, Combine, Zero, Prefetch, Comment, Barrier, Commit,
                               Await, AsyncOp> auto&,
                   const Element&) const {
    return First::Nothing;
  }

  /// Without a certain write the old value is needed, if only to be stored back.
  bool needs_old_value(const Element& element) {
    if (fresh_.contains(element.buffer))
      return false;
    ranges_.enter(loop_);
    const First use = first_use(loop_.body, element);
    ranges_.leave(loop_);
    return use != First::Writes;
  }

  Expr with_variables(const Expr& e) const {
    return scalar::rewrite(e, [&](const Expr& n) {
      const auto* l = as<scalar::Load>(n);
      const auto id = l != nullptr ? chosen_.find(element_of(n, *l)) : std::nullopt;
      return id ? variable(*id) : Expr();
    });
  }

  Block replaced(const Block& body) const {
    const Block read = map_exprs(body, [&](const Expr& e) { return with_variables(e); });
    return rewrite(read, [&](const Store& store) -> Stmt {
      const auto id = chosen_.find(element_of(kernel_, store));
      if (!id)
        return store;
      const Expr given = scalar::cast(store.value, computed(chosen_[*id].type));
      const Expr result = scalar::combine(store.op, value(*id), given);
      return Assign{vars_[*id], scalar::cast(result, chosen_[*id].type), store.origins};
    });
  }

  Kernel& kernel_;
  For loop_;
  Ranges& ranges_;
  const std::set<uint32_t>& fresh_;
  ElementTable chosen_;
  std::vector<uint32_t> vars_;
};

class Promoter {
public:
  /// `fresh`: buffers that hold nothing yet.
  Promoter(Kernel& kernel, std::set<uint32_t> thread_private, std::set<uint32_t> fresh)
      : kernel_(kernel), owned_(std::move(thread_private)), fresh_(std::move(fresh)) {}

  Block block(const Block& statements) {
    Block result;
    for (const Stmt& stmt : statements) {
      Block made = one(stmt);
      start_with_stored(result, made);
      append(result, std::move(made));
      forget_stored(stmt);
    }
    return result;
  }

private:
  /// A whole tile (target::Intrinsic::is_tile) that was set just before its loop starts with what
  /// it was set to, and is not stored twice. LLVM does as much for vectors, but does not look into
  /// loads of tiles.
  void start_with_stored(Block& before, Block& made) const {
    constexpr int64_t kLongestVector = 256;
    for (Stmt& stmt : made) {
      auto* define = std::get_if<Define>(&stmt);
      const auto* load = define != nullptr ? as<scalar::Load>(define->value) : nullptr;
      if (load == nullptr ||
          define->value.type().lanes * scalar::bytes_of(define->value.type().elem) <=
              kLongestVector)
        continue;
      const Element element = element_of(define->value, *load);
      for (size_t s = before.size(); s-- > 0;) {
        const auto* store = std::get_if<Store>(&before[s]);
        if (store == nullptr)
          break;
        const Element stored = element_of(kernel_, *store);
        if (is_same(stored, element) && store->op == ReduceOp::None && !has_load(store->value)) {
          define->value = scalar::cast(store->value, element.type);
          if (stores(made, element)) {
            define->origins = store->origins;
            before.erase(before.begin() + static_cast<std::ptrdiff_t>(s));
          }
          break;
        }
        if (store->buffer == element.buffer && !are_apart(stored, element, ranges_))
          break;
      }
    }
  }

  bool stores(const Block& statements, const Element& element) const {
    return std::any_of(statements.begin(), statements.end(), [&](const Stmt& stmt) {
      const auto* store = std::get_if<Store>(&stmt);
      return store != nullptr && is_same(element_of(kernel_, *store), element);
    });
  }

  Block one(Stmt stmt) {
    const std::set<uint32_t> before = fresh_;
    auto* loop = std::get_if<For>(&stmt);
    if (const auto* allocate = std::get_if<Allocate>(&stmt))
      fresh_.insert(allocate->buffer);
    if (loop != nullptr) {
      forget_stored(stmt); // by the iteration before
      ranges_.enter(*loop);
    }
    const std::set<uint32_t> inside = fresh_;
    const auto* branch = std::get_if<If>(&stmt);
    for_blocks(stmt, [&](Block& statements) {
      fresh_ = inside;
      if (branch != nullptr)
        ranges_.enter(*branch);
      statements = block(statements);
      if (branch != nullptr)
        ranges_.leave(*branch);
    });
    fresh_ = before;
    if (loop == nullptr)
      return block_of(std::move(stmt));
    ranges_.leave(*loop);
    if (loop->marks.is_parallel)
      return block_of(std::move(stmt));
    const Survey survey(kernel_, *loop, ranges_, owned_);
    if (survey.chosen().empty())
      return block_of(std::move(stmt));
    const bool runs = ranges_.runs_at_least_once(*loop);
    return Promotion(kernel_, std::move(*loop), survey, ranges_, before).run(runs);
  }

  void forget_stored(const Stmt& stmt) {
    for (const uint32_t buffer : buffers_stored_in(stmt))
      fresh_.erase(buffer);
  }

  Kernel& kernel_;
  std::set<uint32_t> owned_, fresh_;
  Ranges ranges_;
};

} // namespace

Kernel promote(Kernel kernel) {
  std::set<uint32_t> fresh;
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].scope == Scope::Workspace && !kernel.buffers[b].is_constant)
      fresh.insert(b);
  const Block body = kernel.body;
  kernel.body = Promoter(kernel, {}, std::move(fresh)).block(body);
  return kernel;
}

Kernel promote(Kernel kernel, const std::set<uint32_t>& thread_private) {
  const Block body = kernel.body;
  kernel.body = Promoter(kernel, thread_private, {}).block(body);
  return kernel;
}

} // namespace kawara::kernel
