#include "validate/runs.h"

#include "kernel/ranges.h"
#include "kernel/vars.h"
#include "poly/affine.h"
#include "poly/isl/dimensions.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>

namespace kawara::validate {
namespace {

using kernel::Origin;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;

constexpr const char* kTuple = "run";

/// A statement of a kernel with one of its origins, in dimensions: the loops around, then the origin's points.
struct Leaf {
  uint32_t statement = 0;
  std::vector<Expr> iters, points;
  uint32_t position = 0, last = 0;
  bool is_padded = false, is_per_thread = false;
};

/// Constant distances between the iterators of two leaves; nothing where they differ otherwise.
std::optional<std::vector<int64_t>> distance(const Leaf& from, const Leaf& to) {
  std::vector<int64_t> result;
  for (size_t d = 0; d < from.iters.size(); ++d) {
    const scalar::AffineSum sum =
        scalar::difference(scalar::affine_sum(to.iters[d]), scalar::affine_sum(from.iters[d]));
    if (!sum.terms.empty())
      return std::nullopt;
    result.push_back(sum.constant);
  }
  return result;
}

bool are_alike(const Leaf& a, const Leaf& b) {
  return a.statement == b.statement && a.is_padded == b.is_padded &&
         a.is_per_thread == b.is_per_thread && a.iters.size() == b.iters.size() &&
         std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const Expr& x, const Expr& y) { return scalar::equal(x, y); });
}

/// Copies of one leaf at constant distances: those that fill a grid become points of one leaf.
struct Copies {
  Leaf first;
  std::vector<std::vector<int64_t>> distances;
  std::vector<uint32_t> positions;

  /// The values along a dimension, if they are evenly spaced.
  struct Spread {
    int64_t least = 0, step = 1, count = 1;
  };
  std::optional<Spread> spread(size_t d) const {
    std::set<int64_t> values;
    for (const auto& distance : distances)
      values.insert(distance[d]);
    Spread result{*values.begin(), 1, static_cast<int64_t>(values.size())};
    if (values.size() == 1)
      return result;
    result.step = *std::next(values.begin()) - *values.begin();
    int64_t expected = result.least;
    for (const int64_t value : values) {
      if (value != expected)
        return std::nullopt;
      expected += result.step;
    }
    return result;
  }

  std::vector<Leaf> joined(size_t loops) const {
    std::vector<Spread> spreads;
    int64_t cells = 1;
    for (size_t d = 0; d < first.iters.size(); ++d) {
      const auto found = spread(d);
      if (!found)
        return apart();
      spreads.push_back(*found);
      cells *= found->count;
    }
    const std::set<std::vector<int64_t>> different(distances.begin(), distances.end());
    if (cells != static_cast<int64_t>(distances.size()) || different.size() != distances.size())
      return apart();
    Leaf whole = first;
    whole.position = *std::min_element(positions.begin(), positions.end());
    whole.last = *std::max_element(positions.begin(), positions.end());
    for (size_t d = 0; d < spreads.size(); ++d) {
      Expr shift = int_lit(spreads[d].least);
      if (spreads[d].count > 1) {
        const auto point = static_cast<uint32_t>(loops + whole.points.size());
        shift = shift + scalar::iter(point) * int_lit(spreads[d].step);
        whole.points.push_back(int_lit(spreads[d].count));
      }
      whole.iters[d] = scalar::simplify(whole.iters[d] + shift);
    }
    return {whole};
  }

  std::vector<Leaf> apart() const {
    std::vector<Leaf> leaves;
    for (size_t n = 0; n < distances.size(); ++n) {
      Leaf leaf = first;
      leaf.position = leaf.last = positions[n];
      for (size_t d = 0; d < leaf.iters.size(); ++d)
        leaf.iters[d] = scalar::simplify(leaf.iters[d] + int_lit(distances[n][d]));
      leaves.push_back(std::move(leaf));
    }
    return leaves;
  }
};

std::optional<BinaryOp> opposite(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt:
    return BinaryOp::Ge;
  case BinaryOp::Ge:
    return BinaryOp::Lt;
  case BinaryOp::Gt:
    return BinaryOp::Le;
  case BinaryOp::Le:
    return BinaryOp::Gt;
  case BinaryOp::Ne:
    return BinaryOp::Eq;
  default:
    return std::nullopt;
  }
}

std::optional<isl::set> comparison(BinaryOp op, const isl::aff& lhs, const isl::aff& rhs) {
  switch (op) {
  case BinaryOp::Lt:
    return lhs.lt_set(rhs);
  case BinaryOp::Le:
    return lhs.le_set(rhs);
  case BinaryOp::Gt:
    return lhs.gt_set(rhs);
  case BinaryOp::Ge:
    return lhs.ge_set(rhs);
  case BinaryOp::Eq:
    return lhs.eq_set(rhs);
  default:
    return std::nullopt;
  }
}

