#include "emit/c/expr.h"

#include "scalar/match.h"
#include "support/check.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kawara::emit {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::Elem;
using scalar::Expr;
using scalar::UnaryOp;

std::string float_text(double value, Elem elem) {
  const bool is_double = elem == Elem::F64;
  if (std::isnan(value))
    return "NAN";
  if (std::isinf(value))
    return value > 0 ? "INFINITY" : "-INFINITY";
  std::array<char, 64> buffer{};
  const auto end = is_double
                       ? std::to_chars(buffer.begin(), buffer.end(), value).ptr
                       : std::to_chars(buffer.begin(), buffer.end(), static_cast<float>(value)).ptr;
  std::string text(buffer.begin(), end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return is_double ? text : text + "f";
}

std::string int_text(int64_t value, Elem elem) {
  if (elem == Elem::Bool)
    return value != 0 ? "true" : "false";
  if (elem == Elem::U64)
    return "UINT64_C(" + std::to_string(static_cast<uint64_t>(value)) + ")";
  // The most negative number has no literal of its own.
  if (value == INT64_MIN)
    return "INT64_MIN";
  if (value > INT32_MAX || value < INT32_MIN)
    return "INT64_C(" + std::to_string(value) + ")";
  return value == INT32_MIN ? "INT32_MIN" : std::to_string(value);
}

const char* sign_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Sub:
    return "-";
  case BinaryOp::Mul:
    return "*";
  case BinaryOp::Div:
    return "/";
  case BinaryOp::Lt:
    return "<";
  case BinaryOp::Le:
    return "<=";
  case BinaryOp::Gt:
    return ">";
  case BinaryOp::Ge:
    return ">=";
  case BinaryOp::Eq:
    return "==";
  case BinaryOp::Ne:
    return "!=";
  case BinaryOp::And:
    return "&&";
  case BinaryOp::Or:
    return "||";
  default:
    return nullptr;
  }
}

/// An infix operator is the outermost thing of the C text.
bool is_infix(const Expr& e) {
  const auto* n = as<scalar::Binary>(e);
  return n != nullptr && sign_of(n->op) != nullptr;
}

bool is_negative(const Expr& e) {
  if (const auto* i = as<scalar::IntLit>(e))
    return i->value < 0;
  if (const auto* f = as<scalar::FloatLit>(e))
    return std::signbit(f->value);
  const auto* n = as<scalar::Unary>(e);
  return n != nullptr && n->op == UnaryOp::Neg;
}

} // namespace

std::string c_type(Elem elem) {
  switch (elem) {
  case Elem::F64:
    return "double";
  case Elem::F32:
    return "float";
  case Elem::F16:
    return "_Float16";
  case Elem::BF16:
    return "kw_bf16";
  case Elem::I64:
    return "int64_t";
  case Elem::I32:
    return "int32_t";
  case Elem::I16:
    return "int16_t";
  case Elem::I8:
    return "int8_t";
  case Elem::U8:
    return "uint8_t";
  case Elem::U16:
    return "uint16_t";
  case Elem::U32:
    return "uint32_t";
  case Elem::U64:
    return "uint64_t";
  case Elem::Bool:
    return "bool";
  case Elem::F8E4M3:
    return "kw_f8e4m3";
  case Elem::F8E5M2:
    return "kw_f8e5m2";
  }
  KAWARA_CHECK(false, "element type");
}

bool has_own_type(Elem elem) { return elem == Elem::BF16 || scalar::is_float8(elem); }

void CExpr::need_type(Elem elem) {
  if (has_own_type(elem))
    need(std::string(scalar::name_of(elem)));
}

std::string CExpr::element(uint32_t buffer, const std::vector<Expr>& index) {
  if (index.empty())
    return names_.buffers[buffer] + "[0]";
  Expr linear = index[0];
  for (size_t d = 1; d < index.size(); ++d)
    linear = linear * kernel_.buffers[buffer].shape[d] + index[d];
  return names_.buffers[buffer] + "[" + print(linear) + "]";
}

std::string CExpr::conversion(const std::string& text, Elem from, Elem to) {
  if (from == to)
    return text;
  if (has_own_type(from)) {
    need_type(from);
    const std::string wide = "kw_from_" + std::string(scalar::name_of(from)) + "(" + text + ")";
    return conversion(wide, Elem::F32, to);
  }
  if (has_own_type(to)) {
    need_type(to);
    const Elem through = to == Elem::BF16 ? Elem::F32 : Elem::F64;
    const std::string wide = from == Elem::F32 ? text : conversion(text, from, through);
    return "kw_to_" + std::string(scalar::name_of(to)) + "(" + wide + ")";
  }
  if (!scalar::is_float(from) || scalar::is_float(to) || to == Elem::Bool)
    return "(" + c_type(to) + ")" + text;
  const Elem through = scalar::compute_type(to);
  const std::string whole = plain_helper("to_" + std::string(scalar::name_of(through)), text);
  return to == through ? whole : "(" + c_type(to) + ")" + whole;
}

