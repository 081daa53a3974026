#include "program/rewrites/blocked_scans.h"

#include "program/rewrites/find_scan.h"
#include "program/text/resolver.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::int_lit;

/// A scan with iterations that count from 0: `for i: element(i) = element(i - 1) op term(i)`.
struct LongScan {
  size_t node = 0; ///< of the body
  Scan scan;
  int64_t length = 0;
  Loop loop; ///< without its body
};

std::optional<LongScan> long_scan_at(const Program& program, size_t node, int64_t least) {
  const auto* loop = std::get_if<Loop>(&program.body[node]);
  const auto lo = loop != nullptr ? scalar::constant_of(loop->lo) : std::nullopt,
             hi = loop != nullptr ? scalar::constant_of(loop->hi) : std::nullopt;
  if (!lo || !hi || (*hi - *lo) * loop->step < least)
    return std::nullopt;
  auto scan = scan_of(program, *loop, 0);
  if (!scan || scan->scalar)
    return std::nullopt;
  const Expr iteration = int_lit(*lo) + int_lit(loop->step) * scalar::iter(0);
  scan->index = index_at(scan->index, 0, iteration);
  scan->term = scalar::substitute_iters(scan->term, {iteration});
  const int64_t length = (*hi - *lo) * loop->step;
  return LongScan{node, *std::move(scan), length,
                  Loop{loop->name, int_lit(0), int_lit(length), 1, loop->where, {}}};
}

std::optional<LongScan> first_long_scan(const Program& program, int64_t least) {
  for (size_t node = 0; node < program.body.size(); ++node)
    if (auto scan = long_scan_at(program, node, least))
      return scan;
  return std::nullopt;
}

class ScanRewriter {
public:
  ScanRewriter(Program program, LongScan found, int64_t block)
      : program_(std::move(program)), scan_(std::move(found.scan)), loop_(std::move(found.loop)),
        node_(found.node), length_(found.length), block_(block), blocks_(length_ / block) {}

  Program run() {
    total_ = add_tensor("total", blocks_);
    start_ = add_tensor("start", blocks_ + 1);
    add_totals();
    add_starts();
    add_blocks();
    add_rest();
    auto& body = program_.body;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(node_));
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(node_),
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
    tensor.where = loop_.where;
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
    text.where = loop_.where;
    program_.statements.push_back(std::move(text));
    return {static_cast<uint32_t>(program_.statements.size() - 1)};
  }

  Loop loop(const std::string& name, int64_t lo, int64_t hi, Body body) const {
    return Loop{name, int_lit(lo), int_lit(hi), 1, loop_.where, std::move(body)};
  }

  Expr combined(const Expr& old, const Expr& term) const {
    return scalar::combine(scan_.op, old, term);
  }
  Expr element(const Expr& iteration) const {
    return scalar::load(scan_.tensor, index_at(scan_.index, 0, iteration), type());
  }
  Expr term(const Expr& iteration) const { return value_at(scan_.term, 0, iteration); }
  /// The iteration that a block begins with, plus `k`.
  Expr in_block(const Expr& k) const { return scalar::iter(0) * int_lit(block_) + k; }

  void add_totals() {
    const StatementRef begin = add({block_name()}, total_, {scalar::iter(0)}, ReduceOp::None,
                                   scalar::identity_of(scan_.op, type()));
    const StatementRef update = add({block_name(), loop_.name}, total_, {scalar::iter(0)}, scan_.op,
                                    term(in_block(scalar::iter(1))));
    made_.emplace_back(
        loop(block_name(), 0, blocks_, {begin, loop(loop_.name, 0, block_, {update})}));
  }

  void add_starts() {
    made_.emplace_back(add({}, start_, {int_lit(0)}, ReduceOp::None, element(int_lit(-1))));
    const Expr last = scalar::iter(0) - int_lit(1);
    const StatementRef next =
        add({block_name()}, start_, {scalar::iter(0)}, ReduceOp::None,
            combined(scalar::load(start_, {last}, type()), scalar::load(total_, {last}, type())));
    made_.emplace_back(loop(block_name(), 1, blocks_ + 1, {next}));
  }

  void add_blocks() {
    const StatementRef first =
        add({block_name()}, scan_.tensor, index_at(scan_.index, 0, in_block(int_lit(0))),
            ReduceOp::None,
            combined(scalar::load(start_, {scalar::iter(0)}, type()), term(in_block(int_lit(0)))));
    const Expr here = in_block(scalar::iter(1));
    const StatementRef next =
        add({block_name(), loop_.name}, scan_.tensor, index_at(scan_.index, 0, here),
            ReduceOp::None, combined(element(here - int_lit(1)), term(here)));
    made_.emplace_back(
        loop(block_name(), 0, blocks_, {first, loop(loop_.name, 1, block_, {next})}));
  }

  /// What is no whole block.
  void add_rest() {
    const Expr here = scalar::iter(0);
    if (blocks_ * block_ == length_)
      return;
    const StatementRef next = add({loop_.name}, scan_.tensor, scan_.index, ReduceOp::None,
                                  combined(element(here - int_lit(1)), term(here)));
    made_.emplace_back(loop(loop_.name, blocks_ * block_, length_, {next}));
  }

  std::string block_name() const { return loop_.name + "_block"; }

  Program program_;
  Scan scan_;
  Loop loop_;
  size_t node_;
  int64_t length_, block_, blocks_;
  uint32_t total_ = 0, start_ = 0;
  Body made_;
};

} // namespace

std::optional<Program> with_blocked_scan(const Program& program, int64_t block, int64_t least) {
  auto scan = first_long_scan(program, std::max(least, 2 * block));
  return scan ? std::optional(ScanRewriter(program, *std::move(scan), block).run()) : std::nullopt;
}

} // namespace kawara::program
