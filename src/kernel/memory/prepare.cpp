#include "kernel/memory/prepare.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <iterator>

namespace kawara::kernel {
namespace {

std::set<uint32_t> buffers_read_in(const Stmt& root) {
  std::set<uint32_t> read;
  visit_loads(root, [&](const scalar::Load& load) { read.insert(load.tensor); });
  visit(root, [&](const Store& store) {
    if (store.op != ReduceOp::None)
      read.insert(store.buffer);
  });
  return read;
}

/// Buffers that a statement of the body touches, and that outlive it.
struct Touched {
  std::set<uint32_t> read, written;
};

Touched touched_by(const Kernel& kernel, const Stmt& stmt) {
  Touched touched{buffers_read_in(stmt), buffers_stored_in(stmt)};
  const auto is_private = [&](uint32_t id) {
    const Scope scope = kernel.buffers[id].scope;
    return scope == Scope::Private || scope == Scope::Shared;
  };
  std::erase_if(touched.read, is_private);
  std::erase_if(touched.written, is_private);
  return touched;
}

/// Whether the statement reads or sets a variable that lives longer than it.
bool shares_variables(const VarSet& of_body, const Stmt& stmt) {
  const VarSet set = vars_set_in(stmt);
  bool found =
      std::any_of(set.begin(), set.end(), [&](uint32_t var) { return of_body.contains(var); });
  visit_exprs(stmt, [&](const Expr& e) { found = found || mentions_any(e, of_body); });
  return found;
}

VarSet variables_of(const Block& body) {
  VarSet found;
  for (const Stmt& stmt : body)
    if (const auto* define = std::get_if<Define>(&stmt))
      found.insert(define->var);
  return found;
}

/// Brings statements of one kernel to the front.
class Preparation {
public:
  explicit Preparation(Kernel kernel)
      : kernel_(std::move(kernel)), of_body_(variables_of(kernel_.body)),
        is_first_(kernel_.body.size(), false) {
    for (const Stmt& stmt : kernel_.body)
      touched_.push_back(touched_by(kernel_, stmt));
  }

  Kernel done() {
    Block first, rest;
    for (size_t s = 0; s < kernel_.body.size(); ++s)
      if (const std::set<size_t> group = writers_with(s); !is_first_[s] && qualifies(group))
        for (const size_t member : group) {
          is_first_[member] = true;
          ready_.insert(touched_[member].written.begin(), touched_[member].written.end());
          first.push_back(std::move(kernel_.body[member]));
        }
    for (size_t s = 0; s < kernel_.body.size(); ++s)
      if (!is_first_[s])
        rest.push_back(std::move(kernel_.body[s]));
    kernel_.prepared = first.size();
    kernel_.body = std::move(first);
    std::move(rest.begin(), rest.end(), std::back_inserter(kernel_.body));
    return std::move(kernel_);
  }

private:
  /// The statement, and all that write what one of them writes.
  std::set<size_t> writers_with(size_t statement) const {
    std::set<size_t> group{statement};
    std::set<uint32_t> written = touched_[statement].written;
    for (bool grows = true; grows;) {
      grows = false;
      for (size_t s = 0; s < touched_.size(); ++s)
        if (!group.contains(s) && has_any(touched_[s].written, written)) {
          group.insert(s);
          written.insert(touched_[s].written.begin(), touched_[s].written.end());
          grows = true;
        }
    }
    return group;
  }

  bool qualifies(const std::set<size_t>& group) const {
    const auto is_loop = [&](size_t s) {
      return std::holds_alternative<For>(kernel_.body[s]) && !touched_[s].read.empty();
    };
    return std::any_of(group.begin(), group.end(), is_loop) &&
           std::all_of(group.begin(), group.end(), [&](size_t s) { return may_come_first(s); }) &&
           !is_read_between(group);
  }

  bool may_come_first(size_t s) const {
    const Stmt& stmt = kernel_.body[s];
    const bool is_work = std::holds_alternative<For>(stmt) || std::holds_alternative<If>(stmt) ||
                         std::holds_alternative<Store>(stmt);
    const Touched& own = touched_[s];
    return is_work && !shares_variables(of_body_, stmt) &&
           std::all_of(own.read.begin(), own.read.end(),
                       [&](uint32_t id) {
                         return kernel_.buffers[id].is_constant || ready_.contains(id);
                       }) &&
           std::all_of(own.written.begin(), own.written.end(),
                       [&](uint32_t id) { return kernel_.buffers[id].scope == Scope::Workspace; });
  }

  /// Another statement that reads the first member's results would find the last one's as well.
  bool is_read_between(const std::set<size_t>& group) const {
    std::set<uint32_t> written;
    for (const size_t member : group)
      written.insert(touched_[member].written.begin(), touched_[member].written.end());
    for (size_t s = *group.begin(); s < *group.rbegin(); ++s)
      if (has_any(touched_[s].read, written))
        return true;
    return false;
  }

  static bool has_any(const std::set<uint32_t>& some, const std::set<uint32_t>& others) {
    return std::any_of(some.begin(), some.end(), [&](uint32_t id) { return others.contains(id); });
  }

  Kernel kernel_;
  VarSet of_body_;
  std::vector<Touched> touched_; ///< by statement of the body
  std::vector<bool> is_first_;
  std::set<uint32_t> ready_;
};

} // namespace

Kernel prepare(Kernel kernel) { return Preparation(std::move(kernel)).done(); }

} // namespace kawara::kernel
