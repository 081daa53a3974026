#include "cache/native_program.h"

#include "cache/native_caches.h"
#include "cache/native_touches.h"

namespace kawara::cache {
namespace {

constexpr int64_t kMostPieces = 16; ///< of a touch, that are written out
constexpr size_t kMostInlined = 40; ///< touches; the code of more takes seconds to compile
constexpr const char* kForever = "4611686018427387904";

/// The steps of an access program as code.
class ProgramText : private TouchText {
public:
  ProgramText(Ir& ir, const AccessProgram& program, const Hierarchy& all, bool reports)
      : TouchText(ir, program, all), reports_(reports) {
    const Description& first = all.first_description();
    if (is_compiled_ && first.policy == Policy::Lru)
      kept_ = static_cast<uint64_t>(first.lines_of_set());
    is_one_set_ = is_compiled_ && all.is_full_lru(0);
    if (is_compiled_ && (is_one_set_ || all.has_full(0)))
      ordered_ = first.lines();
  }

  void add(const std::string& name, const Code& code) {
    ir_.open("define internal void @{}(ptr %s) noinline", name);
    for (uint32_t v = 0; v < program_.variables; ++v) {
      ir_.line("%x{} = alloca i64", v);
      ir_.store("i64", "0", fmt::format("%x{}", v));
    }
    add(code);
    ir_.line("ret void");
    ir_.close();
  }

private:
  void add(const Code& code) {
    for (const Step& step : code)
      std::visit([this](const auto& s) { one(s); }, step.step);
  }

  // Loops and conditions.
  struct Counted {
    std::string head, latch, end, lo, times, at;
  };
  Counted begin_loop(const Loop& loop) {
    Counted made{ir_.new_label(), ir_.new_label(), ir_.new_label(), sum(loop.lo), "", ""};
    const std::string hi = sum(loop.hi), before = ir_.new_label();
    const int64_t stride = std::abs(loop.step);
    const std::string span = loop.step > 0 ? minus(hi, made.lo) : minus(made.lo, hi);
    made.times = stride == 1 ? span
                             : ir_.value("sdiv i64 {}, {}",
                                         ir_.value("add i64 {}, {}", span, stride - 1), stride);
    ir_.branch(ir_.value("icmp sgt i64 {}, 0", span), before, made.end);
    ir_.begin(before);
    return made;
  }
  void set_variable(const Loop& loop, const std::string& lo, const std::string& at) {
    ir_.store("i64", plus(lo, at, loop.step), fmt::format("%x{}", loop.variable));
  }
  /// All iterations, one after the other, from the block that is open; goes on in `end`.
  template <class Body> void iterate(const Loop& loop, const Counted& c, const Body& body) {
    const std::string before = ir_.block();
    ir_.jump(c.head);
    ir_.begin(c.head);
    const std::string next = fmt::format("%next_{}", c.head);
    const std::string at = ir_.value("phi i64 [ 0, %{} ], [ {}, %{} ]", before, next, c.latch);
    set_variable(loop, c.lo, at);
    body();
    ir_.jump(c.latch);
    ir_.begin(c.latch);
    ir_.line("{} = add i64 {}, 1", next, at);
    const std::string done = ir_.new_label();
    ir_.branch(ir_.value("icmp slt i64 {}, {}", next, c.times), c.head, done);
    ir_.begin(done);
  }
  void one(const Loop& loop) {
    const Counted c = begin_loop(loop);
    const Innermost leaf(program_, loop, kMostPieces);
    if (leaf.is_leaf && leaf.is_linear && is_short(leaf)) {
      run_in_strips(loop, leaf, c);
    } else if (patience(leaf) > 2) {
      run_movers_apart(loop, leaf, c);
    } else {
      const bool was_counted = std::exchange(counts_together_, leaf.is_leaf);
      iterate(loop, c, [&] { add(loop.body); });
      counts_together_ = was_counted;
      if (leaf.is_leaf)
        count_all(leaf, c.times);
    }
    if (leaf.is_leaf)
      report(leaf, c.times);
    ir_.jump(c.end);
    ir_.begin(c.end);
  }
  void one(const Branch& branch) {
    const std::string then = ir_.new_label(), otherwise = ir_.new_label(), end = ir_.new_label();
    ir_.branch(is_true(sum(branch.condition)), then, otherwise);
    // A touch below is counted where it is.
    const bool was_counted = std::exchange(counts_together_, false);
    ir_.begin(then);
    add(branch.then);
    ir_.jump(end);
    ir_.begin(otherwise);
    add(branch.otherwise);
    ir_.jump(end);
    ir_.begin(end);
    counts_together_ = was_counted;
  }
  void one(const Set& set) { ir_.store("i64", sum(set.value), fmt::format("%x{}", set.variable)); }

