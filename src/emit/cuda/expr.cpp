#include "emit/cuda/expr.h"

#include "emit/cuda/literals.h"
#include "scalar/affine_sum.h"
#include "scalar/match.h"
#include "support/check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace kawara::emit {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::Elem;
using scalar::Expr;
using scalar::UnaryOp;

const char* cuda_sign_of(BinaryOp op) {
  if (op == BinaryOp::And || op == BinaryOp::Or)
    return op == BinaryOp::And ? "&&" : "||";
  const bool is_same = op <= BinaryOp::Div || (op >= BinaryOp::Lt && op <= BinaryOp::Ne);
  return is_same ? scalar::name_of(op).data() : nullptr; // of a literal
}

bool is_activation(UnaryOp op) {
  return op == UnaryOp::Sigmoid || op == UnaryOp::Silu || op == UnaryOp::Gelu ||
         op == UnaryOp::GeluTanh;
}

/// A literal that is an int, but for its fraction.
bool is_int_literal(const Expr& e) {
  const auto* literal = as<scalar::FloatLit>(e);
  return literal != nullptr && std::abs(literal->value) < 0x1p31;
}

/// Whether a float lies between two ints, or is no number: max(-128, min(127, x)).
bool is_within_int(const Expr& e) {
  bool has_lower = false, has_upper = false;
  Expr inner = e;
  while (const auto* n = as<scalar::Binary>(inner)) {
    const bool is_left = is_int_literal(n->lhs);
    if ((n->op != BinaryOp::Min && n->op != BinaryOp::Max) || (!is_left && !is_int_literal(n->rhs)))
      break;
    (n->op == BinaryOp::Max ? has_lower : has_upper) = true;
    inner = is_left ? n->rhs : n->lhs;
  }
  return has_lower && has_upper;
}

/// How tightly an infix operator binds; 0 for what is no infix text.
int strength_of(const Expr& e) {
  const auto* n = as<scalar::Binary>(e);
  if (n == nullptr || cuda_sign_of(n->op) == nullptr)
    return 0;
  switch (n->op) {
  case BinaryOp::Mul:
  case BinaryOp::Div:
    return 5;
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return 4;
  case BinaryOp::And:
    return 2;
  case BinaryOp::Or:
    return 1;
  default:
    return 3;
  }
}

} // namespace

std::string cuda_type(Elem elem) {
  switch (elem) {
  case Elem::F64:
    return "double";
  case Elem::F32:
    return "float";
  case Elem::F16:
    return "kw_f16";
  case Elem::BF16:
    return "kw_bf16";
  case Elem::I64:
    return "long long";
  case Elem::I32:
    return "int";
  case Elem::I16:
    return "short";
  case Elem::I8:
    return "signed char";
  case Elem::U8:
    return "unsigned char";
  case Elem::U16:
    return "unsigned short";
  case Elem::U32:
    return "unsigned";
  case Elem::U64:
    return "unsigned long long";
  case Elem::Bool:
    return "bool";
  case Elem::F8E4M3:
    return "kw_f8e4m3";
  case Elem::F8E5M2:
    return "kw_f8e5m2";
  }
  KAWARA_CHECK(false, "element type");
}

bool is_cuda_struct(Elem elem) { return scalar::is_float(elem) && scalar::bytes_of(elem) < 4; }

CudaExpr::CudaExpr(const kernel::Kernel& kernel, CNames names, bool is_narrow)
    : kernel_(kernel), elements_(kernel), names_(std::move(names)), is_narrow_(is_narrow) {}

bool CudaExpr::wraps(Elem elem, const Expr& value) const {
  return elem == Elem::I32 || (elem == Elem::I64 && elements_.has(value));
}

std::string CudaExpr::type_of(scalar::Type type) const {
  const std::string element = type.elem == Elem::I64 ? index_type() : cuda_type(type.elem);
  return type.lanes == 1 ? element
                         : "kw_vector<" + element + ", " + std::to_string(type.lanes) + ">";
}

Expr CudaExpr::named(std::string text, scalar::Type type) {
  names_.variables.push_back(std::move(text));
  return scalar::var(static_cast<uint32_t>(names_.variables.size() - 1), type);
}

