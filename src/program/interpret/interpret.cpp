#include "program/interpret/interpret.h"

#include "program/interpret/bytecode.h"
#include "scalar/reduce_op.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::Elem;
using scalar::Value;

struct StatementCode {
  std::vector<Code> index;
  Code value;
  Code lo, hi; ///< of its DataLoop
};

/// A loop, an `if` or a statement with its expressions compiled. Loop: `first` = lo, `second` = hi;
/// If: `first` = condition.
struct NodeCode {
  const BodyNode* node = nullptr;
  Code first, second;
  std::vector<NodeCode> inner, otherwise;
};

std::vector<NodeCode> code_of_body(const Body& body) {
  std::vector<NodeCode> nodes;
  for (const BodyNode& node : body) {
    NodeCode code;
    code.node = &node;
    if (const auto* loop = std::get_if<Loop>(&node)) {
      code.first = code_of(loop->lo);
      code.second = code_of(loop->hi);
      code.inner = code_of_body(loop->body);
    } else if (const auto* branch = std::get_if<If>(&node)) {
      code.first = code_of(branch->cond);
      code.inner = code_of_body(branch->then);
      code.otherwise = code_of_body(branch->otherwise);
    }
    nodes.push_back(std::move(code));
  }
  return nodes;
}

/// Runs the body; stops with false at the first fault, whose place is then in `stopped_at`.
class Runner {
public:
  Runner(const Program& program, Memory& memory)
      : program_(program), memory_(memory), machine_(memory), body_(code_of_body(program.body)) {
    for (const Statement& s : program.statements) {
      StatementCode code;
      for (const Expr& e : s.index)
        code.index.push_back(code_of(e));
      code.value = code_of(s.value);
      if (s.over) {
        code.lo = code_of(s.over->lo);
        code.hi = code_of(s.over->hi);
      }
      statements_.push_back(std::move(code));
    }
  }

  bool run() { return run_body(body_); }
  const Fault& fault() const { return machine_.fault(); }
  const Statement* stopped_at() const { return stopped_at_; }
  bool stopped_while_writing() const { return writing_; }
  const std::vector<int64_t>& iters() const { return iters_; }

private:
  bool run_body(const std::vector<NodeCode>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const NodeCode& n) { return run_node(n); });
  }

  bool run_node(const NodeCode& code) {
    if (const auto* loop = std::get_if<Loop>(code.node))
      return run_loop(*loop, code);
    if (const auto* ref = std::get_if<StatementRef>(code.node))
      return run_statement(ref->statement);
    Value cond{};
    if (!machine_.run(code.first, iters_.data(), cond))
      return false;
    return run_body(cond.i != 0 ? code.inner : code.otherwise);
  }

  bool run_loop(const Loop& loop, const NodeCode& code) {
    Value lo{}, hi{};
    if (!machine_.run(code.first, iters_.data(), lo) ||
        !machine_.run(code.second, iters_.data(), hi))
      return false;
    const size_t depth = iters_.size();
    for (int64_t i = lo.i; loop.step > 0 ? i < hi.i : i > hi.i; i += loop.step) {
      iters_.push_back(i);
      if (!run_body(code.inner))
        return false;
      iters_.resize(depth);
    }
    return true;
  }

  bool run_statement(uint32_t number) {
    const Statement& s = program_.statements[number];
    const StatementCode& code = statements_[number];
    if (s.over ? store_over(s, code) : store(s, code))
      return true;
    stopped_at_ = &s;
    return false;
  }

  bool store_over(const Statement& s, const StatementCode& code) {
    Value lo{}, hi{};
    if (!machine_.run(code.lo, iters_.data(), lo) || !machine_.run(code.hi, iters_.data(), hi))
      return false;
    for (int64_t i = lo.i; i < hi.i; ++i) {
      iters_.push_back(i);
      if (!store(s, code))
        return false;
      iters_.pop_back();
    }
    return true;
  }

  bool store(const Statement& s, const StatementCode& code) {
    Value value{};
    if (!machine_.run(code.value, iters_.data(), value))
      return false;
    element_.resize(code.index.size());
    for (size_t d = 0; d < code.index.size(); ++d) {
      Value v{};
      if (!machine_.run(code.index[d], iters_.data(), v))
        return false;
      element_[d] = v.i;
    }
    const int64_t at = machine_.locate(s.tensor, element_.data());
    if (at < 0) {
      writing_ = true;
      return false;
    }
    Array& array = memory_.arrays[s.tensor];
    if (s.op != ReduceOp::None) {
      if (!machine_.is_readable(s.tensor, at, element_.data()))
        return false;
      const Value old = scalar::convert(array.elem(), code.value.elem, array.get(at));
      value = *scalar::apply(scalar::operation_of(s.op), code.value.elem, old, value);
    }
    array.set(at, scalar::convert(code.value.elem, array.elem(), value));
    if (!memory_.written[s.tensor].empty())
      memory_.written[s.tensor][static_cast<size_t>(at)] = true;
    return true;
  }

  const Program& program_;
  Memory& memory_;
  Machine machine_;
  std::vector<NodeCode> body_;
  std::vector<StatementCode> statements_;
  std::vector<int64_t> iters_, element_;
  const Statement* stopped_at_ = nullptr;
  bool writing_ = false;
};

