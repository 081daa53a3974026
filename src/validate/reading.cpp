#include "validate/reading.h"

#include "kernel/ranges.h"
#include "validate/conditions.h"

#include <map>

namespace kawara::validate {
namespace {

using kernel::Origin;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;

class Reader {
public:
  Reader(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most_accesses)
      : scop_(scop), kernel_(kernel), accesses_(scop, kernel, most_accesses) {}

  Reading read() {
    block(kernel_.body);
    reading_.accesses = accesses_.take();
    return std::move(reading_);
  }

private:
  void block(const kernel::Block& statements) {
    const auto values = place_.values;
    std::vector<Copies> copies;
    for (uint32_t n = 0; n < statements.size(); ++n) {
      path_.push_back({Step::Kind::Position, n});
      if (const kernel::Origins* origins = origins_of(statements[n]))
        for (const Origin& origin : *origins)
          add_leaf(origin, n, copies);
      accesses_.at(statements[n], place_);
      std::visit([&](const auto& s) { one(s); }, statements[n]);
      path_.pop_back();
    }
    if (!copies.empty()) {
      const auto here = std::make_shared<const BlockPlace>(
          BlockPlace{path_, place_.loops, place_.conditions, is_then_, is_otherwise_});
      for (Copies& group : copies)
        reading_.groups.push_back({here, std::move(group)});
    }
    place_.values = values;
  }

  template <class Other> void one(const Other&) {}

  void one(const kernel::Allocate& s) { block(s.body); }

  void one(const kernel::Define& s) {
    if (kernel_.variables[s.var].type == scalar::kIndex)
      place_.values[s.var] = place_.in_dimensions(s.value);
  }
  /// An index that changes as the kernel runs is no function of the loops.
  void one(const kernel::Assign& s) {
    if (kernel_.variables[s.var].type == scalar::kIndex)
      place_.values[s.var] = Expr();
  }

  void one(const kernel::For& s) {
    const auto conditions = place_.conditions;
    const Expr var = enter(s.var, s.marks.is_parallel ? Step::Kind::Parallel : Step::Kind::Serial);
    const Expr first = place_.in_dimensions(s.lo), end = place_.in_dimensions(s.hi);
    require_each(BinaryOp::Ge, var, first, BinaryOp::Max);
    require_each(BinaryOp::Lt, var, end ? above(end, first) : end, BinaryOp::Min);
    if (s.step != 1 && first)
      require(BinaryOp::Eq, binary(BinaryOp::Mod, var - first, int_lit(s.step)), int_lit(0));
    // A variable that the body assigns has no one value in it.
    for (const uint32_t assigned : assigned_in(s.body))
      place_.values[assigned] = Expr();
    block(s.body);
    leave(s.var);
    place_.conditions = conditions;
  }

