#pragma once

#include "scalar/type.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace kawara::scalar {

// The expression grammar, shared by Program, Scop and Kernel.
//
//   expr = IntLit | FloatLit | Iter | Param | Var | Load | Unary | Binary | Select | Cast | Within
//        | Fma | Ramp | Runs | Broadcast | Reduce | Scan | Instruction
//        (the last six: kernels only)
//
// Semantics. Expressions have no effects and a fixed type. Operands of a Binary have the type of
// each other; arithmetic is done in that type: integers wrap, floats round to nearest even after
// each operation. f16, bf16 and integers under 32 bits are never computed with: front ends insert
// Casts to f32 / i32 (u32: i64) after the load and before the store. u64 is computed with as it is.
// Comparisons give Bool. `FloorDiv` and `Mod` round towards minus infinity (Mod has the sign of the
// divisor) and fail on zero. Within is an index that was read from data, and fails where that is
// negative or not below the extent of the dimension that it indexes. `Min` and `Max` of floats are
// NaN where a side is, as IEEE 754-2019 minimum and maximum are; of two zeros emitted code may take
// either. A Cast of a float to an integer drops the fraction, takes NaN to 0 and what is out of
// range to the nearest number of i64, or, for types of 32 bits and fewer, of i32, of which narrower
// ones keep the lower bits. Select evaluates only the chosen side. Iter i is the value of the i-th
// iterator of the statement that contains the expression (outermost first); Param p the p-th
// parameter of the program; Var a variable of a Kernel. A Load names a tensor (of the Program or
// Scop) or a buffer (of the Kernel).
//
// `Fma` is a * b + c with one rounding. Kernels only, as what functions are made of
// (scalar/expand/expansion.h): `Bits` is the integer (i32, i64) with the bits of a float (f32,
// f64), `FromBits` the way back; `NanMin` and `NanMax` are `Min` and `Max` for which -0 is below +0
// in emitted code, too; `CopySign` has the size of its left side and the sign of its right.
//
// An Instruction is what the machine does at once (target/intrinsic.h names and describes it): its
// arguments are the operands `a`, `b`, ... and last the accumulator, each in the lanes of its
// register; its value is the new accumulator, in the type in which that is stored.
//
// Index expressions are of type i64; those that `is_quasi_affine` accepts (+, -, * by constant,
// // and % by positive constant, min, max, and in conditions comparisons with and/or/not)
// are what the polyhedral side understands.

class Expr;

enum class UnaryOp : uint8_t {
  Neg,
  Not,
  Abs,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Tanh,
  Erf,
  Sigmoid,
  Sin,
  Cos,
  Floor,
  Ceil,
  Round,
  Silu,     ///< x * sigmoid(x); -0 at minus infinity, its limit, like the next two
  Gelu,     ///< x * Phi(x), Phi the normal distribution: 0.5 * x * (1 + erf(x / sqrt(2)))
  GeluTanh, ///< the same with tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)) instead of erf
  Bits,
  FromBits,
  Exp2,
  Log2
};
enum class BinaryOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Min,
  Max,
  Pow,
  NanMin,
  NanMax,
  CopySign,
  Atan2,
  BitAnd,
  BitOr,
  BitXor,
  Shl, ///< by the right side modulo the number of bits
  Shr, ///< the same; fills with the sign, in u64 with zeros
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or
};
/// How an update combines with the value already there. `None`: plain assignment.
enum class ReduceOp : uint8_t { None, Sum, Prod, Max, Min };

struct IntLit {
  int64_t value;
};
struct FloatLit {
  double value;
};
struct Iter {
  uint32_t index;
};
struct Param {
  uint32_t index;
};
struct Var {
  uint32_t id;
};
struct Load {
  uint32_t tensor;
  std::vector<Expr> index;
};
struct Unary;
struct Binary;
struct Select;
struct Cast;
struct Ramp;
struct Runs;
struct Broadcast;
struct Reduce;
struct Scan;
struct Fma;
struct Instruction;
struct Within;
struct Node;

/// Immutable, shared, cheap to copy. Default-constructed: empty (only for "absent").
class Expr {
public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  explicit operator bool() const { return node_ != nullptr; }
  const Node& node() const { return *node_; }
  Type type() const;
  bool is_same_object(const Expr& other) const { return node_ == other.node_; }
  /// Seen from a copy of a parent's operand: is the node part of others, too? May say so of one
  /// that is not.
  bool is_shared() const { return node_.use_count() > 2; }

private:
  std::shared_ptr<const Node> node_;
};

struct Unary {
  UnaryOp op;
  Expr arg;
};
struct Binary {
  BinaryOp op;
  Expr lhs, rhs;
};
struct Select {
  Expr cond, then, otherwise;
};
struct Cast {
  Expr arg;
};
struct Ramp {
  Expr base;
  int64_t stride;
}; ///< base, base + stride, ...; lanes from the type
/// Runs of `length` neighbours: from base on, from base + stride on, ...; lanes from the type.
struct Runs {
  Expr base;
  int64_t length, stride;
};
/// The lanes of `arg`, one or several, again and again.
struct Broadcast {
  Expr arg;
};
/// Horizontal: lanes that stand as far apart as the type has lanes become one; with one lane, all
/// of them.
struct Reduce {
  ReduceOp op;
  Expr arg;
};
/// The running value of a scan in lanes: lane k is the last lane of `before`, combined with lanes 0
/// to k of `arg`.
struct Scan {
  ReduceOp op;
  Expr before, arg;
};
struct Fma {
  Expr a, b, c;
};
struct Instruction {
  std::string name;
  std::vector<Expr> args;
};