  /// One piece; `offset` from the begin of its array.
  void touch_piece(const Touch& touch, const std::string& offset) {
    const std::string end = ir_.new_label();
    const bool is_request = kind(touch) == Reference::Kind::Prefetch;
    if (is_request) { // only what exists is there to be fetched
      const std::string go = ir_.new_label();
      const std::string is_inside =
          ir_.value("and i1 {}, {}", ir_.value("icmp sge i64 {}, 0", offset),
                    ir_.value("icmp sle i64 {}, {}", offset, array(touch).bytes - touch.bytes));
      ir_.branch(is_inside, go, end);
      ir_.begin(go);
    }
    const std::string address = ir_.value("add i64 {}, {}", offset, array(touch).begin);
    if (!counts_together_ || is_request || touch.guard)
      add_accesses(touch, "1");
    if (is_single(touch)) {
      touch_line(touch, line_of(address));
    } else {
      const std::string last = line_of(last_byte(touch, address));
      add_extra(touch, ir_.wide(ir_.value("sub i32 {}, {}", last, line_of(address))));
      touch_lines(touch, address, last);
    }
    if (is_request) {
      ir_.jump(end);
      ir_.begin(end);
    }
  }
  void one(const Touch& touch) {
    const std::string end = ir_.new_label();
    if (touch.guard) {
      const std::string go = ir_.new_label();
      ir_.branch(is_true(sum(*touch.guard)), go, end);
      ir_.begin(go);
    }
    const std::string first = sum(touch.at);
    if (touch.count <= kMostPieces) {
      for (int64_t k = 0; k < touch.count; ++k)
        touch_piece(touch, ir_.value("add i64 {}, {}", first, k * touch.stride));
    } else {
      Counted c{ir_.new_label(), ir_.new_label(), "", "0", std::to_string(touch.count), ""};
      const std::string before = ir_.block();
      ir_.jump(c.head);
      ir_.begin(c.head);
      const std::string next = fmt::format("%next_{}", c.head);
      const std::string at = ir_.value("phi i64 [ 0, %{} ], [ {}, %{} ]", before, next, c.latch);
      touch_piece(touch, plus(first, at, touch.stride));
      ir_.jump(c.latch);
      ir_.begin(c.latch);
      ir_.line("{} = add i64 {}, 1", next, at);
      const std::string done = ir_.new_label();
      ir_.branch(ir_.value("icmp slt i64 {}, {}", next, c.times), c.head, done);
      ir_.begin(done);
    }
    if (touch.guard) {
      ir_.jump(end);
      ir_.begin(end);
    }
  }

  // Innermost loops.
  bool is_short(const Innermost& leaf) const {
    return !leaf.touches.empty() &&
           std::all_of(leaf.touches.begin(), leaf.touches.end(),
                       [this](const auto& t) { return std::abs(t.step) < line_bytes_; });
  }
  /// Accesses of an innermost loop that `counts_together_` left out.
  void count_all(const Innermost& leaf, const std::string& times) {
    for (const Innermost::Guarded& t : leaf.touches)
      if (t.guards.empty() && kind(*t.touch) != Reference::Kind::Prefetch)
        add_accesses(*t.touch, times);
  }
  void report(const Innermost& leaf, const std::string& times) {
    if (!reports_)
      return;
    const std::string work = ir_.at("%s", offsetof(NativeState, work));
    ir_.add_to(work, ir_.value("mul i64 {}, {}", times, leaf.touches.size()));
    const std::string is_due = ir_.value("icmp sge i64 {}, {}", ir_.load("i64", work),
                                         ir_.load("i64", "%s", offsetof(NativeState, next_report)));
    const std::string due = ir_.new_label(), end = ir_.new_label();
    ir_.branch(is_due, due, end, true);
    ir_.begin(due);
    ir_.line("call void {}(ptr %s)", ir_.load_constant("ptr", "%s", offsetof(NativeState, report)));
    ir_.jump(end);
    ir_.begin(end);
  }

