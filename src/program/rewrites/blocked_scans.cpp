#include "program/rewrites/blocked_scans.h"

#include "program/text/resolver.h"
#include "scalar/loads.h"
#include "scalar/running_value.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::int_lit;
using scalar::is_same_place;
using scalar::reads;

/// `for i: element(i) = element(i - 1) op term(i)`, i counting iterations from 0.
struct Scan {
  size_t node = 0; ///< of the body
  uint32_t tensor = 0;
  std::vector<Expr> index; ///< of the element of iteration Iter 0
  ReduceOp op = ReduceOp::Sum;
  Expr term;
  std::optional<uint32_t> scalar; ///< tensor that has the running value before and after
  std::vector<Expr> scalar_index;
  int64_t length = 0;
  Loop loop; ///< without its body
};

std::vector<Expr> substituted(std::vector<Expr> index, const std::vector<Expr>& iters) {
  for (Expr& e : index)
    e = scalar::simplify(scalar::substitute_iters(e, iters));
  return index;
}

class ScanFinder {
public:
  ScanFinder(const Program& program, int64_t least) : program_(program), least_(least) {}

  std::optional<Scan> first() const {
    for (size_t node = 0; node < program_.body.size(); ++node)
      if (auto scan = scan_at(node))
        return scan;
    return std::nullopt;
  }
  std::optional<Scan> scan_at(size_t node) const {
    const auto* loop = std::get_if<Loop>(&program_.body[node]);
    return loop != nullptr ? scan_of(*loop, node) : std::nullopt;
  }

private:
  const Statement* statement(const BodyNode& node) const {
    const auto* ref = std::get_if<StatementRef>(&node);
    return ref != nullptr ? &program_.statements[ref->statement] : nullptr;
  }

  std::optional<Scan> scan_of(const Loop& loop, size_t node) const {
    const auto lo = scalar::constant_of(loop.lo), hi = scalar::constant_of(loop.hi);
    if (!lo || !hi || (loop.step != 1 && loop.step != -1))
      return std::nullopt;
    Scan scan;
    scan.node = node;
    scan.length = (*hi - *lo) * loop.step;
    scan.loop = Loop{loop.name, int_lit(0), int_lit(scan.length), 1, loop.where, {}};
    if (scan.length < least_)
      return std::nullopt;
    const std::vector<Expr> iteration = {int_lit(*lo) + int_lit(loop.step) * scalar::iter(0)};
    const bool is_scan = loop.body.size() == 1   ? read_elements(loop, iteration, scan)
                         : loop.body.size() == 2 ? read_scalar(loop, iteration, scan)
                                                 : false;
    return is_scan && may_regroup(scan) ? std::optional(scan) : std::nullopt;
  }

  /// s[i] = s[i - 1] op term
  bool read_elements(const Loop& loop, const std::vector<Expr>& iteration, Scan& scan) const {
    const Statement* text = statement(loop.body[0]);
    if (text == nullptr || text->over)
      return false;
    scan.tensor = text->tensor;
    scan.index = substituted(text->index, iteration);
    const std::vector<Expr> before =
        substituted(scan.index, {scalar::iter(0) - int_lit(1)}); // what the iteration before stored
    if (is_same_place(scan.index, before))
      return false;
    const Expr value = scalar::substitute_iters(text->value, iteration);
    const auto running = scalar::running_value(
        scalar::load(scan.tensor, scan.index, {program_.tensors[scan.tensor].elem, 1}), text->op,
        value, [&](const scalar::Load& load) {
          return load.tensor == scan.tensor && is_same_place(load.index, before);
        });
    if (!running)
      return false;
    scan.op = running->op;
    scan.term = running->term;
    return true;
  }

  /// t op= term; s[i] = t
  bool read_scalar(const Loop& loop, const std::vector<Expr>& iteration, Scan& scan) const {
    const Statement *update = statement(loop.body[0]), *text = statement(loop.body[1]);
    if (update == nullptr || text == nullptr || update->over || text->over ||
        update->op == ReduceOp::None || text->op != ReduceOp::None ||
        update->tensor == text->tensor)
      return false;
    const auto* copied = as<scalar::Load>(text->value);
    const auto is_fixed = [](const Expr& e) { return scalar::constant_of(e).has_value(); };
    if (copied == nullptr || copied->tensor != update->tensor ||
        !std::all_of(update->index.begin(), update->index.end(), is_fixed) ||
        !is_same_place(copied->index, update->index))
      return false;
    scan.tensor = text->tensor;
    scan.index = substituted(text->index, iteration);
    scan.scalar = update->tensor;
    scan.scalar_index = update->index;
    scan.op = update->op;
    scan.term = scalar::substitute_iters(update->value, iteration);
    const std::vector<Expr> before = substituted(scan.index, {scalar::iter(0) - int_lit(1)});
    return !is_same_place(scan.index, before) && !reads(scan.term, scan.tensor) &&
           !reads(scan.term, update->tensor) &&
           program_.tensors[scan.tensor].elem == program_.tensors[update->tensor].elem;
  }

  /// Stores round nothing, and the contract leaves the order of floats open.
  bool may_regroup(const Scan& scan) const {
    const scalar::Elem elem = program_.tensors[scan.tensor].elem;
    return scan.term.type().elem == elem && scalar::compute_type(elem) == elem &&
           (!scalar::is_float(elem) || program_.numerics != Numerics::Exact);
  }

  const Program& program_;
  int64_t least_;
};

class ScanRewriter {
public:
  ScanRewriter(Program program, Scan scan, int64_t block)
      : program_(std::move(program)), scan_(std::move(scan)), block_(block),
        blocks_(scan_.length / block) {}

