#include "estimate/accesses.h"

#include "kernel/analysis/extents.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::estimate {
namespace {

using kernel::Block;
using kernel::Stmt;
using scalar::as;
using scalar::Expr;

class AccessReader {
public:
  AccessReader(const kernel::Kernel& kernel, std::span<const int64_t> params)
      : kernel_(kernel), params_(params.begin(), params.end()) {
    for (const kernel::Buffer& buffer : kernel.buffers)
      extents_.push_back(kernel::extents_of(buffer, params_));
    find_data();
  }

  std::optional<Accesses> read() {
    Accesses made;
    for (const Stmt& stmt : kernel_.body) {
      AccessCode code;
      begin_run();
      add(stmt, code);
      made.parts.push_back(std::move(code));
    }
    made.assumed = assumed_;
    return is_known_ ? std::optional(std::move(made)) : std::nullopt;
  }

private:
  /// Until no variable is found any more that is set from another one that holds data.
  void find_data() {
    for (size_t before = data_.size() + 1; before != data_.size();) {
      before = data_.size();
      kernel::visit(kernel_.body, [&](const kernel::OneOf<kernel::Define, kernel::Assign> auto& s) {
        find_data(s.var, s.value);
      });
    }
  }
  void find_data(uint32_t var, const Expr& value) {
    const scalar::Type type = kernel_.variables[var].type;
    const bool is_index =
        type.lanes == 1 && (type.elem == scalar::Elem::I64 || type.elem == scalar::Elem::Bool);
    if (!is_index || is_data(value))
      data_.insert(var);
  }

  void add(const Block& block, AccessCode& code) {
    for (const Stmt& stmt : block)
      add(stmt, code);
  }
  void add(const Stmt& stmt, AccessCode& code) {
    std::visit([&](const auto& s) { one(s, code); }, stmt);
  }

  void one(const kernel::For& loop, AccessCode& code) {
    add_loads(loop.lo, code);
    add_loads(loop.hi, code);
    AccessLoop made{loop.var, place_of(loop.lo), place_of(loop.hi), loop.step, {}};
    begin_run();
    add(loop.body, made.body);
    begin_run();
    code.push_back({std::move(made)});
  }
  void one(const kernel::If& branch, AccessCode& code) {
    add_loads(branch.cond, code);
    if (is_data(branch.cond)) {
      ++assumed_;
      begin_run();
      add(branch.then, code);
      return begin_run();
    }
    AccessBranch made{branch.cond, {}, {}};
    begin_run();
    add(branch.then, made.then);
    begin_run();
    add(branch.otherwise, made.otherwise);
    begin_run();
    code.push_back({std::move(made)});
  }
  void one(const kernel::Allocate& allocate, AccessCode& code) {
    begin_run();
    add(allocate.body, code);
    begin_run();
  }
  void one(const kernel::Store& store, AccessCode& code) {
    add_loads(store.value, code);
    Access access = access_of(store.buffer, store.index, store.value.type().lanes);
    if (store.op != scalar::ReduceOp::None)
      code.push_back({access});
    access.kind = Access::Kind::Store;
    code.push_back({std::move(access)});
    forget([&](const Expr& load) { return as<scalar::Load>(load)->tensor == store.buffer; });
  }
  void one(const kernel::Define& define, AccessCode& code) { set(define.var, define.value, code); }
  void one(const kernel::Assign& assign, AccessCode& code) { set(assign.var, assign.value, code); }
  void one(const kernel::Zero& zero, AccessCode& code) {
    Access access;
    access.kind = Access::Kind::Store;
    access.buffer = zero.buffer;
    access.bytes = elements(zero.buffer) * element_bytes(zero.buffer);
    code.push_back({std::move(access)});
    begin_run();
  }
  void one(const kernel::Prefetch& prefetch, AccessCode& code) {
    Access access = access_of(prefetch.buffer, prefetch.index, 1);
    access.kind = Access::Kind::Request;
    code.push_back({std::move(access)});
  }
  void one(const kernel::Comment&, AccessCode&) {}
  /// The rest belongs to GPUs.
  void one(const kernel::OneOf<kernel::Launch, kernel::Barrier, kernel::Commit, kernel::Await,
                               kernel::Combine, kernel::AsyncOp> auto&,
           AccessCode&) {
    is_known_ = false;
  }