/// `index`, which must be one of `extent` elements; of which tensor and dimension, for messages.
struct Within {
  Expr index, extent;
  uint32_t tensor = 0, dim = 0;
};

/// That `simplify` left a node as it is: found out once, by whichever thread asks first. No part of
/// the node's value; a copy starts without it.
class SimplestMark {
public:
  SimplestMark() = default;
  SimplestMark(const SimplestMark&) {}
  SimplestMark& operator=(const SimplestMark&) = delete;
  bool is_set() const { return set_.load(std::memory_order_relaxed); }
  void set() const { set_.store(true, std::memory_order_relaxed); }

private:
  mutable std::atomic<bool> set_ = false;
};

struct Node {
  Type type;
  std::variant<IntLit, FloatLit, Iter, Param, Var, Load, Unary, Binary, Select, Cast, Ramp, Runs,
               Broadcast, Reduce, Scan, Fma, Instruction, Within>
      kind;
  SimplestMark simplest = {};
};

inline Type Expr::type() const { return node_->type; }

// Makers. Each checks its operands' types (KAWARA_CHECK) and derives the result type.
Expr int_lit(int64_t value, Type type = kIndex);
Expr float_lit(double value, Type type);
Expr zero_of(Type);
Expr iter(uint32_t index);
Expr param(uint32_t index);
Expr var(uint32_t id, Type type = kIndex);
Expr load(uint32_t tensor, std::vector<Expr> index, Type type);
Expr unary(UnaryOp, Expr arg);
Expr binary(BinaryOp, Expr lhs, Expr rhs);
Expr select(Expr cond, Expr then, Expr otherwise);
Expr cast(Expr arg, Type to); ///< the argument itself when it has that type already
Expr ramp(Expr base, int64_t stride, uint16_t lanes);
/// `lanes` is a multiple of `length`. A ramp where runs follow each other, or there is one.
Expr runs(Expr base, int64_t length, int64_t stride, uint16_t lanes);
Expr broadcast(Expr arg, uint16_t lanes); ///< a multiple of the lanes of `arg`
/// `lanes` times a power of two makes the lanes of `arg`, or is 1.
Expr reduce(ReduceOp, Expr arg, uint16_t lanes = 1);
Expr scan(ReduceOp, Expr before, Expr arg); ///< both of the type of the result
Expr fma(Expr a, Expr b, Expr c);
/// The accumulator is the last argument; the value has its type.
Expr instruction(std::string name, std::vector<Expr> args);
/// Both are i64, in as many lanes.
Expr within(Expr index, Expr extent, uint32_t tensor, uint32_t dim);
/// The value an update leaves: `old op value`. For None: `value`.
Expr combine(ReduceOp, Expr old, Expr value);
/// Neutral element of the reduction in that type (0, 1, -inf or lowest, +inf or highest).
Expr identity_of(ReduceOp, Type);

inline Expr operator+(Expr a, Expr b) { return binary(BinaryOp::Add, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(BinaryOp::Sub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(BinaryOp::Mul, std::move(a), std::move(b)); }

template <class T> const T* as(const Expr& e) { return std::get_if<T>(&e.node().kind); }
std::optional<int64_t> constant_of(const Expr&); ///< value of an integer literal

// The only traversal: everything else is built on these two.
std::vector<Expr> children(const Expr&);
Expr with_children(const Expr&, std::vector<Expr> children);

/// Replaces bottom-up: `f` sees each node after its children were rewritten; an empty Expr keeps
/// it. Nodes that are shared are rewritten once and stay shared.
Expr rewrite(const Expr&, const std::function<Expr(const Expr&)>& f);
/// The same, with nodes and all below them kept where `keep` says so; it is asked before the node's
/// children are rewritten.
Expr rewrite(const Expr&, const std::function<Expr(const Expr&)>& f,
             const std::function<bool(const Expr&)>& keep);
/// Calls `f` on every node, parents first.
void visit(const Expr&, const std::function<void(const Expr&)>& f);
/// Iter i becomes iters[i]; Iters past the end stay.
Expr substitute_iters(const Expr&, const std::vector<Expr>& iters);
/// Param p becomes params[p] where that is not empty.
Expr substitute_params(const Expr&, const std::vector<Expr>& params);

bool equal(const Expr&, const Expr&);
uint64_t hash_of(const Expr&);
/// Whether a load stands in it. An index that reads data is not known before the program runs: it
/// may be any element of its dimension.
bool reads_data(const Expr&);
bool is_quasi_affine(const Expr&); ///< index or condition, see above; loads are never affine

/// Constant folding and the algebra of index expressions ((x*c)//c, x+0, nested //, ...). Exact.
Expr simplify(const Expr&);

/// How names are shown. Missing entries print as i0, p0, t0, v0.
struct Names {
  std::vector<std::string> iters, params, tensors, vars;
};
std::string to_string(const Expr&, const Names&); ///< .kw spelling, minimal parentheses
/// The same as an index: without conversions of what is read to i64, which are understood there.
std::string index_text(const Expr&, const Names&);
std::string_view name_of(UnaryOp);
std::string_view name_of(BinaryOp);     ///< "+", "//", "min"
std::string_view name_of(ReduceOp);     ///< "sum", "max"
std::string_view update_sign(ReduceOp); ///< "+=", "max="; "=" for none

} // namespace kawara::scalar
