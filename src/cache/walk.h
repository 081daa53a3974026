#pragma once

#include "cache/access_program.h"
#include "support/check.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

namespace kawara::cache {

/// The touches of one reference in a run of iterations: the first at `at`, each next one `step`
/// bytes on.
struct Stream {
  int64_t at = 0, step = 0;
  int64_t until = 0; ///< the iteration in which it leaves these lines
  uint32_t line = 0, last = 0;
  uint32_t reference = 0;
  Reference::Kind kind = Reference::Kind::Read;
  bool is_store = false;
  int64_t bytes = 0;
};

/// Goes through an access program, line by line of the L1, and tells `Sink`:
///
///   begin_run(touches)       of iterations that touch so many lines each, or fewer
///   touch(line, stream)      the next touch of a line
///   patience()               iterations after which older lines are sure to be there; 0: none
///   begin_iteration()        of an innermost loop whose touches move by less than a line each time
///   is_steady(is_same)       would the same touches change only counts that `repeat` can add?
///                            `is_same`: the iteration before touched the same lines
///   repeat(times)            the iteration just done again and again
///   add_accesses(reference, pieces)
///   add_extra(reference, lines)   of pieces, behind their first one
///
/// Iterations of such a loop that stay in the same lines are one `repeat`: eight for doubles that
/// follow each other. Conditions inside an innermost loop split its iterations where they change.
template <class Sink> class Walk {
public:
  Walk(const AccessProgram& program, uint32_t line_shift, Sink& sink,
       const std::function<void(int64_t)>& progress)
      : program_(program), shift_(line_shift), line_bytes_(int64_t{1} << line_shift), sink_(sink),
        progress_(progress), values_(program) {}

  void run(const Code& code) {
    for (const Step& step : code)
      std::visit([this](const auto& s) { one(s); }, step.step);
  }
  int64_t accesses() const { return accesses_; }
  void count_anew() { accesses_ = 0; }

private:
  static constexpr int64_t kAccessesBetweenReports = int64_t{1} << 26;
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  /// An innermost loop, its touches in order, each under all conditions around it.
  struct Leaf {
    struct Guarded {
      const Touch* touch = nullptr;
      std::vector<std::pair<const Linear*, bool>> guards; ///< and what each must be
    };
    const Loop* loop = nullptr;
    bool is_leaf = true;
    bool is_linear = true; ///< addresses move by the same number of bytes each time
    std::vector<Guarded> touches;
    std::vector<int64_t> steps;           ///< of the touches, in bytes
    std::vector<const Formula*> compared; ///< comparisons that change within the loop
  };

  void one(const Loop& loop) {
    const int64_t lo = values_(loop.lo), hi = values_(loop.hi);
    const int64_t span = loop.step > 0 ? hi - lo : lo - hi, stride = std::abs(loop.step);
    if (span <= 0)
      return;
    const int64_t times = (span + stride - 1) / stride;
    const Leaf& leaf = leaf_of(loop);
    if (leaf.is_leaf && leaf.is_linear)
      return run_leaf(leaf, lo, times);
    for (int64_t k = 0; k < times; ++k) {
      values_[loop.variable] = lo + k * loop.step;
      run(loop.body);
    }
  }
  void one(const Branch& branch) {
    run(values_(branch.condition) != 0 ? branch.then : branch.otherwise);
  }
  void one(const Set& set) { values_[set.variable] = values_(set.value); }
  void one(const Touch& touch) {
    if (touch.guard && values_(*touch.guard) == 0)
      return;
    streams_.clear();
    add_streams(touch, 0);
    run_streams(1);
  }

  // What an innermost loop is made of, found once for each.
  const Leaf& leaf_of(const Loop& loop) {
    if (leaves_.size() <= loop.number)
      leaves_.resize(loop.number + 1);
    Leaf& leaf = leaves_[loop.number];
    if (leaf.loop != &loop) {
      leaf = Leaf{&loop, true, true, {}, {}, {}};
      std::vector<std::pair<const Linear*, bool>> guards;
      gather(loop.body, guards, leaf);
    }
    return leaf;
  }
  void gather(const Code& code, std::vector<std::pair<const Linear*, bool>>& guards, Leaf& leaf) {
    for (const Step& step : code) {
      if (const auto* touch = std::get_if<Touch>(&step.step)) {
        add_touch(*touch, guards, leaf);
      } else if (const auto* branch = std::get_if<Branch>(&step.step)) {
        leaf.is_linear = leaf.is_linear && add_compared(branch->condition, leaf);
        guards.emplace_back(&branch->condition, true);
        gather(branch->then, guards, leaf);
        guards.back().second = false;
        gather(branch->otherwise, guards, leaf);
        guards.pop_back();
      } else {
        leaf.is_leaf = false;
      }
    }
  }
  void add_touch(const Touch& touch, const std::vector<std::pair<const Linear*, bool>>& guards,
                 Leaf& leaf) {
    leaf.touches.push_back({&touch, guards});
    if (touch.guard) {
      leaf.touches.back().guards.emplace_back(&*touch.guard, true);
      leaf.is_linear = leaf.is_linear && add_compared(*touch.guard, leaf);
    }
    leaf.is_linear = leaf.is_linear && !any_formula_moves(touch.at, *leaf.loop);
    leaf.steps.push_back(factor_of(touch.at, *leaf.loop) * leaf.loop->step);
    // Whether there is something to fetch is asked each time.
    leaf.is_linear = leaf.is_linear && (leaf.steps.back() == 0 || !is_prefetch(touch));
  }
  bool is_prefetch(const Touch& touch) const {
    return program_.references[touch.reference].kind == Reference::Kind::Prefetch;
  }
  static int64_t factor_of(const Linear& sum, const Loop& loop) {
    for (const auto& [variable, factor] : sum.variables)
      if (variable == loop.variable)
        return factor;
    return 0;
  }
  bool moves(const Linear& sum, const Loop& loop) const {
    return factor_of(sum, loop) != 0 || any_formula_moves(sum, loop);
  }
  bool any_formula_moves(const Linear& sum, const Loop& loop) const {
    return std::any_of(sum.formulas.begin(), sum.formulas.end(), [&](const auto& term) {
      const Formula& f = program_.formulas[term.first];
      return moves(f.a, loop) || moves(f.b, loop) || moves(f.c, loop);
    });
  }
  /// The comparisons that a condition is made of; whether both sides of each are linear.
  bool add_compared(const Linear& condition, Leaf& leaf) {
    bool is_linear = factor_of(condition, *leaf.loop) == 0;
    for (const auto& term : condition.formulas) {
      const Formula& f = program_.formulas[term.first];
      if (!moves(f.a, *leaf.loop) && !moves(f.b, *leaf.loop) && !moves(f.c, *leaf.loop))
        continue;
      if (f.op == Formula::Op::Lt || f.op == Formula::Op::Le || f.op == Formula::Op::Eq) {
        is_linear =
            is_linear && !any_formula_moves(f.a, *leaf.loop) && !any_formula_moves(f.b, *leaf.loop);
        leaf.compared.push_back(&f);
      } else if (f.op == Formula::Op::And || f.op == Formula::Op::Or) {
        is_linear = add_compared(f.a, leaf) && add_compared(f.b, leaf) && is_linear;
      } else {
        is_linear = false;
      }
    }
    return is_linear;
  }

  void run_leaf(const Leaf& leaf, int64_t lo, int64_t times) {
    values_[leaf.loop->variable] = lo;
    if (leaf.compared.empty())
      return run_part(leaf, times);
    // Where b - a = d0 + d1 * k changes its sign, comparisons change.
    cuts_.assign({0, times});
    for (const Formula* f : leaf.compared) {
      const int64_t d0 = values_(f->b) - values_(f->a);
      const int64_t d1 =
          (factor_of(f->b, *leaf.loop) - factor_of(f->a, *leaf.loop)) * leaf.loop->step;
      if (d1 == 0)
        continue;
      const int64_t at = -d0 / d1 - (-d0 % d1 != 0 && (-d0 < 0) != (d1 < 0) ? 1 : 0);
      for (const int64_t cut : {at, at + 1})
        if (cut > 0 && cut < times)
          cuts_.push_back(cut);
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    for (size_t k = 0; k + 1 < cuts_.size(); ++k) {
      values_[leaf.loop->variable] = lo + cuts_[k] * leaf.loop->step;
      run_part(leaf, cuts_[k + 1] - cuts_[k]);
    }
  }
  /// Iterations in which conditions do not change, from the variable's value on.
  void run_part(const Leaf& leaf, int64_t times) {
    streams_.clear();
    for (size_t t = 0; t < leaf.touches.size(); ++t) {
      const auto& [touch, guards] = leaf.touches[t];
      if (std::all_of(guards.begin(), guards.end(), [this](const auto& guard) {
            return (values_(*guard.first) != 0) == guard.second;
          }))
        add_streams(*touch, leaf.steps[t]);
    }
    run_streams(times);
  }
  void add_streams(const Touch& touch, int64_t step) {
    const Reference& reference = program_.references[touch.reference];
    const Array& array = program_.arrays[reference.array];
    const int64_t first = values_(touch.at);
    for (int64_t k = 0; k < touch.count; ++k) {
      const int64_t offset = first + k * touch.stride;
      // Only what exists is there to be fetched.
      if (reference.kind == Reference::Kind::Prefetch &&
          (offset < 0 || offset + touch.bytes > array.bytes))
        continue;
      streams_.push_back({array.begin + offset, step, 0, 0, 0, touch.reference, reference.kind,
                          reference.kind == Reference::Kind::Write, touch.bytes});
    }
  }

  void run_streams(int64_t times) {
    bool is_short = times > 1, is_single = true;
    uint64_t touches = 0;
    for (const Stream& s : streams_) {
      sink_.add_accesses(s.reference, times);
      accesses_ += times;
      is_short = is_short && std::abs(s.step) < line_bytes_;
      // Pieces at multiples of their own size never lie in two lines.
      const auto mask = static_cast<int64_t>(static_cast<uint64_t>(s.bytes) - 1);
      is_single = is_single && s.bytes <= line_bytes_ && (s.bytes & mask) == 0 &&
                  ((s.at | s.step) & mask) == 0;
      touches += static_cast<uint64_t>(s.bytes / line_bytes_) + 2;
    }
    sink_.begin_run(is_single ? streams_.size() : touches);
    if (is_single)
      is_short ? run_short<true>(times) : run_long<true>(times);
    else
      is_short ? run_short<false>(times) : run_long<false>(times);
    if (progress_ && accesses_ >= next_report_) {
      progress_(accesses_);
      next_report_ = accesses_ + kAccessesBetweenReports;
    }
  }
  template <bool kSingle> [[gnu::always_inline]] void touch(Stream& s) {
    s.line = static_cast<uint32_t>(s.at >> shift_);
    sink_.touch(s.line, s);
    if constexpr (!kSingle) {
      s.last = static_cast<uint32_t>((s.at + s.bytes - 1) >> shift_);
      touch_rest(s);
    }
  }
  template <bool kSingle> void run_all(int64_t times, std::vector<Stream>& streams) {
    for (int64_t k = 0; k < times; ++k)
      for (Stream& s : streams) {
        touch<kSingle>(s);
        s.at += s.step;
      }
  }
  /// What stays in its line is there all the time, and only its last touch there says how old the
  /// line is: in between, the others alone run, as long as the sink has patience.
  template <bool kSingle> void run_long(int64_t times) {
    if (!kSingle || sink_.patience() <= 2)
      return run_all<kSingle>(times, streams_);
    while (times > 0) {
      // The last iteration before one leaves its line is one of all.
      int64_t alone = std::min(times - 1, sink_.patience());
      for (const Stream& s : streams_)
        if (std::abs(s.step) < line_bytes_)
          alone = std::min(alone, left_in_line(s));
      --alone;
      run_all<kSingle>(1, streams_);
      --times;
      if (alone <= 0)
        continue;
      movers_.clear();
      for (const Stream& s : streams_)
        if (std::abs(s.step) >= line_bytes_)
          movers_.push_back(s);
      run_all<kSingle>(alone, movers_);
      for (Stream& s : streams_)
        s.at += alone * s.step;
      times -= alone;
    }
  }
  /// Iterations in which all stay in their lines are one, if the sink is steady.
  template <bool kSingle> void run_short(int64_t times) {
    for (Stream& s : streams_)
      s.until = 0;
    bool is_same = false;
    for (int64_t now = 0; now < times;) {
      int64_t until = times;
      sink_.begin_iteration();
      for (Stream& s : streams_) {
        if (s.until <= now) {
          find_lines(s, now);
          is_same = false;
        }
        until = std::min(until, s.until);
        sink_.touch(s.line, s);
        if constexpr (!kSingle)
          touch_rest(s);
      }
      int64_t next = now + 1;
      if (sink_.is_steady(is_same) && until > next) {
        sink_.repeat(until - next);
        if constexpr (!kSingle)
          for (const Stream& s : streams_)
            sink_.add_extra(s.reference, (until - next) * (s.last - s.line));
        next = until;
      }
      is_same = true;
      now = next;
    }
  }
  void find_lines(Stream& s, int64_t now) {
    const Stream moved{s.at + now * s.step, s.step, 0, 0, 0, 0, s.kind, false, s.bytes};
    s.line = static_cast<uint32_t>(moved.at >> shift_);
    s.last = static_cast<uint32_t>((moved.at + s.bytes - 1) >> shift_);
    s.until = now + 1 + left_in_line(moved);
  }
  void touch_rest(const Stream& s) {
    sink_.add_extra(s.reference, s.last - s.line);
    for (uint32_t line = s.line + 1; line <= s.last; ++line)
      sink_.touch(line, s);
  }
  int64_t left_in_line(const Stream& s) const {
    if (s.step == 0)
      return kForever / 2;
    const int64_t first = s.at & (line_bytes_ - 1), last = (s.at + s.bytes - 1) & (line_bytes_ - 1);
    const int64_t room =
        s.step > 0 ? line_bytes_ - 1 - std::max(first, last) : std::min(first, last);
    const auto step = static_cast<uint64_t>(std::abs(s.step));
    return std::has_single_bit(step) ? room >> std::countr_zero(step)
                                     : room / static_cast<int64_t>(step);
  }

  const AccessProgram& program_;
  uint32_t shift_;
  int64_t line_bytes_;
  Sink& sink_;
  const std::function<void(int64_t)>& progress_;
  Values values_;
  std::vector<Leaf> leaves_; ///< by number of their loop
  std::vector<Stream> streams_, movers_;
  std::vector<int64_t> cuts_;
  int64_t accesses_ = 0, next_report_ = kAccessesBetweenReports;
};

} // namespace kawara::cache