std::string CudaExpr::position(uint32_t buffer, const std::vector<Expr>& index) {
  if (index.empty())
    return "0";
  Expr linear = index[0];
  for (size_t d = 1; d < index.size(); ++d)
    linear = linear * kernel_.buffers[buffer].shape[d] + index[d];
  return print(scalar::simplify(linear));
}

std::string CudaExpr::plain_element(uint32_t buffer, const std::vector<Expr>& index) {
  return names_.buffers[buffer] + "[" + position(buffer, index) + "]";
}

std::string CudaExpr::element(uint32_t buffer, const std::vector<Expr>& index) {
  const kernel::Buffer& b = kernel_.buffers[buffer];
  if (is_packed(buffer)) {
    const bool is_high = *scalar::constant_of(index[0]) % 2 != 0;
    return cuda_type(b.elem) + "{(unsigned short)(" + packed_register(buffer, index[0]) +
           (is_high ? " >> 16" : "") + ")}";
  }
  if (!b.is_swizzled)
    return plain_element(buffer, index);
  return names_.buffers[buffer] + "[kw_swizzle<" + std::to_string(scalar::bytes_of(b.elem)) + ">(" +
         position(buffer, index) + ")]";
}

std::string CudaExpr::packed_register(uint32_t buffer, const Expr& index) const {
  const auto element = scalar::constant_of(index);
  KAWARA_CHECK(element.has_value(), "registers have constant numbers");
  return names_.buffers[buffer] + "[" + std::to_string(*element / 2) + "]";
}

void CudaExpr::need_type(Elem elem) {
  if (is_cuda_struct(elem))
    need(std::string(scalar::name_of(elem)));
}

std::string CudaExpr::conversion(const std::string& text, Elem from, Elem to) {
  if (from == to)
    return text;
  if (is_cuda_struct(from)) {
    need_type(from);
    return conversion("kw_to_float(" + text + ")", Elem::F32, to);
  }
  if (is_cuda_struct(to)) {
    need_type(to);
    return "kw_to_" + std::string(scalar::name_of(to)) + "(" + conversion(text, from, Elem::F32) +
           ")";
  }
  const std::string type = to == Elem::I64 ? index_type() : cuda_type(to);
  if (!scalar::is_float(from) || scalar::is_float(to) || to == Elem::Bool)
    return "(" + type + ")" + text;
  need("whole");
  const Elem through = scalar::compute_type(to);
  return (to == through ? "" : "(" + type + ")") + "kw_to_" +
         std::string(scalar::name_of(through)) + "(" + text + ")";
}

std::string CudaExpr::before_rounding(const Expr& value) {
  if (value.type().elem != Elem::F32)
    return converted(value, Elem::F32);
  const bool before = std::exchange(is_rounded_, kernel_.numerics != program::Numerics::Exact);
  const std::string text = print(value);
  is_rounded_ = before;
  return text;
}

std::string CudaExpr::converted(const Expr& value, Elem to) {
  const Elem from = value.type().elem;
  if (from == to)
    return print(value);
  const bool is_short = to == Elem::BF16 || to == Elem::F16;
  // What was widened and is narrowed again has not changed.
  if (const auto* cast = as<scalar::Cast>(value);
      cast != nullptr && is_short && cast->arg.type().elem == to)
    return print(cast->arg);
  if (is_short && from == Elem::F32)
    return conversion(before_rounding(value), from, to);
  // What is known to lie within 32 bits needs no more.
  if (scalar::is_integer(to) && to != Elem::U64 && scalar::is_float(from) && is_within_int(value)) {
    need("whole");
    return conversion("kw_to_i32(" + conversion(print(value), from, scalar::compute_type(from)) +
                          ")",
                      Elem::I32, to);
  }
  return conversion(atom(value), from, to);
}

std::string CudaExpr::atom(const Expr& e) {
  const std::string text = print(e);
  const bool is_loose = strength_of(e) != 0 || as<scalar::Select>(e) != nullptr || text[0] == '-' ||
                        text[0] == '(' || text.find(" >> ") != std::string::npos ||
                        text.find(" & ") != std::string::npos;
  return is_loose ? "(" + text + ")" : text;
}

