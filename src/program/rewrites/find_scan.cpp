#include "program/rewrites/find_scan.h"

#include "scalar/loads.h"
#include "scalar/running_value.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::int_lit;
using scalar::is_same_place;
using scalar::reads;

/// All iterators as they are, but for that of the loop at `depth`.
std::vector<Expr> iters_with(uint32_t depth, const Expr& value) {
  std::vector<Expr> iters;
  for (uint32_t k = 0; k < depth; ++k)
    iters.push_back(scalar::iter(k));
  iters.push_back(value);
  return iters;
}

bool reads_data(const std::vector<Expr>& index) {
  return std::any_of(index.begin(), index.end(),
                     [](const Expr& e) { return scalar::reads_data(e); });
}

class ScanReader {
public:
  ScanReader(const Program& program, const Loop& loop, uint32_t depth)
      : program_(program), loop_(loop), depth_(depth) {}

  std::optional<Scan> read() const {
    if (loop_.step != 1 && loop_.step != -1)
      return std::nullopt;
    std::optional<Scan> scan;
    if (loop_.body.size() == 1)
      scan = of_elements();
    else if (loop_.body.size() == 2 && !(scan = of_scalar(0, 1)))
      scan = of_scalar(1, 0);
    return scan && may_regroup(*scan) ? scan : std::nullopt;
  }

private:
  /// The statement, where it is one without conditions around it.
  const Statement* statement(size_t position) const {
    const auto* ref = std::get_if<StatementRef>(&loop_.body[position]);
    const Statement* text = ref != nullptr ? &program_.statements[ref->statement] : nullptr;
    return text != nullptr && !text->over && !reads_data(text->index) ? text : nullptr;
  }

  std::vector<Expr> before(const std::vector<Expr>& index) const {
    return index_at(index, depth_, scalar::iter(depth_) - int_lit(loop_.step));
  }

  Expr element_of(const Statement& text) const {
    return scalar::load(text.tensor, text.index, {program_.tensors[text.tensor].elem, 1});
  }

  /// s[i] = s[i - 1] op term
  std::optional<Scan> of_elements() const {
    const Statement* text = statement(0);
    if (text == nullptr)
      return std::nullopt;
    const std::vector<Expr> last = before(text->index);
    if (is_same_place(text->index, last))
      return std::nullopt;
    const auto running = scalar::running_value(
        element_of(*text), text->op, text->value, [&](const scalar::Load& load) {
          return load.tensor == text->tensor && is_same_place(load.index, last);
        });
    if (!running)
      return std::nullopt;
    return Scan{text->tensor, text->index, running->op, running->term, std::nullopt};
  }

  /// t op= term; s[i] = t
  std::optional<Scan> of_scalar(size_t at_update, size_t at_store) const {
    const Statement *update = statement(at_update), *store = statement(at_store);
    if (update == nullptr || store == nullptr || store->op != ReduceOp::None ||
        update->tensor == store->tensor || !is_same_place(update->index, before(update->index)) ||
        is_same_place(store->index, before(store->index)))
      return std::nullopt;
    const auto is_value = [&](const scalar::Load& load) {
      return load.tensor == update->tensor && is_same_place(load.index, update->index);
    };
    const auto* copied = as<scalar::Load>(store->value);
    const auto running =
        scalar::running_value(element_of(*update), update->op, update->value, is_value);
    if (copied == nullptr || !is_value(*copied) || !running ||
        reads(running->term, store->tensor) || reads(running->term, update->tensor) ||
        program_.tensors[store->tensor].elem != program_.tensors[update->tensor].elem)
      return std::nullopt;
    return Scan{store->tensor, store->index, running->op, running->term,
                RunningScalar{update->tensor, update->index, at_store < at_update}};
  }

  /// Stores round nothing, and the contract leaves the order of floats open.
  bool may_regroup(const Scan& scan) const {
    const scalar::Elem elem = program_.tensors[scan.tensor].elem;
    return scan.term.type().elem == elem && scalar::compute_type(elem) == elem &&
           (!scalar::is_float(elem) || program_.numerics != Numerics::Exact);
  }

  const Program& program_;
  const Loop& loop_;
  uint32_t depth_;
};

void add_scanned(const Program& program, const Body& body, uint32_t depth,
                 std::set<uint32_t>& found) {
  for (const BodyNode& node : body)
    if (const auto* loop = std::get_if<Loop>(&node)) {
      if (const auto scan = scan_of(program, *loop, depth))
        found.insert(scan->tensor);
      add_scanned(program, loop->body, depth + 1, found);
    } else if (const auto* branch = std::get_if<If>(&node)) {
      add_scanned(program, branch->then, depth, found);
      add_scanned(program, branch->otherwise, depth, found);
    }
}

} // namespace

std::vector<Expr> index_at(const std::vector<Expr>& index, uint32_t depth, const Expr& value) {
  const std::vector<Expr> iters = iters_with(depth, value);
  std::vector<Expr> out;
  for (const Expr& e : index)
    out.push_back(scalar::simplify(scalar::substitute_iters(e, iters)));
  return out;
}

Expr value_at(const Expr& e, uint32_t depth, const Expr& value) {
  return scalar::rewrite(scalar::substitute_iters(e, iters_with(depth, scalar::simplify(value))),
                         [](const Expr& part) {
                           const auto* load = as<scalar::Load>(part);
                           if (load == nullptr)
                             return Expr();
                           std::vector<Expr> index;
                           for (const Expr& at : load->index)
                             index.push_back(scalar::simplify(at));
                           return scalar::load(load->tensor, std::move(index), part.type());
                         });
}

std::optional<Scan> scan_of(const Program& program, const Loop& loop, uint32_t depth) {
  return ScanReader(program, loop, depth).read();
}

std::set<uint32_t> scanned_tensors(const Program& program) {
  std::set<uint32_t> found;
  add_scanned(program, program.body, 0, found);
  return found;
}

} // namespace kawara::program
