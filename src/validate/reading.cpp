#include "validate/reading.h"

#include "kernel/walk.h"

#include <map>
#include <set>

namespace kawara::validate {
namespace {

using kernel::Origin;
using scalar::Expr;

class Reader {
public:
  Reader(const poly::Scop& scop, const kernel::Kernel& kernel, size_t most_accesses)
      : scop_(scop), kernel_(kernel), accesses_(scop, kernel, most_accesses) {
    assigns_indices_ = kernel::has(kernel.body, [&](const kernel::Assign& assign) {
      return kernel.variables[assign.var].type == scalar::kIndex;
    });
    find_running_variables();
  }

  DomainFacts read() {
    block(kernel_.body);
    reading_.accesses = accesses_.take();
    return std::move(reading_);
  }

private:
  void block(const kernel::Block& statements) {
    const Place::Mark here = place_.mark();
    std::vector<Copies> copies;
    for (uint32_t n = 0; n < statements.size(); ++n) {
      path_.push_back({Step::Kind::Position, n});
      if (const kernel::Origins* origins = kernel::origins_of(statements[n]))
        for (const Origin& origin : *origins)
          add_leaf(origin, n, is_scan(statements[n]), copies);
      accesses_.at(statements[n], place_);
      std::visit([&](const auto& s) { one(s); }, statements[n]);
      path_.pop_back();
    }
    if (!copies.empty()) {
      const auto place = std::make_shared<const BlockPlace>(
          BlockPlace{path_, place_.loops, place_.conditions, is_then_, is_otherwise_});
      for (Copies& group : copies)
        reading_.groups.push_back({place, std::move(group)});
    }
    place_.back_to(here);
    if (assigns_indices_)
      place_.forget_assigned(statements);
  }

  void one(const kernel::OneOf<kernel::Store, kernel::Zero, kernel::Prefetch, kernel::Comment,
                               kernel::Barrier, kernel::Commit, kernel::Await, kernel::Combine,
                               kernel::AsyncOp> auto&) {}

  void one(const kernel::Allocate& s) { block(s.body); }

  void one(const kernel::Define& s) { place_.define(kernel_, s); }
  void one(const kernel::Assign& s) { place_.assign(kernel_, s); }

  void one(const kernel::For& s) {
    const Place::Mark outside = place_.mark();
    const size_t steps = path_.size();
    push_loop(s.marks.is_parallel ? Step::Kind::Parallel : Step::Kind::Serial);
    place_.enter(s, loops_++);
    block(s.body);
    path_.resize(steps);
    place_.back_to(outside);
    if (assigns_indices_)
      place_.forget_assigned(s.body);
  }

  void one(const kernel::Launch& s) {
    const Place::Mark outside = place_.mark();
    const size_t steps = path_.size();
    for (const Step::Kind kind : {Step::Kind::Parallel, Step::Kind::Thread})
      for (size_t a = 0; a < 3; ++a)
        push_loop(kind, (kind == Step::Kind::Thread ? 3 : 0) + a);
    place_.enter(s, loops_);
    loops_ += 6;
    block(s.body);
    path_.resize(steps);
    place_.back_to(outside);
    if (assigns_indices_)
      place_.forget_assigned(s.body);
  }

  /// A loop that is about to become the `next`-th dimension after those there are.
  void push_loop(Step::Kind kind, size_t next = 0) {
    path_.push_back({kind, static_cast<uint32_t>(place_.loops + next)});
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
    const size_t conditions = place_.conditions.size();
    if (condition)
      place_.conditions.push_back(condition);
    path_.push_back({Step::Kind::Position, number});
    block(body);
    path_.pop_back();
    place_.conditions.resize(conditions);
  }

  /// Variables that only ever become the running values behind the ones they have.
  void find_running_variables() {
    std::set<uint32_t> others;
    kernel::visit(kernel_.body, [&](const kernel::Assign& assign) {
      const auto* scan = scalar::as<scalar::Scan>(assign.value);
      const auto* before = scan != nullptr ? scalar::as<scalar::Var>(scan->before) : nullptr;
      (before != nullptr && before->id == assign.var ? running_ : others).insert(assign.var);
    });
    for (const uint32_t var : others)
      running_.erase(var);
  }

  bool is_scan(const kernel::Stmt& stmt) const {
    const auto* store = std::get_if<kernel::Store>(&stmt);
    const auto* value = store != nullptr ? scalar::as<scalar::Var>(store->value) : nullptr;
    return value != nullptr && store->op == scalar::ReduceOp::None && running_.contains(value->id);
  }

  void add_leaf(const Origin& origin, uint32_t position, bool is_scan,
                std::vector<Copies>& copies) {
    Leaf leaf{origin.statement,     {},     {}, position, position, origin.is_padded,
              origin.is_per_thread, is_scan};
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
                                (scop_.statements[statement].text.over
                                     ? ": it runs over a range that is read from data"
                                     : ": a bound or a condition is not affine"));
  }

  const poly::Scop& scop_;
  const kernel::Kernel& kernel_;
  AccessReader accesses_;
  DomainFacts reading_;
  std::vector<Step> path_;
  Place place_;
  uint32_t loops_ = 0; ///< of the kernel so far
  bool assigns_indices_ = false;
  std::set<uint32_t> running_; ///< variables of scans
  bool is_then_ = true, is_otherwise_ = true;
};

} // namespace

DomainFacts domain_facts_of(const poly::Scop& scop, const kernel::Kernel& kernel,
                            size_t most_accesses) {
  return Reader(scop, kernel, most_accesses).read();
}

} // namespace kawara::validate