  /// Iterations, this one with them, that a piece at `address` stays in its lines.
  std::string left_in_line(const Innermost::Guarded& t, const std::string& address) {
    const auto inside = [&](const std::string& byte) {
      return ir_.value("and i64 {}, {}", byte, line_bytes_ - 1);
    };
    const bool is_up = t.step > 0;
    std::string edge = inside(is_up ? last_byte(*t.touch, address) : address);
    if (!is_single(*t.touch))
      edge = ir_.value("call i64 @llvm.{}.i64(i64 {}, i64 {})", is_up ? "smax" : "smin", edge,
                       inside(is_up ? address : last_byte(*t.touch, address)));
    const std::string room = is_up ? ir_.value("sub i64 {}, {}", line_bytes_ - 1, edge) : edge;
    return ir_.value("add i64 {}, 1", ir_.value("udiv i64 {}, {}", room, std::abs(t.step)));
  }
  /// Iterations, this one with them, in which a comparison is what it is now, or fewer.
  std::string left_in_comparison(const Innermost::Compared& compared) {
    const Formula& f = *compared.formula;
    const int64_t by = compared.step;
    const auto size = std::abs(by);
    std::string d = minus(sum(f.b), sum(f.a)); // moves by `by`
    if (f.op == Formula::Op::Eq) {
      const std::string away = by > 0 ? minus("0", d) : d; // positive: towards 0
      const std::string steps = ir_.value("call i64 @llvm.smax.i64(i64 {}, i64 1)",
                                          ir_.value("sdiv i64 {}, {}", away, size));
      const std::string moves = ir_.value("icmp sge i64 {}, 0", away);
      return ir_.value("select i1 {}, i64 {}, i64 {}", moves, steps, kForever);
    }
    if (f.op == Formula::Op::Le)
      d = ir_.value("add i64 {}, 1", d); // holds where this is positive
    const std::string holds = ir_.value("icmp sgt i64 {}, 0", d);
    const std::string until_not =
        ir_.value("sdiv i64 {}, {}", ir_.value("add i64 {}, {}", d, size - 1), size);
    const std::string until =
        ir_.value("add i64 {}, 1", ir_.value("sdiv i64 {}, {}", minus("0", d), size));
    return by < 0 ? ir_.value("select i1 {}, i64 {}, i64 {}", holds, until_not, kForever)
                  : ir_.value("select i1 {}, i64 {}, i64 {}", holds, kForever, until);
  }

  // A list of all uses.
  bool stays(const Innermost::Guarded& t) const { return std::abs(t.step) < line_bytes_; }
  /// Iterations of an innermost loop after which what was used before them is sure to be among the
  /// last lines that a list of uses holds; 0 where what stays in its line cannot be told from what
  /// moves on.
  int64_t patience(const Innermost& leaf) const {
    const bool is_plain =
        ordered_ > 0 && leaf.is_leaf && leaf.is_linear &&
        std::any_of(leaf.touches.begin(), leaf.touches.end(),
                    [this](const auto& t) { return stays(t); }) &&
        std::all_of(leaf.touches.begin(), leaf.touches.end(), [this](const auto& t) {
          return t.guards.empty() && is_single(*t.touch) &&
                 kind(*t.touch) != Reference::Kind::Stream;
        });
    return is_plain ? ordered_ / static_cast<int64_t>(leaf.touches.size()) - 2 : 0;
  }
  void touch_mover(const Innermost::Guarded& t, const std::string& line) {
    if (!stays(t))
      touch_line(*t.touch, line);
    else if (!is_one_set_)
      ir_.line("call void @near(ptr %s, i32 {}, i32 {}, i32 {})", line, t.touch->reference,
               kind(*t.touch) == Reference::Kind::Write ? 1 : 0);
  }
  /// Where uses are listed: what stays in its line is there all the time, and only its last touch
  /// there says how old the line is. In between, what moves on alone is listed.
  void run_movers_apart(const Loop& loop, const Innermost& leaf, const Counted& c) {
    std::vector<std::string> first; // addresses in the first iteration
    set_variable(loop, c.lo, "0");
    for (const Innermost::Guarded& t : leaf.touches)
      first.push_back(ir_.value("add i64 {}, {}", sum(t.touch->at),
                                array(*t.touch).begin + t.piece * t.touch->stride));
    const auto line_at = [&](size_t k, const std::string& at) {
      return line_of(plus(first[k], at, leaf.touches[k].step));
    };
    const std::string all = ir_.new_label(), between = ir_.new_label(), mover = ir_.new_label(),
                      body = ir_.new_label(), last = ir_.new_label(), before = ir_.block();
    ir_.jump(c.head);
    ir_.begin(c.head);
    const std::string next = fmt::format("%next_{}", c.head);
    const std::string now = ir_.value("phi i64 [ 0, %{} ], [ {}, %{} ]", before, next, c.latch);
    std::string turns = least(minus(c.times, now), std::to_string(patience(leaf)));
    for (size_t k = 0; k < leaf.touches.size(); ++k)
      if (stays(leaf.touches[k]) && leaf.touches[k].step != 0)
        turns =
            least(turns, left_in_line(leaf.touches[k], plus(first[k], now, leaf.touches[k].step)));
    ir_.line("{} = add i64 {}, {}", next, now, turns);
    const std::string end = ir_.value("sub i64 {}, 1", next);
    ir_.jump(all);
    ir_.begin(all); // in the first and in the last of these turns
    const std::string at = ir_.value("phi i64 [ {}, %{} ], [ {}, %{} ]", now, c.head, end, last);
    for (size_t k = 0; k < leaf.touches.size(); ++k)
      touch_line(*leaf.touches[k].touch, line_at(k, at));
    ir_.branch(ir_.value("icmp eq i64 {}, {}", at, end), c.latch, between);
    ir_.begin(between);
    const std::string second = ir_.value("add i64 {}, 1", now);
    ir_.jump(mover);
    ir_.begin(mover);
    const std::string more = fmt::format("%more_{}", c.head);
    const std::string turn =
        ir_.value("phi i64 [ {}, %{} ], [ {}, %{} ]", second, between, more, body + "_end");
    ir_.branch(ir_.value("icmp slt i64 {}, {}", turn, end), body, last);
    ir_.begin(body);
    for (size_t k = 0; k < leaf.touches.size(); ++k)
      touch_mover(leaf.touches[k], line_at(k, turn));
    ir_.jump(body + "_end");
    ir_.begin(body + "_end");
    ir_.line("{} = add i64 {}, 1", more, turn);
    ir_.jump(mover);
    ir_.begin(last);
    ir_.jump(all);
    ir_.begin(c.latch);
    const std::string done = ir_.new_label();
    ir_.branch(ir_.value("icmp slt i64 {}, {}", next, c.times), c.head, done);
    ir_.begin(done);
    count_all(leaf, c.times);
  }

