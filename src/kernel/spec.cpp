#include "kernel/kernel.h"
#include "kernel/vars.h"

#include <set>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::Elem;
using scalar::kBool;
using scalar::kIndex;
using scalar::Type;

/// Walks the kernel with the set of visible names and notes what is not as the header says.
class Checker {
public:
  explicit Checker(const Kernel& kernel) : kernel_(kernel), names_(names_of(kernel)) {}

  std::vector<std::string> run() {
    for (const Buffer& b : kernel_.buffers)
      for (const Expr& extent : b.shape) {
        require(extent && extent.type() == kIndex, "shape of " + b.name + " is not an index");
        if (extent && b.scope == Scope::Shared)
          require(scalar::constant_of(extent).has_value(),
                  "shape of shared " + b.name + " is not constant");
        if (extent && b.scope != Scope::Private)
          require(vars_in(extent).empty() && !has_load(extent),
                  "shape of " + b.name + " depends on more than the parameters");
      }
    block(kernel_.body);
    require(!has_launch_ || !is_stored_by_host_, "a store beside launches");
    return std::move(broken_);
  }

private:
  void require(bool condition, const std::string& what) {
    if (!condition)
      broken_.push_back(what);
  }

  std::string text(const Expr& e) const { return scalar::to_string(e, names_); }

  void block(const Block& statements) {
    const std::set<uint32_t> outer = visible_;
    for (const Stmt& stmt : statements)
      std::visit([&](const auto& s) { one(s); }, stmt);
    visible_ = outer;
  }

  void leaf(const Expr& e) {
    if (as<scalar::Iter>(e))
      require(false, "iterator of a statement in a kernel: " + text(e));
    if (const auto* p = as<scalar::Param>(e))
      require(p->index < kernel_.params.size(), "unknown parameter " + text(e));
    if (const auto* v = as<scalar::Var>(e)) {
      require(v->id < kernel_.variables.size() && visible_.count(v->id) != 0,
              "variable " + text(e) + " is used before it is defined");
      if (v->id < kernel_.variables.size())
        require(kernel_.variables[v->id].type == e.type(),
                "variable " + text(e) + " is used as " + to_string(e.type()));
    }
  }

  void index(uint32_t buffer, const std::vector<Expr>& at, const std::string& where) {
    require(buffer < kernel_.buffers.size(), "unknown buffer in " + where);
    if (buffer >= kernel_.buffers.size())
      return;
    const Buffer& b = kernel_.buffers[buffer];
    const bool is_flat = at.size() == 1 && b.shape.size() > 1;
    require(is_flat || b.shape.size() == at.size(), where + ": " + b.name + " has rank " +
                                                        std::to_string(b.shape.size()) + ", not " +
                                                        std::to_string(at.size()));
    const bool is_local = b.scope == Scope::Private || b.scope == Scope::Shared;
    require(!is_local || allocated_.count(buffer) != 0,
            where + ": " + b.name + " is not allocated here");
    for (const Expr& e : at)
      require(e.type().elem == Elem::I64, where + ": an index is not an i64");
  }

  void load(const Expr& e, const scalar::Load& n) {
    index(n.tensor, n.index, text(e));
    if (n.tensor < kernel_.buffers.size())
      require(kernel_.buffers[n.tensor].elem == e.type().elem,
              text(e) + " is loaded as " + to_string(e.type()));
    uint16_t lanes = 1;
    for (const Expr& i : n.index)
      if (i.type().lanes != 1)
        lanes = i.type().lanes;
    require(lanes == e.type().lanes, text(e) + ": lanes of the index and of the value differ");
  }

  void value(const Expr& e) {
    if (!e) {
      require(false, "absent expression");
      return;
    }
    scalar::visit(e, [&](const Expr& n) {
      leaf(n);
      if (const auto* l = as<scalar::Load>(n))
        load(n, *l);
    });
  }

  void define(uint32_t var) {
    require(var < kernel_.variables.size(), "unknown variable");
    require(visible_.insert(var).second,
            "variable " + kernel_.variables[var].name + " is defined while it is visible");
  }