/// A sum of such variables and numbers.
bool CudaExpr::is_nonnegative(const Expr& index) const {
  const scalar::AffineSum sum = scalar::affine_sum(index);
  return sum.constant >= 0 &&
         std::all_of(sum.terms.begin(), sum.terms.end(), [&](const auto& term) {
           const auto* v = as<scalar::Var>(term.first);
           return term.second >= 0 && v != nullptr && nonnegative_.contains(v->id);
         });
}

/// Shifts and masks round towards minus infinity as they should; other divisions go through a
/// function.
std::string CudaExpr::division(const scalar::Binary& n, Elem elem) {
  const bool is_quotient = n.op == BinaryOp::FloorDiv;
  const int64_t by = scalar::constant_of(n.rhs).value_or(0);
  if (by > 0 && std::has_single_bit(static_cast<uint64_t>(by)) && elem != Elem::U8)
    return is_quotient
               ? atom(n.lhs) + " >> " + std::to_string(std::countr_zero(static_cast<uint64_t>(by)))
               : atom(n.lhs) + " & " + std::to_string(by - 1);
  if (elem == Elem::U64)
    return "(" + atom(n.lhs) + (is_quotient ? " / " : " % ") + atom(n.rhs) + ")";
  if (elem == Elem::I64 && by > 0 && is_nonnegative(n.lhs)) {
    const std::string type = is_narrow_ ? "unsigned" : "unsigned long long";
    return "(" + index_type() + ")((" + type + ")" + atom(n.lhs) + (is_quotient ? " / " : " % ") +
           std::to_string(by) + "u)";
  }
  need("division");
  const std::string type = "(" + type_of({elem, 1}) + ")";
  return (is_quotient ? "kw_floordiv(" : "kw_mod(") + type + atom(n.lhs) + ", " + type +
         atom(n.rhs) + ")";
}

/// Operators on bits, in parentheses of their own; empty for others. Counts of shifts count modulo
/// the number of bits.
std::string CudaExpr::on_bits(const scalar::Binary& n, Elem elem) {
  const bool is_wide = scalar::bytes_of(elem) == 8;
  const std::string count = "(int)(" + atom(n.rhs) + " & " + (is_wide ? "63)" : "31)");
  switch (n.op) {
  case BinaryOp::BitAnd:
  case BinaryOp::BitOr:
  case BinaryOp::BitXor: // spelled as in programs
    return "(" + atom(n.lhs) + " " + std::string(scalar::name_of(n.op)) + " " + atom(n.rhs) + ")";
  case BinaryOp::Shl:
    return "(" + cuda_type(elem) + ")((" + (is_wide ? "unsigned long long" : "unsigned") + ")" +
           atom(n.lhs) + " << " + count + ")";
  case BinaryOp::Shr: // fills with the sign
    return "((" + cuda_type(elem) + ")" + atom(n.lhs) + " >> " + count + ")";
  default:
    return {};
  }
}