/// Points of `domain` where the condition holds; what is one inequality stays one.
isl::set restricted(const isl::set& domain, const Expr& condition,
                    const std::vector<program::Param>& params) {
  if (const auto* no = scalar::as<scalar::Unary>(condition); no != nullptr)
    if (const auto* b = scalar::as<scalar::Binary>(no->arg))
      if (const auto op = opposite(b->op))
        return restricted(domain, binary(*op, b->lhs, b->rhs), params);
  const auto* b = scalar::as<scalar::Binary>(condition);
  if (b != nullptr && b->op == BinaryOp::And)
    return restricted(restricted(domain, b->lhs, params), b->rhs, params);
  if (b != nullptr && b->lhs.type() == scalar::kIndex) {
    const auto lhs = poly::plain_function(b->lhs, domain.space(), params);
    const auto rhs = poly::plain_function(b->rhs, domain.space(), params);
    if (lhs && rhs)
      if (const auto half = comparison(b->op, *lhs, *rhs))
        return domain.intersect(*half);
  }
  return poly::set_from_condition(condition, domain, params);
}

class Reader {
public:
  Reader(const poly::Scop& scop, const kernel::Kernel& kernel, bool joins_copies)
      : scop_(scop), kernel_(kernel), joins_copies_(joins_copies) {}

  Runs read() {
    block(kernel_.body);
    return std::move(runs_);
  }

private:
  void block(const kernel::Block& statements) {
    const auto values = values_;
    std::vector<Copies> copies;
    for (uint32_t n = 0; n < statements.size(); ++n) {
      path_.push_back({Step::Kind::Position, n});
      if (const kernel::Origins* origins = origins_of(statements[n]))
        for (const Origin& origin : *origins)
          add_leaf(origin, n, copies);
      std::visit([&](const auto& s) { one(s); }, statements[n]);
      path_.pop_back();
    }
    for (const Copies& group : copies)
      for (const Leaf& leaf : joins_copies_ ? group.joined(loops_) : group.apart())
        add_run(leaf);
    values_ = values;
  }

  static const kernel::Origins* origins_of(const kernel::Stmt& stmt) {
    if (const auto* store = std::get_if<kernel::Store>(&stmt))
      return &store->origins;
    if (const auto* define = std::get_if<kernel::Define>(&stmt))
      return &define->origins;
    if (const auto* assign = std::get_if<kernel::Assign>(&stmt))
      return &assign->origins;
    if (const auto* allocate = std::get_if<kernel::Allocate>(&stmt))
      return &allocate->origins;
    if (const auto* engine = std::get_if<kernel::Engine>(&stmt))
      if (const auto* product = std::get_if<kernel::Mma>(&engine->what))
        return &product->origins;
    return nullptr;
  }

  template <class Other> void one(const Other&) {}

  void one(const kernel::Allocate& s) { block(s.body); }

  void one(const kernel::Define& s) {
    if (kernel_.variables[s.var].type == scalar::kIndex)
      values_[s.var] = in_dimensions(s.value);
  }
  /// An index that changes as the kernel runs is no function of the loops.
  void one(const kernel::Assign& s) {
    if (kernel_.variables[s.var].type == scalar::kIndex)
      values_[s.var] = Expr();
  }

  void one(const kernel::For& s) {
    const auto conditions = conditions_;
    const Expr var = enter(s.var, s.marks.is_parallel ? Step::Kind::Parallel : Step::Kind::Serial);
    const Expr first = in_dimensions(s.lo), end = in_dimensions(s.hi);
    require_each(BinaryOp::Ge, var, first, BinaryOp::Max);
    require_each(BinaryOp::Lt, var, end, BinaryOp::Min);
    if (s.step != 1 && first)
      require(BinaryOp::Eq, binary(BinaryOp::Mod, var - first, int_lit(s.step)), int_lit(0));
    // A variable that the body assigns has no one value in it.
    for (const uint32_t assigned : assigned_in(s.body))
      values_[assigned] = Expr();
    block(s.body);
    leave(s.var);
    conditions_ = conditions;
  }

  void one(const kernel::Launch& s) {
    const auto conditions = conditions_;
    for (size_t a = 0; a < 3; ++a) {
      const Expr var = enter(s.block_vars[a], Step::Kind::Parallel);
      require(BinaryOp::Ge, var, int_lit(0));
      require(BinaryOp::Lt, var, in_dimensions(s.blocks[a]));
    }
    for (size_t a = 0; a < 3; ++a) {
      const Expr var = enter(s.thread_vars[a], Step::Kind::Thread);
      require(BinaryOp::Ge, var, int_lit(0));
      require(BinaryOp::Lt, var, int_lit(s.threads[a]));
    }
    block(s.body);
    for (size_t a = 3; a-- > 0;)
      leave(s.thread_vars[a]);
    for (size_t a = 3; a-- > 0;)
      leave(s.block_vars[a]);
    conditions_ = conditions;
  }

