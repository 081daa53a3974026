#include "mutation/fault.h"

#include "kernel/walk.h"
#include "support/check.h"
#include "support/hash.h"
#include "support/text.h"

#include <algorithm>
#include <functional>

namespace kawara::mutation {
namespace {

using namespace kernel;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// What is done at a place: the statements instead of one, nothing where the fault does not apply.
/// `draw` chooses among several ways.
using AtStatement = std::function<std::optional<Block>(const Kernel&, Stmt, uint64_t draw)>;
/// The same for a node of an index, a bound or a value.
using AtNode = std::function<std::optional<Expr>(const Expr&, uint64_t draw)>;

const std::string kWaitDropped = "barrier or wait dropped", kWaitMoved = "barrier or wait moved",
                  kWaitOfSome = "wait that some threads leave out",
                  kOtherAsync = "wrong asynchronous operation";

Expr plus(const Expr& e, int64_t n) { return scalar::simplify(e + scalar::int_lit(n, e.type())); }

Stmt headline(Stmt stmt) {
  if (auto* s = std::get_if<For>(&stmt))
    s->body = block_of(Comment{"..."});
  else if (auto* t = std::get_if<If>(&stmt)) {
    t->then = block_of(Comment{"..."});
    t->otherwise.clear();
  } else if (auto* u = std::get_if<Allocate>(&stmt))
    u->body = block_of(Comment{"..."});
  else if (auto* v = std::get_if<Launch>(&stmt))
    v->body = block_of(Comment{"..."});
  return stmt;
}

/// All places in turn, bottom up; the one that `seed` chooses is changed.
std::optional<Faulty> at_statements(const Kernel& kernel, uint64_t seed, const AtStatement& fault) {
  size_t places = 0;
  // Twice the same walk: the first counts.
  rewrite(kernel.body, [&](Stmt stmt) {
    places += fault(kernel, stmt, seed).has_value() ? 1 : 0;
    return block_of(std::move(stmt));
  });
  if (places == 0)
    return std::nullopt;
  const size_t chosen = hash_mix(seed, 17) % places;
  size_t at = 0;
  Faulty faulty{kernel, ""};
  faulty.kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    auto changed = fault(kernel, stmt, seed);
    if (!changed || at++ != chosen)
      return block_of(std::move(stmt));
    faulty.what = statement_line(kernel, stmt);
    return *std::move(changed);
  });
  return faulty;
}

/// Roots of a statement's expressions that a fault may be in: bounds and conditions, or indices and
/// values.
enum class Where : uint8_t { Bounds, Accesses };

bool is_bound(const Stmt& stmt) {
  return std::holds_alternative<For>(stmt) || std::holds_alternative<If>(stmt) ||
         std::holds_alternative<Launch>(stmt);
}

Stmt without_bodies(Stmt stmt) {
  std::visit(
      [](auto& s) {
        if constexpr (requires { s.body; })
          s.body.clear();
        if constexpr (requires { s.then; }) {
          s.then.clear();
          s.otherwise.clear();
        }
      },
      stmt);
  return stmt;
}

Stmt with_bodies_of(Stmt changed, const Stmt& from) {
  if (auto* s = std::get_if<For>(&changed))
    s->body = std::get<For>(from).body;
  else if (auto* t = std::get_if<If>(&changed)) {
    t->then = std::get<If>(from).then;
    t->otherwise = std::get<If>(from).otherwise;
  } else if (auto* u = std::get_if<Allocate>(&changed))
    u->body = std::get<Allocate>(from).body;
  else if (auto* v = std::get_if<Launch>(&changed))
    v->body = std::get<Launch>(from).body;
  return changed;
}

AtStatement at_nodes(Where where, const AtNode& fault) {
  return [=](const Kernel&, Stmt stmt, uint64_t draw) -> std::optional<Block> {
    if (is_bound(stmt) != (where == Where::Bounds) || std::holds_alternative<Prefetch>(stmt) ||
        std::holds_alternative<Allocate>(stmt))
      return std::nullopt;
    const Block own = block_of(without_bodies(stmt));
    std::vector<Expr> nodes;
    visit_exprs(own, [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& node) {
        if (fault(node, draw))
          nodes.push_back(node);
      });
    });
    if (nodes.empty())
      return std::nullopt;
    const Expr target = nodes[hash_mix(draw, 29) % nodes.size()];
    bool is_done = false;
    const Block changed = map_exprs(own, [&](const Expr& root) {
      return scalar::rewrite(root, [&](const Expr& node) {
        if (is_done || !scalar::equal(node, target))
          return Expr();
        is_done = true;
        return *fault(node, draw);
      });
    });
    if (!is_done || changed.size() != 1)
      return std::nullopt;
    return block_of(with_bodies_of(changed.front(), stmt));
  };
}