  void set(uint32_t var, const Expr& value, AccessCode& code) {
    add_loads(value, code);
    forget([&](const Expr& load) { return kernel::mentions(load, var); });
    if (data_.count(var) == 0)
      code.push_back({AccessSet{var, place_of(value)}});
  }

  /// Loads of an expression, those of a choice under its condition.
  void add_loads(const Expr& e, AccessCode& code, const std::optional<Expr>& guard = {}) {
    if (const auto* choice = as<scalar::Select>(e)) {
      add_loads(choice->cond, code, guard);
      const bool is_index = choice->cond.type().lanes == 1 && !is_data(choice->cond);
      const auto both = [&](const Expr& cond) {
        return !is_index ? guard
               : guard   ? std::optional(scalar::binary(scalar::BinaryOp::And, *guard, cond))
                         : std::optional(cond);
      };
      add_loads(choice->then, code, both(choice->cond));
      add_loads(choice->otherwise, code, both(scalar::unary(scalar::UnaryOp::Not, choice->cond)));
      return;
    }
    if (const auto* load = as<scalar::Load>(e)) {
      if (std::none_of(done_.begin(), done_.end(),
                       [&](const Expr& other) { return scalar::equal(other, e); })) {
        Access access = access_of(load->tensor, load->index, e.type().lanes);
        access.guard = guard;
        code.push_back({std::move(access)});
        if (!guard)
          done_.push_back(e);
      }
      return;
    }
    for (const Expr& child : scalar::children(e))
      add_loads(child, code, guard);
  }

  Access access_of(uint32_t buffer, const std::vector<Expr>& index, int64_t lanes) {
    Access access;
    access.buffer = buffer;
    access.bytes = element_bytes(buffer);
    Expr flat = scalar::int_lit(0);
    int64_t stride = 1;
    for (size_t d = 0; d < index.size(); ++d) {
      const auto* ramp = as<scalar::Ramp>(index[d]);
      const auto* rows = as<scalar::Runs>(index[d]); // counted as if they followed each other
      if (ramp != nullptr)
        stride = ramp->stride;
      if (index.size() > 1)
        flat = flat * scalar::int_lit(extents_[buffer][d]);
      flat = flat + (ramp != nullptr ? ramp->base : rows != nullptr ? rows->base : index[d]);
    }
    if (stride == 1)
      access.bytes *= lanes;
    else {
      access.count = lanes;
      access.stride = stride * access.bytes;
    }
    access.at = place_of(flat, element_bytes(buffer));
    return access;
  }

  Place place_of(const Expr& e, int64_t factor = 1) {
    Place place;
    if (e.type().elem == scalar::Elem::Bool) {
      place.others.emplace_back(known(e), factor);
      return place;
    }
    const scalar::AffineSum sum = scalar::affine_sum(scalar::simplify(known(e)));
    place.constant = sum.constant * factor;
    for (const auto& [term, coefficient] : sum.terms)
      if (const auto* var = as<scalar::Var>(term))
        place.variables.emplace_back(var->id, coefficient * factor);
      else if (const auto* param = as<scalar::Param>(term))
        place.constant += params_[param->index] * coefficient * factor;
      else
        place.others.emplace_back(term, coefficient * factor);
    return place;
  }

  const Expr& known(const Expr& e) {
    is_known_ = is_known_ && !is_data(e);
    return e;
  }
  bool is_data(const Expr& e) const {
    return kernel::has_load(e) || kernel::mentions_any(e, data_);
  }

  int64_t element_bytes(uint32_t buffer) const {
    return scalar::bytes_of(kernel_.buffers[buffer].elem);
  }
  int64_t elements(uint32_t buffer) const { return kernel::element_count(extents_[buffer]); }

  void begin_run() { done_.clear(); }
  template <class Is> void forget(const Is& is) { std::erase_if(done_, is); }

  const kernel::Kernel& kernel_;
  std::vector<int64_t> params_;
  std::vector<std::vector<int64_t>> extents_;
  std::vector<Expr> done_; ///< loads whose values are at hand
  kernel::VarSet data_;    ///< variables that are no indices, or come from memory
  int64_t assumed_ = 0;
  bool is_known_ = true;
};

} // namespace

std::optional<Accesses> accesses_of(const kernel::Kernel& kernel, std::span<const int64_t> params) {
  return AccessReader(kernel, params).read();
}

} // namespace kawara::estimate