std::string CudaExpr::binary(const scalar::Binary& n) {
  const Elem elem = n.lhs.type().elem;
  if (std::string text = on_bits(n, elem); !text.empty())
    return text;
  if (n.op == BinaryOp::Div && elem == Elem::F32 && is_fast()) {
    need("approximate");
    return atom(n.lhs) + " * kw_reciprocal(" + print(n.rhs) + ")";
  }
  if (const char* sign = cuda_sign_of(n.op)) {
    const bool is_arithmetic = n.op <= BinaryOp::Div;
    // Integers wrap in Kawara but not in C++.
    if (is_arithmetic && scalar::is_integer(elem) && (wraps(elem, n.lhs) || wraps(elem, n.rhs))) {
      const std::string type = cuda_type(elem),
                        by = elem == Elem::I32 ? "unsigned" : "unsigned long long";
      return "(" + type + ")((" + by + ")" + atom(n.lhs) + " " + sign + " (" + by + ")" +
             atom(n.rhs) + ")";
    }
    const int own = n.op == BinaryOp::Mul || n.op == BinaryOp::Div   ? 5
                    : n.op == BinaryOp::Add || n.op == BinaryOp::Sub ? 4
                    : n.op == BinaryOp::And                          ? 2
                    : n.op == BinaryOp::Or                           ? 1
                                                                     : 3;
    const auto side = [&](const Expr& e, bool is_right) {
      const int inner = strength_of(e);
      const bool is_plain = inner > own || (inner == own && !is_right);
      return is_plain && !wraps(e.type().elem, e) ? print(e) : atom(e);
    };
    return side(n.lhs, false) + " " + sign + " " + side(n.rhs, true);
  }
  if (n.op == BinaryOp::FloorDiv || n.op == BinaryOp::Mod)
    return division(n, elem);
  const std::string both = print(n.lhs) + ", " + print(n.rhs);
  const std::string suffix = elem == Elem::F32 ? "f" : "";
  const bool is_float = scalar::is_float(elem);
  if (n.op == BinaryOp::Pow)
    return "pow" + suffix + "(" + both + ")";
  if (n.op == BinaryOp::Atan2)
    return "atan2" + suffix + "(" + both + ")";
  KAWARA_CHECK(n.op == BinaryOp::Min || n.op == BinaryOp::Max, "operator in CUDA text");
  const std::string name = n.op == BinaryOp::Min ? "min" : "max";
  if (is_float) {
    need("extremes");
    return "kw_" + name + "imum(" + both + ")";
  }
  const std::string type = type_of({elem, 1});
  return name + "((" + type + ")" + atom(n.lhs) + ", (" + type + ")" + atom(n.rhs) + ")";
}

/// e to the power of `arg` as a power of 2. Of the exponent c * (a - b), each side is scaled by
/// itself: one multiply-add for a, and what b needs is the same for all elements that share it. The
/// scaled b stays finite, so that an a of minus infinity gives 0.
std::string CudaExpr::fast_exp(const Expr& arg) {
  constexpr double kLog2OfE = 1.4426950408889634;
  need("approximate");
  Expr rest = arg;
  double factor = kLog2OfE;
  if (const auto* product = as<scalar::Binary>(arg); product && product->op == BinaryOp::Mul)
    for (const bool is_left : {true, false})
      if (const auto* c = as<scalar::FloatLit>(is_left ? product->lhs : product->rhs)) {
        factor = kLog2OfE * c->value;
        rest = is_left ? product->rhs : product->lhs;
        break;
      }
  const std::string scale = cuda_float_text(factor, Elem::F32);
  const auto* gap = as<scalar::Binary>(rest);
  if (gap == nullptr || gap->op != BinaryOp::Sub || factor <= 0)
    return "kw_exp2(" + atom(rest) + " * " + scale + ")";
  need("extremes");
  return "kw_exp2(fmaf(" + print(gap->lhs) + ", " + scale + ", -kw_maximum(" + atom(gap->rhs) +
         " * " + scale + ", -3.4028235e+38f)))";
}

std::string CudaExpr::gelu(const Expr& arg) {
  need("gelu");
  if (has_tails_)
    need("gelu_by_tails");
  uses_tails_ = has_tails_;
  return (has_tails_ ? "kw_gelu_by_tails(" : "kw_gelu(") + print(arg) + ")";
}

