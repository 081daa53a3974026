#pragma once

#include "emit/c/expr.h"
#include "emit/element_values.h"
#include "kernel/kernel.h"

#include <set>
#include <string>
#include <vector>

namespace kawara::emit {

std::string cuda_type(scalar::Elem); ///< "float", "long long", "kw_bf16"
bool is_cuda_struct(scalar::Elem);   ///< a type that the prelude defines

/// Scalar expressions as CUDA C++, noting which functions of the prelude they need.
class CudaExpr {
public:
  CudaExpr(const kernel::Kernel& kernel, CNames names, bool is_narrow);

  std::string operator()(const scalar::Expr& e) { return print(e); }
  std::string element(uint32_t buffer, const std::vector<scalar::Expr>& index); ///< `A[i * 64 + j]`
  std::string plain_element(uint32_t buffer,
                            const std::vector<scalar::Expr>& index); ///< not swizzled
  std::string converted(const scalar::Expr& value, scalar::Elem to);
  /// The value in f32, which is then rounded to a type of 16 bits: functions need no more digits
  /// than that.
  std::string before_rounding(const scalar::Expr& value);
  /// The variable never has a value below 0.
  void set_nonnegative(uint32_t var) { nonnegative_.insert(var); }
  /// Elements of a private buffer of 2-byte elements lie two to a register.
  void set_packed(uint32_t buffer) { packed_.insert(buffer); }
  bool is_packed(uint32_t buffer) const { return packed_.contains(buffer); }
  /// The register, and which half of it.
  std::string packed_register(uint32_t buffer, const scalar::Expr& index) const;
  /// Whether gelu of f32 may look into shared memory (gelu_table.h), from now on; and whether it
  /// has since.
  void set_tails(bool has_tails) {
    has_tails_ = has_tails;
    uses_tails_ = false;
  }
  bool uses_tails() const { return uses_tails_; }
  std::string index_type() const { return is_narrow_ ? "int" : "long long"; }
  std::string type_of(scalar::Type type) const; ///< of a variable; vectors too

  /// An expression that prints as `text`.
  scalar::Expr named(std::string text, scalar::Type type);

  const CNames& names() const { return names_; }
  const std::set<std::string>& needs() const { return needs_; }
  void need(const std::string& function) { needs_.insert(function); }
  void need_type(scalar::Elem);

private:
  std::string print(const scalar::Expr& e);
  std::string node(const scalar::Expr& e);
  std::string position(uint32_t buffer, const std::vector<scalar::Expr>& index);
  std::string atom(const scalar::Expr& e);
  std::string on_bits(const scalar::Binary& n, scalar::Elem elem);
  std::string binary(const scalar::Binary& n);
  std::string division(const scalar::Binary& n, scalar::Elem elem);
  bool is_nonnegative(const scalar::Expr& index) const;
  std::string unary(const scalar::Expr& e, const scalar::Unary& n);
  std::string fast_exp(const scalar::Expr& arg);
  std::string gelu(const scalar::Expr& arg); ///< of f32
  bool is_fast() const { return kernel_.numerics == program::Numerics::Fast; }
  std::string conversion(const std::string& text, scalar::Elem from, scalar::Elem to);

  /// Whether arithmetic of this type with these values wraps, so that it needs an unsigned type.
  bool wraps(scalar::Elem elem, const scalar::Expr& value) const;

  const kernel::Kernel& kernel_;
  ElementValues elements_;
  CNames names_;
  bool is_narrow_;
  bool has_tails_ = false, uses_tails_ = false;
  bool is_rounded_ = false; ///< what is being printed goes to a type of 16 bits
  std::set<uint32_t> packed_, nonnegative_;
  std::set<std::string> needs_;
};

} // namespace kawara::emit