std::string CExpr::converted(const Expr& value, Elem to) {
  const Elem from = value.type().elem;
  const bool is_plain = from == to;
  return is_plain ? print(value) : conversion(atom(value), from, to);
}

std::string CExpr::atom(const Expr& e) {
  const bool is_loose = is_infix(e) || as<scalar::Select>(e) != nullptr || is_negative(e);
  return is_loose ? "(" + print(e) + ")" : print(e);
}

/// Products inside sums and sums at the left of sums read well without parentheses; everything else
/// that is infix gets them.
std::string CExpr::operand(const Expr& e, BinaryOp parent, bool is_right) {
  const auto* n = as<scalar::Binary>(e);
  const bool is_sum = parent == BinaryOp::Add || parent == BinaryOp::Sub;
  const auto in = [&](BinaryOp a, BinaryOp b) { return n->op == a || n->op == b; };
  if (n != nullptr && is_sum && n->op == BinaryOp::Mul && !wraps(e.type().elem, e))
    return print(e);
  if (n != nullptr && is_sum && !is_right && in(BinaryOp::Add, BinaryOp::Sub) &&
      !wraps(e.type().elem, e))
    return print(e);
  if (n != nullptr && n->op == parent && (parent == BinaryOp::And || parent == BinaryOp::Or))
    return print(e);
  if (n != nullptr && parent >= BinaryOp::Lt && parent <= BinaryOp::Ge && n->op <= BinaryOp::Div)
    return print(e);
  if (n != nullptr && parent == BinaryOp::And && n->op >= BinaryOp::Lt && n->op <= BinaryOp::Ne)
    return print(e);
  return atom(e);
}

bool CExpr::wraps(Elem elem, const Expr& value) const {
  return elem == Elem::I32 || (elem == Elem::I64 && elements_.has(value));
}

std::string CExpr::helper(const std::string& name, const std::string& arguments, Elem elem) {
  need(name);
  const std::string call = "kw_" + name + "(" + arguments + ")";
  return elem == Elem::I64 ? call : "(" + c_type(elem) + ")" + call;
}

std::string CExpr::plain_helper(const std::string& name, const std::string& arguments) {
  need(name);
  return "kw_" + name + "(" + arguments + ")";
}

/// Operators on bits, in parentheses of their own; empty for others. Counts of shifts count modulo
/// the number of bits.
std::string CExpr::on_bits(const scalar::Binary& n, Elem elem) {
  const std::string count =
      "(" + atom(n.rhs) + " & " + std::to_string(scalar::bytes_of(elem) * 8 - 1) + ")";
  const std::string natural = scalar::bytes_of(elem) == 8 ? "uint64_t" : "uint32_t";
  switch (n.op) {
  case BinaryOp::BitAnd:
  case BinaryOp::BitOr:
  case BinaryOp::BitXor: // spelled as in programs
    return "(" + atom(n.lhs) + " " + std::string(scalar::name_of(n.op)) + " " + atom(n.rhs) + ")";
  case BinaryOp::Shl:
    return "(" + c_type(elem) + ")((" + natural + ")" + atom(n.lhs) + " << " + count + ")";
  case BinaryOp::Shr: // of negative numbers every compiler fills with the sign
    return "(" + atom(n.lhs) + " >> " + count + ")";
  default:
    return {};
  }
}

/// What of u64 is written in another way than of i64; empty for the rest.
std::string CExpr::on_naturals(const scalar::Binary& n) {
  const std::string both = print(n.lhs) + ", " + print(n.rhs);
  switch (n.op) {
  case BinaryOp::FloorDiv:
    return "(" + atom(n.lhs) + " / " + atom(n.rhs) + ")";
  case BinaryOp::Mod:
    return "(" + atom(n.lhs) + " % " + atom(n.rhs) + ")";
  case BinaryOp::Min:
    return plain_helper("min_u64", both);
  case BinaryOp::Max:
    return plain_helper("max_u64", both);
  default:
    return {};
  }
}

std::string CExpr::binary(const Expr& e, const scalar::Binary& n) {
  const Elem elem = n.lhs.type().elem;
  if (std::string text = on_bits(n, elem); !text.empty())
    return text;
  if (std::string text = elem == Elem::U64 ? on_naturals(n) : ""; !text.empty())
    return text;
  if (const char* sign = sign_of(n.op)) {
    const bool is_arithmetic = n.op <= BinaryOp::Div;
    // Integers wrap in Kawara but not in C.
    if (is_arithmetic && scalar::is_integer(elem) && (wraps(elem, n.lhs) || wraps(elem, n.rhs))) {
      const std::string type = c_type(elem);
      return "(" + type + ")((u" + type + ")" + atom(n.lhs) + " " + sign + " (u" + type + ")" +
             atom(n.rhs) + ")";
    }
    return operand(n.lhs, n.op, false) + " " + sign + " " + operand(n.rhs, n.op, true);
  }
  const std::string both = print(n.lhs) + ", " + print(n.rhs);
  if (elem == Elem::I32 && scalar::constant_of(n.rhs).value_or(0) > 0) {
    if (n.op == BinaryOp::FloorDiv)
      return plain_helper("floordiv32", both);
    if (n.op == BinaryOp::Mod)
      return plain_helper("mod32", both);
  }
  const std::string suffix = elem == Elem::F32 ? "f" : "";
  switch (n.op) {
  case BinaryOp::FloorDiv:
    return helper("floordiv", both, elem);
  case BinaryOp::Mod:
    return helper("mod", both, elem);
  case BinaryOp::Min:
    return scalar::is_float(elem) ? plain_helper("minimum" + suffix, both)
                                  : helper("min", both, elem);
  case BinaryOp::Max:
    return scalar::is_float(elem) ? plain_helper("maximum" + suffix, both)
                                  : helper("max", both, elem);
  case BinaryOp::Pow:
    return "pow" + suffix + "(" + both + ")";
  case BinaryOp::Atan2:
    return "atan2" + suffix + "(" + both + ")";
  default:
    KAWARA_CHECK(false, "operator of " + to_string(e.type()));
  }
}

