#include "program/text/resolver.h"

#include "support/text.h"

#include <fmt/format.h>

namespace kawara::program {

using ast::Kind;
using scalar::BinaryOp;

namespace {

struct SignedTerm {
  const ast::Expr* term;
  bool is_minus;
};

/// The terms of a sum, from left to right.
void terms_of(const ast::Expr& e, bool is_minus, std::vector<SignedTerm>& out) {
  if (e.kind == Kind::Negate)
    return terms_of(e.args[0], !is_minus, out);
  if (e.kind != Kind::Binary || (e.op != BinaryOp::Add && e.op != BinaryOp::Sub)) {
    out.push_back({&e, is_minus});
    return;
  }
  terms_of(e.args[0], is_minus, out);
  terms_of(e.args[1], is_minus != (e.op == BinaryOp::Sub), out);
}

} // namespace

/// For `index % extent` that wraps once: `(i + 1) % N` at the upper end, `(i - 1) % N` and
/// `(i - 1 + N) % N` at the lower. Empty where either may happen, as of `i + j - 1`.
std::optional<std::string> Resolver::wrapped_cases(const ast::Expr& index,
                                                   const ast::Expr& extent) const {
  const std::string size = text_of(extent.where);
  std::vector<SignedTerm> terms;
  terms_of(index, false, terms);
  bool has_extent = false;
  std::vector<std::string> plus, minus;
  for (const SignedTerm& each : terms) {
    std::string text = text_of(each.term->where);
    if (!each.is_minus && !has_extent && text == size)
      has_extent = true;
    else
      (each.is_minus ? minus : plus).push_back(std::move(text));
  }
  const std::string start = join(plus, " + "), shift = join(minus, " + ");
  if (plus.empty() || (plus.size() > 1 && !minus.empty()))
    return std::nullopt;
  if (minus.empty()) {
    const std::string whole = has_extent ? start + " + " + size : start;
    return fmt::format("if {0} < {1}: x[{0}], else: x[{0} - {1}]", whole, size);
  }
  const std::string before = start + " - " + join(minus, " - ");
  return fmt::format("if {0} >= {1}: x[{2}], else: x[{2} + {3}]", start, shift, before, size);
}

} // namespace kawara::program