  void one(const kernel::Launch& s) {
    const auto conditions = place_.conditions;
    for (size_t a = 0; a < 3; ++a) {
      const Expr var = enter(s.block_vars[a], Step::Kind::Parallel);
      require(BinaryOp::Ge, var, int_lit(0));
      require(BinaryOp::Lt, var, place_.in_dimensions(s.blocks[a]));
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
    place_.conditions = conditions;
  }

  void one(const kernel::If& s) {
    const Expr condition = place_.in_dimensions(s.cond);
    if (condition && scalar::is_quasi_affine(condition)) {
      arm(s.then, 0, condition);
      arm(s.otherwise, 1, scalar::unary(scalar::UnaryOp::Not, condition));
      return;
    }
    // A condition on data: both arms must run the same instances.
    const bool is_then = is_then_, is_otherwise = is_otherwise_;
    const size_t first = reading_.groups.size();
    is_otherwise_ = false;
    arm(s.then, 0, Expr());
    const size_t middle = reading_.groups.size();
    is_otherwise_ = is_otherwise;
    is_then_ = false;
    arm(s.otherwise, 1, Expr());
    is_then_ = is_then;
    reading_.arms.push_back({first, middle, reading_.groups.size(), place_.loops});
  }

  void arm(const kernel::Block& body, uint32_t number, const Expr& condition) {
    const auto conditions = place_.conditions;
    if (condition)
      place_.conditions.push_back(condition);
    path_.push_back({Step::Kind::Position, number});
    block(body);
    path_.pop_back();
    place_.conditions = conditions;
  }

  Expr enter(uint32_t var, Step::Kind kind) {
    const auto dimension = static_cast<uint32_t>(place_.loops++);
    path_.push_back({kind, dimension});
    place_.vars.push_back(var);
    place_.numbers.push_back(loops_++);
    place_.values[var] = scalar::iter(dimension);
    return place_.values[var];
  }
  void leave(uint32_t var) {
    place_.values.erase(var);
    place_.vars.pop_back();
    place_.numbers.pop_back();
    path_.pop_back();
    --place_.loops;
  }

  void require(BinaryOp op, const Expr& lhs, const Expr& rhs) {
    place_.conditions.push_back(rhs ? binary(op, lhs, rhs) : Expr());
  }

  /// Bounds one by one: sets without cases are far cheaper.
  void require_each(BinaryOp op, const Expr& var, const Expr& bound, BinaryOp join) {
    if (!bound)
      return require(op, var, bound);
    for (const Expr& e : kernel::operands_of(bound, join))
      require(op, var, e);
  }

  /// The end of a loop without what says no more than that it may be empty: max(e, 0) is e for a loop that begins at 0.
  static Expr above(const Expr& end, const Expr& first) {
    const Expr outside = with_choices_outside(end);
    const auto least = first ? scalar::constant_of(first) : std::nullopt;
    const auto* b = scalar::as<scalar::Binary>(outside);
    if (b == nullptr || b->op != BinaryOp::Max || !least)
      return outside;
    const auto is_low = [&](const Expr& e) {
      const auto number = scalar::constant_of(e);
      return number && *number <= *least;
    };
    return is_low(b->rhs) ? above(b->lhs, first) : is_low(b->lhs) ? above(b->rhs, first) : outside;
  }

  static std::set<uint32_t> assigned_in(const kernel::Block& body) {
    std::set<uint32_t> vars;
    kernel::visit(body, [&](const kernel::Stmt& stmt) {
      if (const auto* assign = std::get_if<kernel::Assign>(&stmt))
        vars.insert(assign->var);
    });
    return vars;
  }

  void add_leaf(const Origin& origin, uint32_t position, std::vector<Copies>& copies) {
    Leaf leaf{origin.statement, {}, {}, position, position, origin.is_padded, origin.is_per_thread};
    bool is_readable = true;
    const auto read = [&](const Expr& e) {
      const Expr inside = place_.of_origin(e);
      is_readable = is_readable && inside && scalar::is_quasi_affine(inside);
      return inside;
    };
    for (const Expr& e : origin.iters)
      leaf.iters.push_back(read(e));
    for (const Expr& e : origin.points)
      leaf.points.push_back(read(e));
    for (const Expr& condition : place_.conditions)
      is_readable = is_readable && condition && scalar::is_quasi_affine(condition);
    if (!is_readable)
      return give_up(origin.statement);
    for (Copies& group : copies)
      if (group.take(leaf))
        return;
    copies.emplace_back(leaf);
  }

  void give_up(uint32_t statement) {
    if (reading_.unread_statements.insert(statement).second)
      reading_.unread.push_back("instances of " + scop_.statements[statement].text.name +
                                ": a bound or a condition is not affine");
  }

  const poly::Scop& scop_;
  const kernel::Kernel& kernel_;
  AccessReader accesses_;
  Reading reading_;
  std::vector<Step> path_;
  Place place_;
  uint32_t loops_ = 0; ///< of the kernel so far
  bool is_then_ = true, is_otherwise_ = true;
};

} // namespace

const kernel::Origins* origins_of(const kernel::Stmt& stmt) {
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

Reading reading_of(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most_accesses) {
  return Reader(scop, kernel, most_accesses).read();
}

} // namespace kawara::validate