std::optional<Expr> one_side_of_min(const Expr& e, uint64_t draw) {
  const auto* node = scalar::as<scalar::Binary>(e);
  if (node == nullptr || e.type().elem != scalar::Elem::I64 ||
      (node->op != BinaryOp::Min && node->op != BinaryOp::Max))
    return std::nullopt;
  return draw % 2 == 0 ? node->lhs : node->rhs;
}

std::optional<Expr> relaxed(const Expr& e, uint64_t) {
  const auto* node = scalar::as<scalar::Binary>(e);
  if (node == nullptr || node->lhs.type().elem != scalar::Elem::I64)
    return std::nullopt;
  switch (node->op) {
  case BinaryOp::Lt:
    return binary(BinaryOp::Le, node->lhs, node->rhs);
  case BinaryOp::Le:
    return binary(BinaryOp::Lt, node->lhs, node->rhs);
  case BinaryOp::Gt:
    return binary(BinaryOp::Ge, node->lhs, node->rhs);
  case BinaryOp::Ge:
    return binary(BinaryOp::Gt, node->lhs, node->rhs);
  case BinaryOp::And:
    return node->lhs;
  default:
    return std::nullopt;
  }
}

/// An index one further, or two indices exchanged.
std::optional<std::vector<Expr>> other_index(std::vector<Expr> index, uint64_t draw) {
  if (index.empty())
    return std::nullopt;
  const size_t d = hash_mix(draw, 5) % index.size();
  const bool swaps = index.size() > 1 && draw % 3 == 0;
  if (swaps) {
    const size_t other = (d + 1) % index.size();
    if (index[d].type() != index[other].type() || scalar::equal(index[d], index[other]))
      return std::nullopt;
    std::swap(index[d], index[other]);
    return index;
  }
  index[d] = plus(index[d], draw % 2 == 0 ? 1 : -1);
  return index;
}

std::optional<Expr> load_elsewhere(const Expr& e, uint64_t draw) {
  const auto* node = scalar::as<scalar::Load>(e);
  const auto index = node != nullptr ? other_index(node->index, draw) : std::nullopt;
  return index ? std::optional(scalar::load(node->tensor, *index, e.type())) : std::nullopt;
}

std::optional<Expr> other_lanes(const Expr& e, uint64_t draw) {
  const auto* node = scalar::as<scalar::Ramp>(e);
  if (node == nullptr)
    return std::nullopt;
  return draw % 2 == 0
             ? scalar::ramp(node->base, node->stride + 1, e.type().lanes)
             : scalar::ramp(plus(node->base, e.type().lanes), node->stride, e.type().lanes);
}

std::optional<Expr> other_slot(const Expr& e, uint64_t) {
  const auto* node = scalar::as<scalar::Binary>(e);
  if (node == nullptr || node->op != BinaryOp::Mod || e.type() != scalar::kIndex)
    return std::nullopt;
  return binary(BinaryOp::Mod, plus(node->lhs, 1), node->rhs);
}

AtStatement at_loops(const std::function<bool(For&, uint64_t)>& change) {
  return [=](const Kernel&, Stmt stmt, uint64_t draw) -> std::optional<Block> {
    auto* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || !change(*loop, draw))
      return std::nullopt;
    return block_of(std::move(stmt));
  };
}

/// Statements in a body of a loop, a branch or a launch, changed together.
AtStatement at_bodies(const std::function<bool(Block&, uint64_t)>& change) {
  return [=](const Kernel&, Stmt stmt, uint64_t draw) -> std::optional<Block> {
    Block* body = nullptr;
    if (auto* loop = std::get_if<For>(&stmt))
      body = &loop->body;
    else if (auto* branch = std::get_if<If>(&stmt))
      body = &branch->then;
    else if (auto* allocate = std::get_if<Allocate>(&stmt))
      body = &allocate->body;
    else if (auto* launch = std::get_if<Launch>(&stmt))
      body = &launch->body;
    if (body == nullptr || !change(*body, draw))
      return std::nullopt;
    return block_of(std::move(stmt));
  };
}

bool swap_neighbours(Block& body, uint64_t draw) {
  std::vector<size_t> places;
  for (size_t at = 0; at + 1 < body.size(); ++at)
    if (!std::holds_alternative<Comment>(body[at]) &&
        !std::holds_alternative<Comment>(body[at + 1]))
      places.push_back(at);
  if (places.empty())
    return false;
  const size_t at = places[hash_mix(draw, 3) % places.size()];
  std::swap(body[at], body[at + 1]);
  return true;
}