  void one(const kernel::If& s) {
    const Expr condition = in_dimensions(s.cond);
    if (condition && scalar::is_quasi_affine(condition)) {
      arm(s.then, 0, condition);
      arm(s.otherwise, 1, scalar::unary(scalar::UnaryOp::Not, condition));
      return;
    }
    // A condition on data: both arms must run the same instances.
    const bool is_then = is_then_, is_otherwise = is_otherwise_;
    const size_t first = runs_.all.size();
    is_otherwise_ = false;
    arm(s.then, 0, Expr());
    const size_t middle = runs_.all.size();
    is_otherwise_ = is_otherwise;
    is_then_ = false;
    arm(s.otherwise, 1, Expr());
    is_then_ = is_then;
    compare_arms(first, middle);
  }

  void arm(const kernel::Block& body, uint32_t number, const Expr& condition) {
    const auto conditions = conditions_;
    if (condition)
      conditions_.push_back(condition);
    path_.push_back({Step::Kind::Position, number});
    block(body);
    path_.pop_back();
    conditions_ = conditions;
  }

  void compare_arms(size_t first, size_t middle) {
    std::map<uint32_t, std::pair<isl::map, isl::map>> arms;
    for (size_t r = first; r < runs_.all.size(); ++r) {
      const Run& run = runs_.all[r];
      const isl::map from_outside =
          first_dimensions(scop_, run.domain, loops_).reverse().apply_range(run.instances);
      auto& [then, otherwise] = arms[run.statement];
      isl::map& side = r < middle ? then : otherwise;
      side = side.is_null() ? from_outside : side.unite(from_outside);
    }
    for (const auto& [statement, sides] : arms) {
      const auto& [then, otherwise] = sides;
      if (then.is_null() || otherwise.is_null() || !then.is_equal(otherwise))
        runs_.faults.push_back("the arms of a condition on data run different instances of " +
                               scop_.statements[statement].text.name);
    }
  }

  Expr enter(uint32_t var, Step::Kind kind) {
    const auto dimension = static_cast<uint32_t>(loops_++);
    path_.push_back({kind, dimension});
    values_[var] = scalar::iter(dimension);
    return values_[var];
  }
  void leave(uint32_t var) {
    values_.erase(var);
    path_.pop_back();
    --loops_;
  }

  void require(BinaryOp op, const Expr& lhs, const Expr& rhs) {
    conditions_.push_back(rhs ? binary(op, lhs, rhs) : Expr());
  }

  /// Bounds one by one: sets without cases are far cheaper.
  void require_each(BinaryOp op, const Expr& var, const Expr& bound, BinaryOp join) {
    if (!bound)
      return require(op, var, bound);
    for (const Expr& e : kernel::operands_of(bound, join))
      require(op, var, e);
  }

  static std::set<uint32_t> assigned_in(const kernel::Block& body) {
    std::set<uint32_t> vars;
    kernel::visit(body, [&](const kernel::Stmt& stmt) {
      if (const auto* assign = std::get_if<kernel::Assign>(&stmt))
        vars.insert(assign->var);
    });
    return vars;
  }

  /// In dimensions of the loops around in place of variables; nothing where a variable has no known value.
  Expr in_dimensions(const Expr& e) const {
    bool is_known = true;
    scalar::visit(e, [&](const Expr& n) {
      const auto* var = scalar::as<scalar::Var>(n);
      const auto found = var != nullptr ? values_.find(var->id) : values_.end();
      is_known = is_known && scalar::as<scalar::Load>(n) == nullptr &&
                 !scalar::is_float(n.type().elem) &&
                 (var == nullptr || (found != values_.end() && found->second));
    });
    return is_known ? scalar::simplify(with_values(e)) : Expr();
  }
  Expr with_values(const Expr& e) const {
    return scalar::rewrite(e, [&](const Expr& n) -> Expr {
      // Divisions in 32 bits, of what fits (kernel/narrow), are divisions.
      if (const auto* cast = scalar::as<scalar::Cast>(n))
        return cast->arg;
      if (const auto* literal = scalar::as<scalar::IntLit>(n))
        return n.type().elem == scalar::Elem::I32 ? int_lit(literal->value) : Expr();
      const auto* var = scalar::as<scalar::Var>(n);
      return var != nullptr ? values_.at(var->id) : Expr();
    });
  }

