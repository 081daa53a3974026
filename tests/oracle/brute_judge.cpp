#include "oracle/brute_judge.h"

#include "oracle/moment.h"
#include "oracle/record.h"
#include "scalar/running_value.h"

#include <algorithm>
#include <map>

namespace kawara::oracle {

using poly::DependenceKind;
using poly::LoopId;
using poly::Order;

namespace {

/// Everything about the order that is looked up per pair.
class Judge {
public:
  Judge(const Run& run, const Order& order)
      : run_(run), order_(order), moments_(moments_of(order, run.instances, run.params)) {
    for (const Instance& instance : run.instances)
      if (!paths_.count(instance.statement))
        paths_.emplace(instance.statement, path_in(order, instance.statement));
  }

  std::optional<Broken> answer() const {
    if (const auto twice = shared_moment())
      return twice;
    for (const Conflict& conflict : run_.conflicts)
      if (const auto promise = promise_broken_by(conflict))
        return Broken{*promise, run_.instances[conflict.source], run_.instances[conflict.sink]};
    return std::nullopt;
  }

private:
  std::optional<Broken> shared_moment() const {
    std::map<Moment, size_t> seen;
    for (size_t i = 0; i < moments_.size(); ++i)
      if (const auto [at, is_new] = seen.emplace(moments_[i], i); !is_new)
        return Broken{"two instances at one time", run_.instances[at->second], run_.instances[i]};
    return std::nullopt;
  }

  std::optional<std::string> promise_broken_by(const Conflict& c) const {
    const bool is_free = c.is_reduction && run_.may_reassociate;
    if (!is_free && moments_[c.source] >= moments_[c.sink])
      return "order";
    const Path& x = paths_.at(run_.instances[c.source].statement);
    const Path& y = paths_.at(run_.instances[c.sink].statement);
    for (size_t k = 0; k < std::min(x.loops.size(), y.loops.size()); ++k) {
      if (x.loops[k] != y.loops[k])
        break;
      const poly::OrderLoop& loop = order_[x.loops[k]];
      const size_t end = unit_end(x.loops, k);
      if (loop.marks.is_parallel && is_equal_above(c, k) && !is_equal_above(c, end))
        return "parallel " + loop.name;
      if (loop.marks.vector_width > 1 && !is_free &&
          lanes_collide(c, end - 1, loop.marks.vector_width) &&
          !(loop.marks.is_scan && is_running_value(c, end - 1)))
        return "vector " + loop.name;
      if (row(c.source, k) != row(c.sink, k))
        break;
    }
    return std::nullopt;
  }

  /// Source and sink in different lanes of one vector of the loop at depth `at`, in an order that
  /// lanes do not keep.
  bool lanes_collide(const Conflict& c, size_t at, int64_t width) const {
    if (!is_equal_above(c, at))
      return false;
    const int64_t apart = row(c.sink, at) - row(c.source, at);
    if (apart <= 0 || apart >= width)
      return false;
    const size_t position = 2 * (at + 1);
    const int64_t x = moments_[c.source][position], y = moments_[c.sink][position];
    return !(x < y || (x == y && c.kind == DependenceKind::Anti));
  }

  /// What a scan hands on from one iteration to the next.
  bool is_running_value(const Conflict& c, size_t at) const {
    const uint32_t statement = run_.instances[c.source].statement;
    return c.kind == DependenceKind::Flow && statement == run_.instances[c.sink].statement &&
           run_.scans.contains(statement) && row(c.sink, at) - row(c.source, at) == 1;
  }

  /// One past the last loop that runs as one with the loop at depth `k`.
  size_t unit_end(const std::vector<LoopId>& loops, size_t k) const {
    size_t end = k + 1;
    while (end < loops.size() && order_[loops[end]].is_coalesced_into_parent)
      ++end;
    return end;
  }

  /// Same values of all loops above depth `k`.
  bool is_equal_above(const Conflict& c, size_t k) const {
    for (size_t d = 0; d < k; ++d)
      if (row(c.source, d) != row(c.sink, d))
        return false;
    return true;
  }