std::string CExpr::unary(const Expr& e, const scalar::Unary& n) {
  const Elem elem = e.type().elem;
  const std::string f = elem == Elem::F32 ? "f" : "",
                    one = float_text(1.0, elem == Elem::F64 ? elem : Elem::F32);
  const auto call = [&](const char* name) { return name + f + "(" + print(n.arg) + ")"; };
  switch (n.op) {
  case UnaryOp::Neg:
    if (wraps(elem, n.arg))
      return elem == Elem::I32 ? "(int32_t)(0u - (uint32_t)" + atom(n.arg) + ")"
                               : "(int64_t)(0 - (uint64_t)" + atom(n.arg) + ")";
    return elem == Elem::U64 ? "(0 - " + atom(n.arg) + ")" : "-" + atom(n.arg);
  case UnaryOp::Not:
    return "!" + atom(n.arg);
  case UnaryOp::Abs:
    if (elem == Elem::U64)
      return atom(n.arg);
    return scalar::is_float(elem) ? call("fabs") : helper("abs", print(n.arg), elem);
  case UnaryOp::Exp:
    return call("exp");
  case UnaryOp::Log:
    return call("log");
  case UnaryOp::Exp2:
    return call("exp2");
  case UnaryOp::Log2:
    return call("log2");
  case UnaryOp::Sqrt:
    return call("sqrt");
  case UnaryOp::Rsqrt:
    return "(" + one + " / " + call("sqrt") + ")";
  case UnaryOp::Tanh:
    return call("tanh");
  case UnaryOp::Erf:
    return call("erf");
  case UnaryOp::Sigmoid:
    return "(" + one + " / (" + one + " + exp" + f + "(-" + atom(n.arg) + ")))";
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
  case UnaryOp::Silu:
  case UnaryOp::Gelu:
  case UnaryOp::GeluTanh:
    return helper(std::string(name_of(n.op)), print(n.arg), elem);
  case UnaryOp::Bits:
  case UnaryOp::FromBits:
    break; // made from functions for vector code only
  }
  KAWARA_CHECK(false, "unary operator");
}

std::string CExpr::print(const Expr& e) {
  KAWARA_CHECK(e.type().lanes == 1, "C text has no vectors");
  const auto impossible = [](const char* what) -> std::string { KAWARA_CHECK(false, what); };
  return scalar::match(
      e, [&](const scalar::IntLit& n) { return int_text(n.value, e.type().elem); },
      [&](const scalar::FloatLit& n) { return float_text(n.value, e.type().elem); },
      [&](const scalar::Iter&) { return impossible("iterator"); },
      [&](const scalar::Param& n) { return names_.params.at(n.index); },
      [&](const scalar::Var& n) { return names_.variables.at(n.id); },
      [&](const scalar::Load& n) { return element(n.tensor, n.index); },
      [&](const scalar::Unary& n) { return unary(e, n); },
      [&](const scalar::Binary& n) { return binary(e, n); },
      [&](const scalar::Select& n) {
        return atom(n.cond) + " ? " + atom(n.then) + " : " + atom(n.otherwise);
      },
      [&](const scalar::Cast& n) { return converted(n.arg, e.type().elem); },
      [&](const scalar::Ramp&) { return impossible("ramp"); },
      [&](const scalar::Runs&) { return impossible("runs"); },
      [&](const scalar::Broadcast&) { return impossible("broadcast"); },
      [&](const scalar::Reduce&) { return impossible("reduce"); },
      [&](const scalar::Scan&) { return impossible("scan"); },
      [&](const scalar::Fma& n) {
        return std::string("fma") + (e.type().elem == Elem::F32 ? "f(" : "(") + print(n.a) + ", " +
               print(n.b) + ", " + print(n.c) + ")";
      },
      [&](const scalar::Instruction&) { return impossible("instruction"); },
      [&](const scalar::Within& n) {
        return plain_helper("within", print(n.index) + ", " + print(n.extent) + ", \"" +
                                          names_.buffers.at(n.tensor) + "\", " +
                                          std::to_string(n.dim));
      });
}

} // namespace kawara::emit
