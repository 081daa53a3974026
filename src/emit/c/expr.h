#pragma once

#include "emit/element_values.h"
#include "kernel/kernel.h"

#include <set>
#include <string>
#include <vector>

namespace kawara::emit {

/// Spelling of every name of a kernel in C: no keyword, no function of the C library, no duplicate.
struct CNames {
  std::vector<std::string> params, buffers, variables;
  std::string function;
};
CNames c_names_of(const kernel::Kernel&, const std::string& function);

std::string c_type(scalar::Elem); ///< "float", "int64_t", "kw_bf16"
bool has_own_type(scalar::Elem);  ///< one that C lacks; the prelude converts it

/// Expressions as C, noting which helper functions they need.
class CExpr {
public:
  CExpr(const kernel::Kernel& kernel, const CNames& names)
      : kernel_(kernel), elements_(kernel), names_(names) {}

  std::string operator()(const scalar::Expr& e) { return print(e); }
  /// `A[i * N + j]`
  std::string element(uint32_t buffer, const std::vector<scalar::Expr>& index);
  std::string converted(const scalar::Expr& value, scalar::Elem to);

  const std::set<std::string>& helpers() const { return helpers_; }
  void need(const std::string& helper) { helpers_.insert(helper); }
  void need_type(scalar::Elem);

private:
  std::string print(const scalar::Expr& e);
  std::string operand(const scalar::Expr& e, scalar::BinaryOp parent, bool is_right);
  std::string atom(const scalar::Expr& e);
  std::string on_bits(const scalar::Binary& n, scalar::Elem elem);
  std::string on_naturals(const scalar::Binary& n);
  std::string binary(const scalar::Expr& e, const scalar::Binary& n);
  std::string unary(const scalar::Expr& e, const scalar::Unary& n);
  std::string helper(const std::string& name, const std::string& arguments, scalar::Elem elem);
  std::string plain_helper(const std::string& name, const std::string& arguments);
  std::string conversion(const std::string& text, scalar::Elem from, scalar::Elem to);

  /// Whether arithmetic of this type with these values wraps, so that it needs an unsigned type.
  bool wraps(scalar::Elem elem, const scalar::Expr& value) const;

  const kernel::Kernel& kernel_;
  ElementValues elements_;
  const CNames& names_;
  std::set<std::string> helpers_;
};

} // namespace kawara::emit
