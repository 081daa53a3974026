#pragma once

#include "cache/innermost.h"
#include "cache/ir.h"
#include "cache/native_state.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace kawara::cache {

/// Sums, conditions and touches of an access program as code. Variables are memory named `%x7`,
/// the state is `%s`.
class TouchText {
protected:
  TouchText(Ir& ir, const AccessProgram& program, const Hierarchy& all)
      : ir_(ir), program_(program), shift_(all.first_shift()),
        line_bytes_(int64_t{1} << all.first_shift()), is_compiled_(all.compiled() > 0) {}

  // Sums of 64 bits; conditions are i1 or, as numbers, 0 and 1.
  std::string sum(const Linear& linear) {
    std::string made = std::to_string(linear.constant);
    for (const auto& [variable, factor] : linear.variables)
      made = plus(made, ir_.load("i64", fmt::format("%x{}", variable)), factor);
    for (const auto& [formula, factor] : linear.formulas)
      made = plus(made, value(program_.formulas[formula]), factor);
    return made;
  }
  std::string plus(const std::string& a, const std::string& b, int64_t factor) {
    const std::string term = factor == 1 ? b : ir_.value("mul i64 {}, {}", b, factor);
    return a == "0" ? term : ir_.value("add i64 {}, {}", a, term);
  }
  std::string minus(const std::string& a, const std::string& b) {
    return ir_.value("sub i64 {}, {}", a, b);
  }
  std::string number(const std::string& condition) {
    return ir_.value("zext i1 {} to i64", condition);
  }
  std::string is_true(const std::string& number) { return ir_.value("icmp ne i64 {}, 0", number); }
  std::string value(const Formula& f) {
    const std::string a = sum(f.a), b = sum(f.b);
    switch (f.op) {
    case Formula::Op::Min:
      return ir_.value("call i64 @llvm.smin.i64(i64 {}, i64 {})", a, b);
    case Formula::Op::Max:
      return ir_.value("call i64 @llvm.smax.i64(i64 {}, i64 {})", a, b);
    case Formula::Op::FloorDiv:
      return ir_.value("call i64 @floor_div(i64 {}, i64 {})", a, b);
    case Formula::Op::Mod:
      return ir_.value("call i64 @floor_mod(i64 {}, i64 {})", a, b);
    case Formula::Op::Mul:
      return ir_.value("mul i64 {}, {}", a, b);
    case Formula::Op::Lt:
      return number(ir_.value("icmp slt i64 {}, {}", a, b));
    case Formula::Op::Le:
      return number(ir_.value("icmp sle i64 {}, {}", a, b));
    case Formula::Op::Eq:
      return number(ir_.value("icmp eq i64 {}, {}", a, b));
    case Formula::Op::And:
      return number(ir_.value("and i1 {}, {}", is_true(a), is_true(b)));
    case Formula::Op::Or:
      return number(ir_.value("or i1 {}, {}", is_true(a), is_true(b)));
    case Formula::Op::Select:
      break;
    }
    return ir_.value("select i1 {}, i64 {}, i64 {}", is_true(a), b, sum(f.c));
  }

  std::string least(const std::string& a, const std::string& b) {
    return ir_.value("call i64 @llvm.smin.i64(i64 {}, i64 {})", a, b);
  }
  std::string condition(const Innermost::Guarded& t) {
    std::string all = "true";
    for (const auto& [guard, wanted] : t.guards) {
      const std::string holds = ir_.value("icmp {} i64 {}, 0", wanted ? "ne" : "eq", sum(*guard));
      all = ir_.value("and i1 {}, {}", all, holds);
    }
    return all;
  }

  // Touches.
  Reference::Kind kind(const Touch& touch) const {
    return program_.references[touch.reference].kind;
  }
  const Array& array(const Touch& touch) const {
    return program_.arrays[program_.references[touch.reference].array];
  }
  /// Whether no piece lies in two lines: each begins at a multiple of its size.
  bool is_single(const Touch& touch) const {
    const auto bytes = static_cast<uint64_t>(touch.bytes);
    if (!std::has_single_bit(bytes) || touch.bytes > line_bytes_)
      return false;
    const auto fits = [&](int64_t number) { return number % touch.bytes == 0; };
    const auto all_fit = [&](const auto& terms) {
      return std::all_of(terms.begin(), terms.end(),
                         [&](const auto& term) { return fits(term.second); });
    };
    return fits(array(touch).begin) && fits(touch.at.constant) && fits(touch.stride) &&
           all_fit(touch.at.variables) && all_fit(touch.at.formulas);
  }
  std::string line_of(const std::string& address) {
    return ir_.value("trunc i64 {} to i32", ir_.value("ashr i64 {}, {}", address, shift_));
  }
  std::string last_byte(const Touch& touch, const std::string& address) {
    return ir_.value("add i64 {}, {}", address, touch.bytes - 1);
  }
  void add_accesses(const Touch& touch, const std::string& times) {
    const std::string counts = ir_.load_constant(
        "ptr", "%s", offsetof(NativeState, levels) + offsetof(NativeLevel, counts));
    ir_.add_to(ir_.at(counts, touch.reference * sizeof(Count)), times);
  }
  void add_extra(const Touch& touch, const std::string& times) {
    add_accesses(touch, times);
    const std::string extra = ir_.load_constant("ptr", "%s", offsetof(NativeState, extra));
    ir_.add_to(ir_.at(extra, touch.reference * sizeof(int64_t)), times);
  }
  /// Whether more changed than the order of lines, as i32.
  std::string touch_line(const Touch& touch, const std::string& line) {
    const Reference::Kind k = kind(touch);
    const int is_store = k == Reference::Kind::Write ? 1 : 0;
    if (is_compiled_ && k != Reference::Kind::Stream)
      return ir_.value("call i32 @touch(ptr %s, i32 {}, i32 {}, i32 {})", line, touch.reference,
                       is_store);
    return ir_.value("call i32 {}(ptr %s, i32 {}, i32 {}, i32 {})",
                     ir_.load_constant("ptr", "%s", offsetof(NativeState, touch)), line,
                     touch.reference, static_cast<int>(k));
  }
  /// Lines from that of `address` to `last`.
  std::string touch_lines(const Touch& touch, const std::string& address, const std::string& last) {
    const std::string before = ir_.block(), head = ir_.new_label(), end = ir_.new_label();
    const std::string first = line_of(address);
    ir_.jump(head);
    ir_.begin(head);
    const std::string next = fmt::format("%line_{}", head), sum = fmt::format("%sum_{}", head);
    const std::string latch = ir_.new_label();
    const std::string line =
        ir_.value("phi i32 [ {}, %{} ], [ {}, %{} ]", first, before, next, latch);
    const std::string changed = ir_.value("phi i32 [ 0, %{} ], [ {}, %{} ]", before, sum, latch);
    const std::string more = touch_line(touch, line);
    ir_.jump(latch);
    ir_.begin(latch);
    ir_.line("{} = or i32 {}, {}", sum, changed, more);
    ir_.line("{} = add i32 {}, 1", next, line);
    ir_.branch(ir_.value("icmp ult i32 {}, {}", line, last), head, end);
    ir_.begin(end);
    return sum;
  }

  Ir& ir_;
  const AccessProgram& program_;
  uint32_t shift_;
  int64_t line_bytes_;
  bool is_compiled_; ///< the L1; else it is called
};

} // namespace kawara::cache