bool is_wait(const Stmt& stmt) {
  if (const auto* async_op = std::get_if<AsyncOp>(&stmt))
    return std::holds_alternative<AwaitPhase>(async_op->what) ||
           std::holds_alternative<AwaitMma>(async_op->what) ||
           std::holds_alternative<GroupBarrier>(async_op->what) ||
           std::holds_alternative<Arrive>(async_op->what);
  return std::holds_alternative<Barrier>(stmt) || std::holds_alternative<Await>(stmt);
}

bool move_wait(Block& body, uint64_t draw) {
  std::vector<size_t> places;
  for (size_t at = 0; at + 1 < body.size(); ++at)
    if (is_wait(body[at]) != is_wait(body[at + 1]))
      places.push_back(at);
  if (places.empty())
    return false;
  const size_t at = places[hash_mix(draw, 3) % places.size()];
  std::swap(body[at], body[at + 1]);
  return true;
}

/// Statements of which `is_one` is true vanish, or come twice.
AtStatement gone(const std::function<bool(const Stmt&)>& is_one, size_t copies = 0) {
  return [=](const Kernel&, Stmt stmt, uint64_t) -> std::optional<Block> {
    if (!is_one(stmt))
      return std::nullopt;
    return Block(copies, stmt);
  };
}

bool is_store(const Stmt& s) { return std::holds_alternative<Store>(s); }
bool is_assignment(const Stmt& s) { return std::holds_alternative<Assign>(s); }
bool is_update(const Stmt& s) {
  if (const auto* store = std::get_if<Store>(&s))
    return store->op == ReduceOp::Sum || store->op == ReduceOp::Prod;
  const auto* assign = std::get_if<Assign>(&s);
  bool reads_itself = false;
  if (assign != nullptr && scalar::as<scalar::Binary>(assign->value) != nullptr)
    scalar::visit(assign->value, [&](const Expr& e) {
      const auto* var = scalar::as<scalar::Var>(e);
      reads_itself = reads_itself || (var != nullptr && var->id == assign->var);
    });
  return reads_itself;
}
bool is_start(const Stmt& s) {
  if (std::holds_alternative<Zero>(s))
    return true;
  const auto* store = std::get_if<Store>(&s);
  if (store == nullptr || store->op != ReduceOp::None)
    return false;
  const auto* all = scalar::as<scalar::Broadcast>(store->value);
  const Expr& value = all != nullptr ? all->arg : store->value;
  return scalar::as<scalar::FloatLit>(value) != nullptr || scalar::constant_of(value).has_value();
}

std::optional<Block> store_elsewhere(const Kernel&, Stmt stmt, uint64_t draw) {
  auto* store = std::get_if<Store>(&stmt);
  auto index = store != nullptr ? other_index(store->index, draw) : std::nullopt;
  if (!index)
    return std::nullopt;
  store->index = *std::move(index);
  return block_of(std::move(stmt));
}

std::optional<Block> unguarded(const Kernel&, Stmt stmt, uint64_t draw) {
  auto* branch = std::get_if<If>(&stmt);
  if (branch == nullptr)
    return std::nullopt;
  if (draw % 2 == 0)
    return branch->then;
  branch->cond = scalar::unary(scalar::UnaryOp::Not, branch->cond);
  return block_of(std::move(stmt));
}

std::optional<Block> fewer_blocks(const Kernel&, Stmt stmt, uint64_t draw) {
  auto* launch = std::get_if<Launch>(&stmt);
  if (launch == nullptr)
    return std::nullopt;
  Expr& blocks = launch->blocks[draw % 3];
  if (scalar::constant_of(blocks) == 1)
    return std::nullopt;
  blocks = plus(blocks, -1);
  return block_of(std::move(stmt));
}

std::optional<Block> other_engine(const Kernel&, Stmt stmt, uint64_t draw) {
  auto* async_op = std::get_if<AsyncOp>(&stmt);
  if (async_op == nullptr) {
    auto* await = std::get_if<Await>(&stmt);
    if (await == nullptr)
      return std::nullopt;
    ++await->pending;
    return block_of(std::move(stmt));
  }
  if (auto* phase = std::get_if<AwaitPhase>(&async_op->what))
    phase->parity = scalar::simplify(int_lit(1) - phase->parity);
  else if (auto* mma = std::get_if<Mma>(&async_op->what)) {
    if (draw % 2 == 0 && mma->steps > 1)
      --mma->steps;
    else
      mma->starts_at_zero = !mma->starts_at_zero;
  } else if (auto* wait = std::get_if<AwaitMma>(&async_op->what))
    ++wait->pending;
  else if (auto* arrive = std::get_if<Arrive>(&async_op->what);
           arrive != nullptr && arrive->bytes > 0)
    arrive->bytes /= 2;
  else
    return std::nullopt;
  return block_of(std::move(stmt));
}