  void one(const For& s) {
    value(s.lo);
    value(s.hi);
    require(s.lo.type() == kIndex && s.hi.type() == kIndex, "bounds of a loop are not indices");
    require(s.step > 0, "step of a loop is not positive");
    require(s.marks.vector_width >= 0 && s.marks.vector_width <= 4096, "vector width out of range");
    const std::set<uint32_t> outer = visible_;
    const bool was_in_launch = is_in_launch_;
    is_in_launch_ = is_in_launch_ || poly::is_block(s.marks.axis);
    define(s.var);
    block(s.body);
    is_in_launch_ = was_in_launch;
    visible_ = outer;
  }
  void one(const If& s) {
    value(s.cond);
    require(s.cond.type() == kBool, "condition of type " + to_string(s.cond.type()));
    block(s.then);
    block(s.otherwise);
  }
  void one(const Allocate& s) {
    const Scope scope = kernel_.buffers[s.buffer].scope;
    require(scope == Scope::Private || scope == Scope::Shared,
            kernel_.buffers[s.buffer].name + " is allocated but not private or shared");
    require(scope != Scope::Shared || is_in_launch_,
            kernel_.buffers[s.buffer].name + " is shared outside a launch");
    for (const Expr& extent : kernel_.buffers[s.buffer].shape)
      value(extent);
    require(allocated_.insert(s.buffer).second,
            kernel_.buffers[s.buffer].name + " is allocated twice");
    block(s.body);
    allocated_.erase(s.buffer);
  }
  void one(const Launch& s) {
    require(!is_in_launch_, "launch " + s.name + " stands inside a launch");
    for (const Expr& count : s.blocks)
      value(count);
    const auto blocks = scalar::constant_of(s.blocks[0]);
    require(s.cluster == 1 || (s.cluster > 1 && blocks && *blocks % s.cluster == 0),
            "blocks of " + s.name + " do not make whole clusters of " + std::to_string(s.cluster));
    const std::set<uint32_t> outer = visible_;
    for (const auto& vars : {s.block_vars, s.thread_vars})
      for (const uint32_t var : vars)
        define(var);
    is_in_launch_ = true;
    launch_ = &s;
    block(s.body);
    launch_ = nullptr;
    is_in_launch_ = false;
    visible_ = outer;
    has_launch_ = true;
  }
  void one(const Barrier&) { require(is_in_launch_, "barrier outside a launch"); }
  void one(const Commit&) { require(is_in_launch_, "commit outside a launch"); }
  void one(const Await& s) { require(is_in_launch_ && s.pending >= 0, "await outside a launch"); }
  void one(const Combine& s) {
    require(is_in_launch_, "combination of threads outside a launch");
    value(s.value);
    define(s.var);
    require(s.value.type() == kernel_.variables[s.var].type,
            "combination into " + kernel_.variables[s.var].name + " has another type");
  }
  void one(const AsyncOp& s) {
    require(launch_ != nullptr, "an asynchronous operation outside a launch");
    for (const Expr* e : exprs_of(s)) {
      value(*e);
      require(*e && e->type() == kIndex, "an asynchronous operation has an index of another type");
    }
    if (launch_ != nullptr)
      std::visit([&](const auto& order) { async_op(order); }, s.what);
  }
  void slot(const MbarrierSlot& at) {
    require(at.row < launch_->mbarriers.size(), "unknown mbarrier");
  }
  void box(const ElementAt& shared, const ElementAt& tensor, const std::vector<int64_t>& extents) {
    index(shared.buffer, shared.index, "bulk copy");
    index(tensor.buffer, tensor.index, "bulk copy");
    require(kernel_.buffers[shared.buffer].scope == Scope::Shared,
            "bulk copy without shared memory");
    const Scope scope = kernel_.buffers[tensor.buffer].scope;
    require(scope == Scope::Argument || scope == Scope::Workspace, "bulk copy without a tensor");
    require(extents.size() == tensor.index.size(), "box of a bulk copy has another rank");
    require(kernel_.buffers[shared.buffer].elem == kernel_.buffers[tensor.buffer].elem,
            "bulk copy between types");
  }
  /// What the driver asks of a tensor that bulk copies touch: kernels that break it run in every
  /// interpreter, and on no device.
  void tensor_map(uint32_t tensor, const std::vector<int64_t>& extents, bool is_walk) {
    constexpr int64_t kMostRank = 5, kMostSide = 256, kMostPlaces = 1024, kUnitBytes = 16;
    const Buffer& buffer = kernel_.buffers[tensor];
    const std::string where = "bulk copy of " + buffer.name + ": ";
    const int64_t bytes = scalar::bytes_of(buffer.elem), width = extents.back() * bytes;
    require(bytes <= 4, where + "elements of " + std::to_string(bytes) + " bytes");
    require(static_cast<int64_t>(extents.size()) <= kMostRank, where + "too many dimensions");
    require(width > 0 && width <= kPanelBytes && width % kUnitBytes == 0,
            where + "rows of a box have " + std::to_string(width) + " bytes");
    for (size_t d = 0; d + 1 < extents.size(); ++d)
      require(extents[d] > 0 && extents[d] <= (is_walk ? kMostPlaces : kMostSide),
              where + "a box has " + std::to_string(extents[d]) + " rows");
    int64_t stride = bytes;
    for (size_t d = buffer.shape.size(); d-- > 1;) {
      const auto extent = scalar::constant_of(scalar::simplify(buffer.shape[d]));
      require(extent.has_value(), where + "its extents are not constant");
      stride *= extent.value_or(kUnitBytes);
      require(stride % kUnitBytes == 0,
              where + "rows are " + std::to_string(stride) + " bytes apart");
    }
  }
  void async_op(const BulkLoad& s) {
    box(s.to, s.from, s.box);
    tensor_map(s.from.buffer, s.box, s.walk.has_value());
    slot(s.done);
    require(!s.is_multicast || (launch_->cluster > 1 && !s.walk),
            "a bulk copy to the blocks of a cluster, without one or of a window");
    if (!s.walk)
      return;
    // Corners of the walk are kept in a byte each, steps in three bits.
    for (size_t d = 0; d < 2; ++d) {
      const size_t from_end = 3 - d;
      const auto extent = s.box.size() < 3
                              ? std::nullopt
                              : scalar::constant_of(scalar::simplify(
                                    kernel_.buffers[s.from.buffer].shape[s.box.size() - from_end]));
      const int64_t last = s.walk->last[d] - extent.value_or(1) + 1;
      require(s.walk->stride[d] <= 8 && s.walk->first[d] >= -128 && s.walk->first[d] <= 127 &&
                  last >= -128 && last <= 127,
              "a window's steps or edges are too far for a bulk copy");
    }
    require((s.box.size() == 3 || s.box.size() == 4) && s.tap.size() == 2 && s.walk->channels > 0,
            "a window without an image");
    for (size_t d = 0; d < 2; ++d)
      require(s.walk->stride[d] > 0 && s.walk->last[d] >= s.walk->first[d],
              "a window without places");
  }
  void async_op(const BulkStore& s) {
    box(s.from, s.to, s.box);
    tensor_map(s.to.buffer, s.box, false);
  }
  void async_op(const Arrive& s) {
    slot(s.at);
    require(!s.block || launch_->cluster > 1, "arrival at another block, without a cluster");
  }
  void async_op(const AwaitPhase& s) { slot(s.at); }
  void async_op(const Mma& s) {
    for (const ElementAt* operand : {&s.a, &s.b}) {
      const bool is_private = operand == &s.a && s.is_a_private;
      index(operand->buffer, operand->index, s.instruction);
      require(kernel_.buffers[operand->buffer].scope ==
                  (is_private ? Scope::Private : Scope::Shared),
              s.instruction + " reads what is not shared");
    }
    require(kernel_.buffers[s.c].scope == Scope::Private && allocated_.count(s.c) != 0,
            s.instruction + " without a private result");
    require(s.steps > 0, s.instruction + " without steps");
  }
  void async_op(const AwaitMma& s) { require(s.pending >= 0, "await of what"); }
  void async_op(const AwaitBulkStores& s) { require(s.pending >= 0, "await of what"); }
  void async_op(const GroupBarrier&) {}
  void async_op(const SetRegisters& s) {
    require(s.count >= 24 && s.count <= 256 && s.count % 8 == 0, "registers of a warpgroup");
  }
  void one(const Store& s) {
    is_stored_by_host_ = is_stored_by_host_ || !is_in_launch_;
    for (const Expr& e : s.index)
      value(e);
    value(s.value);
    if (s.buffer >= kernel_.buffers.size()) {
      require(false, "unknown buffer in a store");
      return;
    }
    const Buffer& b = kernel_.buffers[s.buffer];
    const std::string where = "store to " + b.name;
    index(s.buffer, s.index, where);
    require(s.value.type().elem == scalar::compute_type(b.elem) || s.value.type().elem == b.elem,
            where + " of type " + to_string(s.value.type()));
    for (size_t d = 0; d < s.index.size(); ++d) {
      const bool is_last = d + 1 == s.index.size();
      const uint16_t lanes = is_last ? s.value.type().lanes : 1;
      require(s.index[d].type().lanes == lanes, where + ": lanes of index " + std::to_string(d));
      require(lanes == 1 || as<scalar::Ramp>(s.index[d]), where + ": last index is not a ramp");
    }
    require(!s.index.empty() || s.value.type().lanes == 1, where + ": vector into a scalar");
  }
  void one(const Define& s) {
    value(s.value);
    define(s.var);
    require(s.value.type() == kernel_.variables[s.var].type,
            "definition of " + kernel_.variables[s.var].name + " has another type");
  }
  void one(const Assign& s) {
    value(s.value);
    require(visible_.count(s.var) != 0,
            "variable " + kernel_.variables[s.var].name + " is assigned before it is defined");
    require(s.value.type() == kernel_.variables[s.var].type,
            "assignment to " + kernel_.variables[s.var].name + " has another type");
  }
  void one(const Zero& s) { require(s.buffer < kernel_.buffers.size(), "zero of what"); }
  void one(const Prefetch& s) {
    require(s.buffer < kernel_.buffers.size(), "prefetch of what");
    for (const Expr& e : s.index) {
      value(e);
      require(e.type().lanes == 1, "a prefetch index is a vector");
    }
  }
  void one(const Comment&) {}

  const Kernel& kernel_;
  scalar::Names names_;
  std::set<uint32_t> visible_, allocated_;
  std::vector<std::string> broken_;
  const Launch* launch_ = nullptr;
  bool is_in_launch_ = false, has_launch_ = false, is_stored_by_host_ = false;
};

} // namespace

std::vector<std::string> spec(const Kernel& kernel) { return Checker(kernel).run(); }

} // namespace kawara::kernel