  /// Each turn is an iteration, and where nothing changes but the order of lines also those after
  /// it that stay in the same lines.
  void run_in_strips(const Loop& loop, const Innermost& leaf, const Counted& c) {
    std::vector<std::string> first; // addresses in the first iteration
    set_variable(loop, c.lo, "0");
    for (const Innermost::Guarded& t : leaf.touches)
      first.push_back(ir_.value("add i64 {}, {}", sum(t.touch->at),
                                array(*t.touch).begin + t.piece * t.touch->stride));
    const std::string before = ir_.block();
    ir_.jump(c.head);
    ir_.begin(c.head);
    const std::string next = fmt::format("%next_{}", c.head);
    const std::string now = ir_.value("phi i64 [ 0, %{} ], [ {}, %{} ]", before, next, c.latch);
    set_variable(loop, c.lo, now);
    std::string until = minus(c.times, now);
    for (const Innermost::Compared& compared : leaf.compared)
      until = least(until, left_in_comparison(compared));
    std::string changed = "0";
    uint64_t lines = 0;
    struct Counts {
      const Innermost::Guarded* touch;
      std::string happens, extra; ///< as i64; empty: always, none
    };
    std::vector<Counts> counts;
    for (size_t k = 0; k < leaf.touches.size(); ++k) {
      const Innermost::Guarded& t = leaf.touches[k];
      const std::string address = plus(first[k], now, t.step);
      const std::string start = ir_.block(), end = ir_.new_label();
      std::string happens, left = kForever, extra;
      if (!t.guards.empty()) {
        happens = condition(t);
        const std::string go = ir_.new_label();
        ir_.branch(happens, go, end);
        ir_.begin(go);
      }
      if (t.step != 0)
        left = left_in_line(t, address);
      std::string more;
      if (is_single(*t.touch)) {
        more = touch_line(*t.touch, line_of(address));
        lines += 1;
      } else {
        const std::string last = line_of(last_byte(*t.touch, address));
        extra = ir_.wide(ir_.value("sub i32 {}, {}", last, line_of(address)));
        more = touch_lines(*t.touch, address, last);
        lines += static_cast<uint64_t>(t.touch->bytes / line_bytes_) + 2;
      }
      if (!t.guards.empty()) {
        const std::string from = ir_.block();
        ir_.jump(end);
        ir_.begin(end);
        const auto joined = [&](std::string_view type, const std::string& then,
                                const std::string& otherwise) {
          return ir_.value("phi {} [ {}, %{} ], [ {}, %{} ]", type, then, from, otherwise, start);
        };
        more = joined("i32", more, "0");
        left = joined("i64", left, kForever);
        if (!extra.empty())
          extra = joined("i64", extra, "0");
        happens = number(happens);
      }
      changed = ir_.value("or i32 {}, {}", changed, more);
      if (t.step != 0)
        until = least(until, left);
      counts.push_back({&t, happens, extra});
    }
    // No more lines than a set has ways are all there in the next turn.
    const bool drops = std::any_of(leaf.touches.begin(), leaf.touches.end(), [this](const auto& t) {
      return kind(*t.touch) == Reference::Kind::Stream;
    });
    const std::string turns = lines <= kept_ && !drops
                                  ? until
                                  : ir_.value("select i1 {}, i64 {}, i64 1",
                                              ir_.value("icmp eq i32 {}, 0", changed), until);
    for (const Counts& each : counts) {
      if (!each.happens.empty())
        add_accesses(*each.touch->touch, ir_.value("mul i64 {}, {}", each.happens, turns));
      if (!each.extra.empty())
        add_extra(*each.touch->touch, ir_.value("mul i64 {}, {}", each.extra, turns));
    }
    ir_.jump(c.latch);
    ir_.begin(c.latch);
    ir_.line("{} = add i64 {}, {}", next, now, turns);
    const std::string done = ir_.new_label();
    ir_.branch(ir_.value("icmp slt i64 {}, {}", next, c.times), c.head, done);
    ir_.begin(done);
    for (const Innermost::Guarded& t : leaf.touches)
      if (t.guards.empty())
        add_accesses(*t.touch, c.times);
  }

