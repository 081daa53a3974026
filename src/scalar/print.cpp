#include "scalar/expr.h"
#include "scalar/match.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kawara::scalar {
namespace {

// How tightly an operator binds, loosest first; the order of the .kw grammar.
enum Level {
  kOr = 1,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kSign,
  kAtom
};

Level level_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return kOr;
  case BinaryOp::And:
    return kAnd;
  case BinaryOp::BitOr:
    return kBitOr;
  case BinaryOp::BitXor:
    return kBitXor;
  case BinaryOp::BitAnd:
    return kBitAnd;
  case BinaryOp::Shl:
  case BinaryOp::Shr:
    return kShift;
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return kSum;
  case BinaryOp::Mul:
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    return kProduct;
  case BinaryOp::Min:
  case BinaryOp::Max:
  case BinaryOp::Pow:
  case BinaryOp::NanMin:
  case BinaryOp::NanMax:
  case BinaryOp::CopySign:
  case BinaryOp::Atan2:
    return kAtom;
  default:
    return kCompare;
  }
}

template <class Float> std::string shortest(Float value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".en") == std::string::npos)
    text += ".0";
  return text;
}

std::string float_text(double value, Elem elem) {
  if (std::isnan(value))
    return "nan";
  return elem == Elem::F64 ? shortest(value) : shortest(static_cast<float>(value));
}

class Printer {
public:
  explicit Printer(const Names& names, bool is_index = false)
      : names_(names), is_index_(is_index) {}

  std::string print(const Expr& e, int needed) const {
    if (const Expr written = is_index_ ? as_written(e) : Expr())
      return print(written, needed);
    std::string text = bare(e);
    return level(e) < needed ? "(" + text + ")" : text;
  }

private:
  /// What an index that reads data has around it and texts have not: that it is checked, and that
  /// integers become i64.
  static Expr as_written(const Expr& e) {
    if (const auto* n = as<Within>(e))
      return n->index;
    const auto* outer = as<Cast>(e);
    if (outer == nullptr || e.type().elem != Elem::I64)
      return Expr();
    const auto* inner = as<Cast>(outer->arg);
    const Expr& read = inner != nullptr ? inner->arg : outer->arg;
    const bool is_read = as<Load>(read) != nullptr && is_integer(read.type().elem) &&
                         outer->arg.type().elem == compute_type(read.type().elem);
    return is_read ? read : Expr();
  }

  static int level(const Expr& e) {
    if (const auto* n = as<Binary>(e))
      return level_of(n->op);
    if (const auto* n = as<Unary>(e))
      return n->op == UnaryOp::Neg ? kSign : n->op == UnaryOp::Not ? kNot : kAtom;
    if (const auto* n = as<IntLit>(e))
      return n->value < 0 && e.type().elem != Elem::U64 ? kSign : kAtom;
    if (const auto* n = as<FloatLit>(e))
      return std::signbit(n->value) ? kSign : kAtom;
    return kAtom;
  }

  static std::string name(const std::vector<std::string>& names, uint32_t i, char letter) {
    return i < names.size() && !names[i].empty() ? names[i] : letter + std::to_string(i);
  }

  std::string list(const std::vector<Expr>& items) const {
    std::string text;
    for (const Expr& item : items)
      text += (text.empty() ? "" : ", ") + print(item, 0);
    return text;
  }

  std::string call(std::string_view function, const std::vector<Expr>& args) const {
    return std::string(function) + "(" + list(args) + ")";
  }

  std::string print_binary(const Binary& n) const {
    const Level at = level_of(n.op);
    if (at == kAtom)
      return call(name_of(n.op), {n.lhs, n.rhs});
    // All infix operators group to the left, except that comparisons do not chain.
    const int left = at == kCompare ? at + 1 : at;
    return print(n.lhs, left) + " " + std::string(name_of(n.op)) + " " + print(n.rhs, at + 1);
  }

  std::string print_unary(const Unary& n) const {
    if (n.op == UnaryOp::Neg)
      // A literal under a minus keeps its parentheses: -(3) is a negation, -3 a literal.
      return as<IntLit>(n.arg) || as<FloatLit>(n.arg) ? "-(" + print(n.arg, 0) + ")"
                                                      : "-" + print(n.arg, kSign + 1);
    if (n.op == UnaryOp::Not)
      return "not " + print(n.arg, kNot);
    return call(name_of(n.op), {n.arg});
  }