std::string CudaExpr::unary(const Expr& e, const scalar::Unary& n) {
  const Elem elem = e.type().elem;
  const std::string f = elem == Elem::F32 ? "f" : "";
  const auto call = [&](const char* name) { return name + f + "(" + print(n.arg) + ")"; };
  const auto own = [&](const char* name) {
    const bool is_short = std::exchange(is_rounded_, false) && elem == Elem::F32;
    if (!is_short && n.op == UnaryOp::Gelu && elem == Elem::F32)
      return gelu(n.arg);
    need(is_short ? "short_activations" : "activations");
    return std::string("kw_") + name + (is_short ? "_short(" : "(") + print(n.arg) + ")";
  };
  switch (n.op) {
  case UnaryOp::Neg:
    if (wraps(elem, n.arg))
      return elem == Elem::I32 ? "(int)(0u - (unsigned)" + atom(n.arg) + ")"
                               : "(long long)(0ull - (unsigned long long)" + atom(n.arg) + ")";
    return elem == Elem::U64 ? "(0ull - " + atom(n.arg) + ")" : "-" + atom(n.arg);
  case UnaryOp::Not:
    return "!" + atom(n.arg);
  case UnaryOp::Abs:
    if (scalar::is_float(elem))
      return call("fabs");
    if (elem == Elem::U64)
      return atom(n.arg);
    need("absolute");
    return "kw_absolute((" + type_of({elem, 1}) + ")" + atom(n.arg) + ")";
  case UnaryOp::Exp:
    return elem == Elem::F32 && is_fast() ? fast_exp(n.arg) : call("exp");
  case UnaryOp::Log:
    return call("log");
  case UnaryOp::Exp2:
    return call("exp2");
  case UnaryOp::Log2:
    return call("log2");
  case UnaryOp::Sqrt:
    return call("sqrt");
  case UnaryOp::Rsqrt:
    return "(1 / " + call("sqrt") + ")";
  case UnaryOp::Tanh:
    return call("tanh");
  case UnaryOp::Erf:
    return call("erf");
  case UnaryOp::Sin:
    return call("sin");
  case UnaryOp::Cos:
    return call("cos");
  case UnaryOp::Floor:
    return call("floor");
  case UnaryOp::Ceil:
    return call("ceil");
  case UnaryOp::Round:
    return call("rint");
  case UnaryOp::Sigmoid:
    return own("sigmoid");
  case UnaryOp::Silu:
    return own("silu");
  case UnaryOp::Gelu:
    return own("gelu");
  case UnaryOp::GeluTanh:
    return own("gelu_tanh");
  case UnaryOp::Bits:
  case UnaryOp::FromBits:
    break; // made from functions for vector code of processors only
  }
  KAWARA_CHECK(false, "unary operator in CUDA text");
}

/// Products pass on how many digits their factors need; sums may lose digits.
std::string CudaExpr::print(const Expr& e) {
  const auto* product = as<scalar::Binary>(e);
  const auto* call = as<scalar::Unary>(e);
  const bool passes = (product != nullptr && product->op == BinaryOp::Mul) ||
                      (call != nullptr && is_activation(call->op));
  const bool before = std::exchange(is_rounded_, is_rounded_ && passes);
  std::string text = node(e);
  is_rounded_ = before;
  return text;
}

std::string CudaExpr::node(const Expr& e) {
  KAWARA_CHECK(e.type().lanes == 1, "vectors are printed lane by lane");
  const auto impossible = [](const char* what) -> std::string { KAWARA_CHECK(false, what); };
  return scalar::match(
      e, [&](const scalar::IntLit& n) { return cuda_int_text(n.value, e.type().elem); },
      [&](const scalar::FloatLit& n) {
        const Elem computed = scalar::compute_type(e.type().elem);
        return conversion(cuda_float_text(n.value, computed), computed, e.type().elem);
      },
      [&](const scalar::Iter&) { return impossible("iterator"); },
      [&](const scalar::Param& n) { return names_.params.at(n.index); },
      [&](const scalar::Var& n) { return names_.variables.at(n.id); },
      [&](const scalar::Load& n) { return element(n.tensor, n.index); },
      [&](const scalar::Unary& n) { return unary(e, n); },
      [&](const scalar::Binary& n) { return binary(n); },
      [&](const scalar::Select& n) {
        return atom(n.cond) + " ? " + atom(n.then) + " : " + atom(n.otherwise);
      },
      [&](const scalar::Cast& n) { return converted(n.arg, e.type().elem); },
      [&](const scalar::Ramp&) { return impossible("ramp"); },
      [&](const scalar::Runs&) { return impossible("runs"); },
      [&](const scalar::Broadcast&) { return impossible("broadcast"); },
      [&](const scalar::Reduce&) { return impossible("reduce"); },
      [&](const scalar::Scan&) { return impossible("scan"); },
      [&](const scalar::Instruction&) { return impossible("instruction of a processor"); },
      [&](const scalar::Within& n) {
        need("within");
        return "kw_within(" + print(n.index) + ", " + print(n.extent) + ")";
      },
      [&](const scalar::Fma& n) {
        return "fma" + std::string(e.type().elem == Elem::F32 ? "f" : "") + "(" + print(n.a) +
               ", " + print(n.b) + ", " + print(n.c) + ")";
      });
}

} // namespace kawara::emit