  void add_leaf(const Origin& origin, uint32_t position, std::vector<Copies>& copies) {
    Leaf leaf{origin.statement, {}, {}, position, position, origin.is_padded, origin.is_per_thread};
    bool is_readable = true;
    const auto read = [&](const Expr& e) {
      const Expr inside = in_dimensions(shifted(e));
      is_readable = is_readable && inside && scalar::is_quasi_affine(inside);
      return inside;
    };
    for (const Expr& e : origin.iters)
      leaf.iters.push_back(read(e));
    for (const Expr& e : origin.points)
      leaf.points.push_back(read(e));
    for (const Expr& condition : conditions_)
      is_readable = is_readable && condition && scalar::is_quasi_affine(condition);
    if (!is_readable)
      return give_up(origin.statement);
    for (Copies& group : copies)
      if (are_alike(group.first, leaf))
        if (auto apart = distance(group.first, leaf)) {
          group.distances.push_back(*std::move(apart));
          group.positions.push_back(position);
          return;
        }
    copies.push_back({leaf, {std::vector<int64_t>(leaf.iters.size(), 0)}, {position}});
  }

  /// Iter n, the n-th point, becomes the dimension after those of the loops.
  Expr shifted(const Expr& e) const {
    return scalar::rewrite(e, [&](const Expr& n) -> Expr {
      const auto* point = scalar::as<scalar::Iter>(n);
      return point != nullptr ? scalar::iter(static_cast<uint32_t>(loops_ + point->index)) : Expr();
    });
  }

  void give_up(uint32_t statement) {
    if (runs_.unread_statements.insert(statement).second)
      runs_.unread.push_back("instances of " + scop_.statements[statement].text.name +
                             ": a bound or a condition is not affine");
  }

  void add_run(const Leaf& leaf) {
    Run run;
    run.statement = leaf.statement;
    run.path = path_;
    run.path.push_back({Step::Kind::Position, leaf.position});
    run.last_copy = leaf.last;
    run.is_padded = leaf.is_padded;
    run.is_per_thread = leaf.is_per_thread;
    run.is_then = is_then_;
    run.is_otherwise = is_otherwise_;
    const size_t dimensions = loops_ + leaf.points.size();
    isl::set domain =
        poly::statement_universe(scop_.context_owner->get(), scop_.params, kTuple, dimensions)
            .intersect_params(scop_.context);
    const auto restrict = [&](const Expr& condition) {
      domain = restricted(domain, condition, scop_.params);
    };
    for (const Expr& condition : conditions_)
      restrict(condition);
    if (leaf.is_per_thread)
      restrict(binary(BinaryOp::Eq, scalar::iter(thread_x()), int_lit(0)));
    for (size_t n = 0; n < leaf.points.size(); ++n) {
      const Expr point = scalar::iter(static_cast<uint32_t>(loops_ + n));
      restrict(binary(BinaryOp::Ge, point, int_lit(0)));
      restrict(binary(BinaryOp::Lt, point, leaf.points[n]));
    }
    const program::Statement& text = scop_.statements[leaf.statement].text;
    const isl::set range = poly::statement_universe(scop_.context_owner->get(), scop_.params,
                                                    text.name, leaf.iters.size());
    run.domain = domain;
    run.instances = poly::map_from_exprs(leaf.iters, domain, range, scop_.params);
    runs_.all.push_back(std::move(run));
  }

  uint32_t thread_x() const {
    const auto found = std::find_if(path_.begin(), path_.end(), [](const Step& step) {
      return step.kind == Step::Kind::Thread;
    });
    return found->at;
  }

  const poly::Scop& scop_;
  const kernel::Kernel& kernel_;
  bool joins_copies_;
  Runs runs_;
  std::vector<Step> path_;
  size_t loops_ = 0;                ///< around the current statement
  std::vector<Expr> conditions_;    ///< in dimensions; empty: not known
  std::map<uint32_t, Expr> values_; ///< of variables, in dimensions; empty: not known
  bool is_then_ = true, is_otherwise_ = true;
};

} // namespace

Runs runs_of(const poly::Scop& scop, const kernel::Kernel& kernel, bool joins_copies) {
  return Reader(scop, kernel, joins_copies).read();
}

isl::map first_dimensions(const poly::Scop& scop, const isl::set& domain, size_t count) {
  std::vector<Expr> functions;
  for (uint32_t d = 0; d < count; ++d)
    functions.push_back(scalar::iter(d));
  const isl::set range =
      poly::statement_universe(scop.context_owner->get(), scop.params, "outside", count);
  return poly::map_from_exprs(functions, domain, range, scop.params);
}

} // namespace kawara::validate
