#include "program/rewrites/running_elements.h"

#include "program/rewrites/find_scan.h"
#include "program/text/resolver.h"
#include "scalar/loads.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::int_lit;

using IsWorth = std::function<bool(const RunningScan&)>;

class ElementsRewriter {
public:
  ElementsRewriter(Program program, const IsWorth& is_worth)
      : program_(std::move(program)), is_worth_(is_worth) {}

  Program run() {
    program_.body = rewritten(program_.body);
    if (has_changed_)
      number_statements(program_);
    return std::move(program_);
  }

private:
  Body rewritten(const Body& body) {
    Body out;
    for (const BodyNode& node : body)
      if (const auto* loop = std::get_if<Loop>(&node))
        add(*loop, out);
      else if (const auto* branch = std::get_if<If>(&node)) {
        If copy = *branch;
        copy.then = rewritten(branch->then);
        copy.otherwise = rewritten(branch->otherwise);
        out.emplace_back(std::move(copy));
      } else
        out.push_back(node);
    return out;
  }

  void add(const Loop& loop, Body& out) {
    const auto scan = scan_of(program_, loop, depth());
    const auto length = length_of(loop);
    if (scan && scan->scalar && length != 0 &&
        is_worth_({scan->term.type().elem, names_.size(), length}))
      return add_elements(loop, *scan, out);
    Loop copy = loop;
    names_.push_back(loop.name);
    copy.body = rewritten(loop.body);
    names_.pop_back();
    out.emplace_back(std::move(copy));
  }

  uint32_t depth() const { return static_cast<uint32_t>(names_.size()); }

  static std::optional<int64_t> length_of(const Loop& loop) {
    const auto lo = scalar::constant_of(loop.lo), hi = scalar::constant_of(loop.hi);
    return lo && hi ? std::optional(std::max<int64_t>((*hi - *lo) * loop.step, 0)) : std::nullopt;
  }

  void add_elements(const Loop& loop, const Scan& scan, Body& out) {
    has_changed_ = true;
    const scalar::Type type = scan.term.type();
    const Expr step = int_lit(loop.step), here = scalar::iter(depth()), before = here - step,
               end = scalar::simplify(loop.hi - step);
    const auto element = [&](const Expr& iteration) {
      return scalar::load(scan.tensor, index_at(scan.index, depth(), iteration), type);
    };
    const auto added = [&](const Expr& old, const Expr& iteration) {
      return scalar::combine(scan.op, old, value_at(scan.term, depth(), iteration));
    };
    const bool is_late = scan.scalar->is_stored_first;
    const auto begin = start_of(scan, out);
    const Expr old = begin ? *begin : scalar::load(scan.scalar->tensor, scan.scalar->index, type);
    add_guarded(loop,
                statement(loop, scan.tensor, index_at(scan.index, depth(), loop.lo),
                          is_late ? old : added(old, loop.lo)),
                out);
    Loop rest = loop;
    rest.lo = scalar::simplify(loop.lo + step);
    const Expr next = added(element(before), is_late ? before : here);
    names_.push_back(loop.name);
    rest.body = {statement(loop, scan.tensor, scan.index, next)};
    names_.pop_back();
    out.emplace_back(std::move(rest));
    if (!begin)
      add_guarded(loop,
                  statement(loop, scan.scalar->tensor, scan.scalar->index,
                            is_late ? added(element(end), end) : element(end)),
                  out);
  }

  /// Only where the loop has an iteration.
  static void add_guarded(const Loop& loop, StatementRef ref, Body& out) {
    const bool goes_up = loop.step > 0;
    if (length_of(loop))
      out.emplace_back(ref);
    else
      out.emplace_back(If{scalar::binary(scalar::BinaryOp::Lt, goes_up ? loop.lo : loop.hi,
                                         goes_up ? loop.hi : loop.lo),
                          loop.where,
                          {ref},
                          {}});
  }

  /// What the scalar is set to right before the loop, if nobody else needs it: taken away.
  std::optional<Expr> start_of(const Scan& scan, Body& out) const {
    const auto* ref = out.empty() ? nullptr : std::get_if<StatementRef>(&out.back());
    if (ref == nullptr || program_.tensors[scan.scalar->tensor].role != Role::Temp ||
        !scan.scalar->index.empty())
      return std::nullopt;
    const Statement& text = program_.statements[ref->statement];
    if (text.tensor != scan.scalar->tensor || text.op != ReduceOp::None || text.over ||
        text.value.type() != scan.term.type() || scalar::reads(text.value, text.tensor) ||
        uses_of(text.tensor) != kUsesOfScan)
      return std::nullopt;
    const Expr value = text.value;
    out.pop_back();
    return value;
  }

  /// Of a scalar that starts, is updated and is stored.
  static constexpr size_t kUsesOfScan = 3;

  /// Statements that touch the tensor.
  size_t uses_of(uint32_t tensor) const {
    return static_cast<size_t>(std::count_if(
        program_.statements.begin(), program_.statements.end(), [&](const Statement& text) {
          bool is_used = text.tensor == tensor;
          visit_exprs(text, [&](const Expr& e) { is_used = is_used || scalar::reads(e, tensor); });
          return is_used;
        }));
  }

  StatementRef statement(const Loop& loop, uint32_t tensor, std::vector<Expr> index, Expr value) {
    Statement text;
    text.iters = names_;
    text.tensor = tensor;
    text.index = std::move(index);
    text.value = std::move(value);
    text.where = loop.where;
    program_.statements.push_back(std::move(text));
    return {static_cast<uint32_t>(program_.statements.size() - 1)};
  }

  Program program_;
  const IsWorth& is_worth_;
  std::vector<std::string> names_; ///< of the loops around
  bool has_changed_ = false;
};

} // namespace

Program with_running_elements(Program program, const IsWorth& is_worth) {
  return ElementsRewriter(std::move(program), is_worth).run();
}

} // namespace kawara::program