/// A wait that the first threads of the block alone come to.
std::optional<Block> wait_of_some(const Kernel& kernel, Stmt stmt, uint64_t) {
  const auto thread = std::find_if(kernel.variables.begin(), kernel.variables.end(),
                                   [](const Variable& v) { return v.name == "thread_x"; });
  if (!is_wait(stmt) || thread == kernel.variables.end())
    return std::nullopt;
  const Expr first = scalar::var(static_cast<uint32_t>(thread - kernel.variables.begin()));
  return block_of(If{binary(BinaryOp::Eq, first, int_lit(0)), block_of(std::move(stmt)), {}});
}

const std::vector<std::pair<std::string, AtStatement>>& faults() {
  static const std::vector<std::pair<std::string, AtStatement>> all = {
      {"one side of a min or max in a bound", at_nodes(Where::Bounds, one_side_of_min)},
      {"one side of a min or max in an index or definition",
       at_nodes(Where::Accesses, one_side_of_min)},
      {"end of a loop off by one", at_loops([](For& s, uint64_t draw) {
         s.hi = plus(s.hi, draw % 2 == 0 ? 1 : -1);
         return true;
       })},
      {"start of a loop off by one", at_loops([](For& s, uint64_t draw) {
         s.lo = plus(s.lo, draw % 2 == 0 ? 1 : -1);
         return true;
       })},
      {"last tile skipped", at_loops([](For& s, uint64_t) {
         s.hi = plus(s.hi, -s.step);
         return s.step > 1 || !s.body.empty();
       })},
      {"wrong step", at_loops([](For& s, uint64_t draw) {
         s.step = draw % 2 == 0 ? s.step + 1 : 2 * s.step;
         return true;
       })},
      {"guard dropped or negated", unguarded},
      {"condition relaxed", at_nodes(Where::Bounds, relaxed)},
      {"neighbouring statements swapped", at_bodies(swap_neighbours)},
      {kWaitDropped, gone(is_wait)},
      {kWaitMoved, at_bodies(move_wait)},
      {"store dropped", gone(is_store)},
      {"assignment dropped", gone(is_assignment)},
      {"update twice", gone(is_update, 2)},
      {"start value dropped", gone(is_start)},
      {"load of another element", at_nodes(Where::Accesses, load_elsewhere)},
      {"store to another element", store_elsewhere},
      {"wrong lanes", at_nodes(Where::Accesses, other_lanes)},
      {"wrong slot of a ring", at_nodes(Where::Accesses, other_slot)},
      {"a block too few", fewer_blocks},
      {kOtherAsync, other_engine},
      {kWaitOfSome, wait_of_some},
  };
  return all;
}

} // namespace

std::string statement_line(const Kernel& kernel, const Stmt& stmt) {
  Kernel part = kernel;
  part.body = block_of(headline(stmt));
  // Asynchronous operations name barriers of their launch.
  if (std::holds_alternative<AsyncOp>(stmt))
    visit(kernel.body, [&](const Stmt& around) {
      if (const auto* launch = std::get_if<Launch>(&around);
          launch != nullptr && has_async_op(launch->body)) {
        Launch shell = *launch;
        shell.body = block_of(stmt);
        part.body = block_of(std::move(shell));
      }
    });
  const std::string text = print(part);
  std::string line;
  for (const std::string_view candidate : split(text, '\n'))
    if (!trim(candidate).empty() && candidate.find("...") == std::string_view::npos)
      line = trim(candidate);
  return line;
}

const std::vector<std::string>& kinds_of_faults() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const auto& [name, fault] : faults())
      found.push_back(name);
    return found;
  }();
  return names;
}

const std::vector<std::string>& kinds_of_waits() {
  static const std::vector<std::string> names = {kWaitDropped, kWaitMoved, kOtherAsync,
                                                 kWaitOfSome};
  return names;
}

bool has_waits(const Kernel& kernel) {
  bool found = false;
  visit(kernel.body, [&](const Stmt& stmt) { found = found || is_wait(stmt); });
  return found;
}

std::optional<Faulty> with_fault(const Kernel& kernel, const std::string& kind, uint64_t seed) {
  for (const auto& [name, fault] : faults())
    if (name == kind)
      return at_statements(kernel, seed, fault);
  KAWARA_CHECK(false, "no fault " + kind);
}

} // namespace kawara::mutation