  std::string print_int(const Expr& e, int64_t value) const {
    if (e.type().elem == Elem::Bool)
      return value != 0 ? "true" : "false";
    if (e.type().elem == Elem::U64 && value < 0)
      return "u64(" + std::to_string(value) + ")";
    return std::to_string(value);
  }

  std::string bare(const Expr& e) const {
    return match(
        e, [&](const IntLit& n) { return print_int(e, n.value); },
        [&](const FloatLit& n) { return float_text(n.value, e.type().elem); },
        [&](const Iter& n) { return name(names_.iters, n.index, 'i'); },
        [&](const Param& n) { return name(names_.params, n.index, 'p'); },
        [&](const Var& n) { return name(names_.vars, n.id, 'v'); },
        [&](const Load& n) {
          const std::string tensor = name(names_.tensors, n.tensor, 't');
          return n.index.empty() ? tensor
                                 : tensor + "[" + Printer(names_, true).list(n.index) + "]";
        },
        [&](const Unary& n) { return print_unary(n); },
        [&](const Binary& n) { return print_binary(n); },
        [&](const Select& n) {
          return call("select", {n.cond, n.then, n.otherwise});
        },
        [&](const Cast& n) { return Printer(names_).call(to_string(e.type()), {n.arg}); },
        [&](const Ramp& n) {
          return call("ramp", {n.base, int_lit(n.stride), int_lit(e.type().lanes)});
        },
        [&](const Runs& n) {
          return call("runs",
                      {n.base, int_lit(n.length), int_lit(n.stride), int_lit(e.type().lanes)});
        },
        [&](const Broadcast& n) {
          return call("broadcast", {n.arg, int_lit(e.type().lanes)});
        },
        [&](const Reduce& n) {
          const std::string lanes =
              e.type().lanes == 1 ? "" : ", " + std::to_string(e.type().lanes);
          return "reduce_" + std::string(name_of(n.op)) + "(" + print(n.arg, 0) + lanes + ")";
        },
        [&](const Scan& n) {
          return call("scan_" + std::string(name_of(n.op)), {n.before, n.arg});
        },
        [&](const Fma& n) {
          return call("fma", {n.a, n.b, n.c});
        },
        [&](const Instruction& n) { return call(n.name, n.args); },
        [&](const Within& n) {
          return call("within", {n.index, n.extent});
        });
  }

  const Names& names_;
  bool is_index_;
};

} // namespace

std::string to_string(const Expr& e, const Names& names) { return Printer(names).print(e, 0); }

std::string index_text(const Expr& e, const Names& names) {
  return Printer(names, true).print(e, 0);
}

std::string_view name_of(UnaryOp op) {
  constexpr std::array<std::string_view, 22> names{
      "-",    "not",       "abs",  "exp",       "log",   "sqrt", "rsqrt", "tanh",
      "erf",  "sigmoid",   "sin",  "cos",       "floor", "ceil", "round", "silu",
      "gelu", "gelu_tanh", "bits", "from_bits", "exp2",  "log2"};
  return names[static_cast<size_t>(op)];
}

std::string_view name_of(BinaryOp op) {
  constexpr std::array<std::string_view, 26> names{
      "+",       "-",       "*",        "/",     "//", "%",  "min", "max", "pow",
      "nan_min", "nan_max", "copysign", "atan2", "&",  "|",  "^",   "<<",  ">>",
      "<",       "<=",      ">",        ">=",    "==", "!=", "and", "or"};
  return names[static_cast<size_t>(op)];
}

std::string_view name_of(ReduceOp op) {
  constexpr std::array<std::string_view, 5> names{"none", "sum", "prod", "max", "min"};
  return names[static_cast<size_t>(op)];
}

std::string_view update_sign(ReduceOp op) {
  constexpr std::array<std::string_view, 5> signs{"=", "+=", "*=", "max=", "min="};
  return signs[static_cast<size_t>(op)];
}

} // namespace kawara::scalar