  Program run() {
    total_ = add_tensor("total", blocks_);
    start_ = add_tensor("start", blocks_ + 1);
    add_totals();
    add_starts();
    add_blocks();
    add_rest();
    auto& body = program_.body;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(scan_.node));
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(scan_.node),
                std::make_move_iterator(made_.begin()), std::make_move_iterator(made_.end()));
    number_statements(program_);
    return std::move(program_);
  }

private:
  scalar::Type type() const { return scan_.term.type(); }

  uint32_t add_tensor(const std::string& what, int64_t length) {
    Tensor tensor;
    tensor.name = program_.tensors[scan_.tensor].name + "_" + what;
    while (std::any_of(program_.tensors.begin(), program_.tensors.end(),
                       [&](const Tensor& other) { return other.name == tensor.name; }))
      tensor.name += "_";
    tensor.elem = program_.tensors[scan_.tensor].elem;
    tensor.shape = {int_lit(length)};
    tensor.is_hidden = true;
    tensor.where = scan_.loop.where;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(program_.tensors.size() - 1);
  }

  StatementRef add(std::vector<std::string> iters, uint32_t tensor, std::vector<Expr> index,
                   ReduceOp op, Expr value) {
    Statement text;
    text.iters = std::move(iters);
    text.tensor = tensor;
    text.index = std::move(index);
    text.op = op;
    text.value = std::move(value);
    text.where = scan_.loop.where;
    program_.statements.push_back(std::move(text));
    return {static_cast<uint32_t>(program_.statements.size() - 1)};
  }

  Loop loop(const std::string& name, int64_t lo, int64_t hi, Body body) const {
    return Loop{name, int_lit(lo), int_lit(hi), 1, scan_.loop.where, std::move(body)};
  }

  Expr combined(const Expr& old, const Expr& term) const {
    return scalar::combine(scan_.op, old, term);
  }
  Expr element(const Expr& iteration) const {
    return scalar::load(scan_.tensor, substituted(scan_.index, {iteration}), type());
  }
  Expr term(const Expr& iteration) const {
    const Expr value = scalar::substitute_iters(scan_.term, {scalar::simplify(iteration)});
    return scalar::rewrite(value, [](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      return load != nullptr ? scalar::load(load->tensor, substituted(load->index, {}), e.type())
                             : Expr();
    });
  }
  /// The iteration that a block begins with, plus `k`.
  Expr in_block(const Expr& k) const { return scalar::iter(0) * int_lit(block_) + k; }

  void add_totals() {
    const StatementRef begin = add({block_name()}, total_, {scalar::iter(0)}, ReduceOp::None,
                                   scalar::identity_of(scan_.op, type()));
    const StatementRef update = add({block_name(), scan_.loop.name}, total_, {scalar::iter(0)},
                                    scan_.op, term(in_block(scalar::iter(1))));
    made_.emplace_back(
        loop(block_name(), 0, blocks_, {begin, loop(scan_.loop.name, 0, block_, {update})}));
  }

  void add_starts() {
    const Expr before = scan_.scalar ? scalar::load(*scan_.scalar, scan_.scalar_index, type())
                                     : element(int_lit(-1));
    made_.emplace_back(add({}, start_, {int_lit(0)}, ReduceOp::None, before));
    const Expr last = scalar::iter(0) - int_lit(1);
    const StatementRef next =
        add({block_name()}, start_, {scalar::iter(0)}, ReduceOp::None,
            combined(scalar::load(start_, {last}, type()), scalar::load(total_, {last}, type())));
    made_.emplace_back(loop(block_name(), 1, blocks_ + 1, {next}));
  }

  void add_blocks() {
    const StatementRef first =
        add({block_name()}, scan_.tensor, substituted(scan_.index, {in_block(int_lit(0))}),
            ReduceOp::None,
            combined(scalar::load(start_, {scalar::iter(0)}, type()), term(in_block(int_lit(0)))));
    const Expr here = in_block(scalar::iter(1));
    const StatementRef next =
        add({block_name(), scan_.loop.name}, scan_.tensor, substituted(scan_.index, {here}),
            ReduceOp::None, combined(element(here - int_lit(1)), term(here)));
    made_.emplace_back(
        loop(block_name(), 0, blocks_, {first, loop(scan_.loop.name, 1, block_, {next})}));
  }

  /// What is no whole block, and the scalar's last value.
  void add_rest() {
    const Expr here = scalar::iter(0);
    if (blocks_ * block_ < scan_.length) {
      const StatementRef next = add({scan_.loop.name}, scan_.tensor, scan_.index, ReduceOp::None,
                                    combined(element(here - int_lit(1)), term(here)));
      made_.emplace_back(loop(scan_.loop.name, blocks_ * block_, scan_.length, {next}));
    }
    if (scan_.scalar)
      made_.emplace_back(add({}, *scan_.scalar, scan_.scalar_index, ReduceOp::None,
                             element(int_lit(scan_.length - 1))));
  }

  std::string block_name() const { return scan_.loop.name + "_block"; }

  Program program_;
  Scan scan_;
  int64_t block_, blocks_;
  uint32_t total_ = 0, start_ = 0;
  Body made_;
};

} // namespace

std::optional<Program> with_blocked_scan(const Program& program, int64_t block, int64_t least) {
  auto scan = ScanFinder(program, std::max(least, 2 * block)).first();
  return scan ? std::optional(ScanRewriter(program, *std::move(scan), block).run()) : std::nullopt;
}

std::set<uint32_t> scanned_tensors(const Program& program) {
  const ScanFinder finder(program, 2);
  std::set<uint32_t> found;
  for (size_t node = 0; node < program.body.size(); ++node)
    if (const auto scan = finder.scan_at(node))
      found.insert(scan->tensor);
  return found;
}

} // namespace kawara::program