  bool reports_;
  uint64_t kept_ = 0; ///< so many different lines in a row are all there in the end
  bool is_one_set_ = false;
  int64_t ordered_ = 0; ///< lines of the list of uses that the L1 is, or that is beside it
  bool counts_together_ = false;
};

/// Touches in the code.
size_t written_touches(const Code& code) {
  size_t count = 0;
  for (const Step& step : code) {
    if (const auto* touch = std::get_if<Touch>(&step.step))
      count += touch->count <= kMostPieces ? static_cast<size_t>(touch->count) : 1;
    else if (const auto* loop = std::get_if<Loop>(&step.step))
      count += written_touches(loop->body);
    else if (const auto* branch = std::get_if<Branch>(&step.step))
      count += written_touches(branch->then) + written_touches(branch->otherwise);
  }
  return count;
}

constexpr std::string_view kDivisions = R"(
define internal i64 @floor_div(i64 %a, i64 %b) alwaysinline {
  %zero = icmp eq i64 %b, 0
  %by = select i1 %zero, i64 1, i64 %b
  %q = sdiv i64 %a, %by
  %r = srem i64 %a, %by
  %rest = icmp ne i64 %r, 0
  %signs = xor i64 %a, %b
  %other = icmp slt i64 %signs, 0
  %down = and i1 %rest, %other
  %less = sext i1 %down to i64
  %floor = add i64 %q, %less
  %made = select i1 %zero, i64 0, i64 %floor
  ret i64 %made
}

define internal i64 @floor_mod(i64 %a, i64 %b) alwaysinline {
  %zero = icmp eq i64 %b, 0
  %by = select i1 %zero, i64 1, i64 %b
  %r = srem i64 %a, %by
  %rest = icmp ne i64 %r, 0
  %signs = xor i64 %a, %b
  %other = icmp slt i64 %signs, 0
  %up = and i1 %rest, %other
  %more = select i1 %up, i64 %b, i64 0
  %mod = add i64 %r, %more
  %made = select i1 %zero, i64 0, i64 %mod
  ret i64 %made
}

define void @simulate(ptr %s, i64 %part) {
  %first = icmp eq i64 %part, 0
  br i1 %first, label %warm, label %code
warm:
  call void @warm_up(ptr %s)
  ret void
code:
  call void @run(ptr %s)
  ret void
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.cttz.i64(i64, i1)

!0 = !{!"branch_weights", i32 1, i32 1000}
!1 = !{}
)";

} // namespace

std::string native_text(const AccessProgram& program, const Hierarchy& all, bool reports) {
  Ir ir;
  const size_t touches = written_touches(program.warm_up) + written_touches(program.code);
  if (all.compiled() > 0)
    add_cache_functions(ir, all, touches <= kMostInlined);
  ProgramText text(ir, program, all, reports);
  text.add("warm_up", program.warm_up);
  text.add("run", program.code);
  return ir.text() + std::string(kDivisions);
}

} // namespace kawara::cache