/// "S0 at (i=3, j=0)"; "S0" outside of loops.
std::string instance_text(const Statement& s, const std::vector<int64_t>& iters) {
  std::string text;
  for (size_t d = 0; d < iters.size(); ++d)
    text += (d == 0 ? "" : ", ") +
            (d < s.iters.size() ? s.iters[d]
             : s.over           ? s.over->name
                                : "?") +
            "=" + std::to_string(iters[d]);
  return s.name + (text.empty() ? "" : " at (" + text + ")");
}

std::string element_text(const Tensor& tensor, const std::vector<int64_t>& element) {
  return element.empty() ? tensor.name : tensor.name + shape_text(element);
}

Diagnostic out_of_bounds(const Program& program, const Runner& runner, const Memory& memory) {
  const Fault& fault = runner.fault();
  const Tensor& tensor = program.tensors[fault.tensor];
  const std::string element = element_text(tensor, fault.element);
  Diagnostic d;
  d.code = "K0410";
  d.headline = std::string(runner.stopped_while_writing() ? "write to " : "read of ") + "`" +
               element + "` outside of `" + tensor.name + "`";
  const auto& shape = memory.arrays[fault.tensor].shape();
  d.body = {"`" + tensor.name + "` has the shape " + shape_text(shape) + " at " +
            params_text(program, memory.params) + "; indices start at 0."};
  d.help = {{"narrow the loop's range, guard the statement with an `if`, or enlarge the tensor", "",
             false}};
  return d;
}

Diagnostic uninitialised(const Program& program, const Runner& runner) {
  const Fault& fault = runner.fault();
  const Tensor& tensor = program.tensors[fault.tensor];
  const std::string element = element_text(tensor, fault.element);
  Diagnostic d;
  d.code = "K0411";
  d.headline = "read of `" + element + "` before any write to it";
  d.body = {"`" + tensor.name + "` is a temp, and no statement wrote that element up to here."};
  d.help = {{"write it first", element + " = 0", false}};
  return d;
}

/// An index that was read from data.
Diagnostic not_within(const Program& program, const Runner& runner, const Memory& memory) {
  const Fault& fault = runner.fault();
  const Tensor& tensor = program.tensors[fault.tensor];
  const auto& shape = memory.arrays[fault.tensor].shape();
  Diagnostic d;
  d.code = "K0413";
  d.headline = "index " + std::to_string(fault.value) + " is outside of `" + tensor.name + "`";
  const std::string source =
      fault.index_tensor
          ? "`" + element_text(program.tensors[*fault.index_tensor], fault.element) + "`"
          : "a range that is read from data";
  d.body = {"It is what " + source + " gives for dimension " + std::to_string(fault.dim) + " of `" +
            tensor.name + "`, which has the shape " + shape_text(shape) + " at " +
            params_text(program, memory.params) + "; indices start at 0."};
  d.help = {{"keep indices inside", "x[min(max(idx[i], 0), N - 1)]", false}};
  return d;
}

Diagnostic divided_by_zero() {
  Diagnostic d;
  d.code = "K0412";
  d.headline = "integer division by zero";
  d.help = {{"guard the divisor", "select(d != 0, n // d, 0)", false}};
  return d;
}

Diagnostic explain_fault(const Program& program, const Runner& runner, const Memory& memory) {
  Diagnostic d;
  switch (runner.fault().kind) {
  case Fault::Kind::OutOfBounds:
    d = out_of_bounds(program, runner, memory);
    break;
  case Fault::Kind::Uninitialised:
    d = uninitialised(program, runner);
    break;
  case Fault::Kind::DividedByZero:
    d = divided_by_zero();
    break;
  case Fault::Kind::NotWithin:
    d = not_within(program, runner, memory);
    break;
  case Fault::Kind::None:
    KAWARA_CHECK(false, "the interpreter stopped without a fault");
  }
  d.source = program.source;
  if (const Statement* s = runner.stopped_at()) {
    d.where = s->where;
    d.label = instance_text(*s, runner.iters());
  }
  return d;
}

} // namespace

Result<Arrays, Diagnostic> interpret(const Program& program, const std::vector<int64_t>& params,
                                     Arrays inputs) {
  KAWARA_TRY(std::vector<Array> arrays, bind_arguments(program, params, std::move(inputs)));
  Memory memory{std::move(arrays), {}, params};
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const bool is_temp = program.tensors[t].role == Role::Temp;
    memory.written.emplace_back(is_temp ? static_cast<size_t>(memory.arrays[t].elements()) : 0);
  }
  Runner runner(program, memory);
  if (!runner.run())
    return fail(explain_fault(program, runner, memory));
  return results_of(program, std::move(memory.arrays));
}

} // namespace kawara::program