  int64_t row(size_t i, size_t k) const { return moments_[i][2 * k + 1]; }

  const Run& run_;
  const Order& order_;
  std::vector<Moment> moments_;
  std::map<uint32_t, Path> paths_;
};

/// `element = element before op term`, where storing rounds nothing and the contract lets it be
/// regrouped.
bool is_scan(const program::Statement& text, const std::vector<program::Tensor>& tensors,
             program::Numerics numerics) {
  const scalar::Elem elem = tensors[text.tensor].elem;
  return numerics != program::Numerics::Exact && !text.over && scalar::compute_type(elem) == elem &&
         text.value.type().elem == elem &&
         scalar::running_value(scalar::load(text.tensor, text.index, {elem, 1}), text.op,
                               text.value)
             .has_value();
}

/// The constant that a clamp between two equal ends is, whatever is clamped; null for what is none.
scalar::Expr constant_clamp(const scalar::Expr& e) {
  using scalar::BinaryOp;
  const auto* outer = scalar::as<scalar::Binary>(e);
  const auto* inner = outer != nullptr ? scalar::as<scalar::Binary>(outer->lhs) : nullptr;
  if (inner == nullptr)
    return {};
  const auto *end = scalar::as<scalar::IntLit>(outer->rhs),
             *begin = scalar::as<scalar::IntLit>(inner->rhs);
  const bool cuts_above = outer->op == BinaryOp::Min && inner->op == BinaryOp::Max;
  const bool cuts_below = outer->op == BinaryOp::Max && inner->op == BinaryOp::Min;
  if (end == nullptr || begin == nullptr || !(cuts_above || cuts_below) ||
      (cuts_above ? begin->value < end->value : begin->value > end->value))
    return {};
  return outer->rhs;
}

/// Without reads whose values cannot matter: the judge does not see them either.
std::vector<program::Statement> without_idle_reads(std::vector<program::Statement> statements) {
  for (program::Statement& statement : statements) {
    for (scalar::Expr& index : statement.index)
      index = scalar::rewrite(index, constant_clamp);
    statement.value = scalar::rewrite(statement.value, constant_clamp);
  }
  return statements;
}

Run finished(Run run, program::Numerics numerics, const std::vector<program::Tensor>& tensors,
             const program::Arrays& inputs) {
  std::vector<std::vector<Touch>> touches;
  if (depends_on_data(run))
    touches = recorded_touches(run.instances, without_idle_reads(run.statements), tensors,
                               run.params, inputs);
  else
    for (const Instance& instance : run.instances)
      touches.push_back(touches_of(run.statements[instance.statement], instance.iters, run.params));
  run.conflicts = conflicts_of(run.instances, run.statements, touches);
  run.may_reassociate = numerics != program::Numerics::Exact;
  for (uint32_t s = 0; s < run.statements.size(); ++s)
    if (is_scan(run.statements[s], tensors, numerics))
      run.scans.insert(s);
  return run;
}

} // namespace

bool depends_on_data(const Run& run) {
  return std::any_of(run.statements.begin(), run.statements.end(),
                     [](const program::Statement& s) { return program::depends_on_data(s); });
}

Run run_of(const program::Program& program, const std::vector<int64_t>& params,
           const program::Arrays& inputs) {
  return finished({program.statements, params, instances_of(program, params), {}, true, {}},
                  program.numerics, program.tensors, inputs);
}

Run run_of(const poly::Scop& scop, const std::vector<int64_t>& params,
           const program::Arrays& inputs) {
  return finished({statements_of(scop), params, instances_of(scop, params), {}, true, {}},
                  scop.numerics, scop.tensors, inputs);
}

std::optional<Broken> brute_judge(const Run& run, const Order& order) {
  return Judge(run, order).answer();
}

std::string to_string(const Run& run, const Instance& instance) {
  std::string text = run.statements[instance.statement].name + "(";
  for (size_t d = 0; d < instance.iters.size(); ++d)
    text += (d == 0 ? "" : ", ") + std::to_string(instance.iters[d]);
  return text + ")";
}

} // namespace kawara::oracle
