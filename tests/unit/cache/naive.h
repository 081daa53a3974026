#pragma once

#include "cache/access_program.h"
#include "cache/description.h"

#include <algorithm>
#include <list>
#include <random>
#include <set>
#include <vector>

namespace kawara::cache {

/// One touch of one line.
struct Touched {
  uint32_t reference = 0;
  Reference::Kind kind = Reference::Kind::Read;
  int64_t line = 0;
};

/// Every touch of a program, step by step.
class Trace {
public:
  Trace(const AccessProgram& program, int64_t line_bytes)
      : program_(program), line_bytes_(line_bytes), values_(program) {
    add(program.code);
  }
  std::vector<Touched> touched;

private:
  void add(const Code& code) {
    for (const Step& step : code)
      std::visit([this](const auto& s) { one(s); }, step.step);
  }
  void one(const Loop& loop) {
    const int64_t lo = values_(loop.lo), hi = values_(loop.hi);
    for (int64_t at = lo; loop.step > 0 ? at < hi : at > hi; at += loop.step) {
      values_[loop.variable] = at;
      add(loop.body);
    }
  }
  void one(const Branch& branch) {
    add(values_(branch.condition) != 0 ? branch.then : branch.otherwise);
  }
  void one(const Set& set) { values_[set.variable] = values_(set.value); }
  void one(const Touch& touch) {
    if (touch.guard && values_(*touch.guard) == 0)
      return;
    const Reference& reference = program_.references[touch.reference];
    for (int64_t k = 0; k < touch.count; ++k) {
      const int64_t at =
          program_.arrays[reference.array].begin + values_(touch.at) + k * touch.stride;
      for (int64_t line = at / line_bytes_; line <= (at + touch.bytes - 1) / line_bytes_; ++line)
        touched.push_back({touch.reference, reference.kind, line});
    }
  }

  const AccessProgram& program_;
  int64_t line_bytes_;
  Values values_;
};

/// A cache as its definition says it: lists, no tricks.
class NaiveCache {
public:
  explicit NaiveCache(const Description& d) : d_(d), sets_(static_cast<size_t>(d.sets())) {}

  /// Whether it was a hit; `wrote_back` counts changed lines that made room.
  bool use(int64_t line, bool is_store) {
    Set& set = sets_[static_cast<size_t>(line % d_.sets())];
    set.ways.resize(static_cast<size_t>(d_.lines_of_set()));
    set.points_right.resize(set.ways.size(), false);
    const auto at = std::find_if(set.ways.begin(), set.ways.end(),
                                 [&](const Way& way) { return way.line == line; });
    const bool is_hit = at != set.ways.end();
    if (!is_hit && is_store && !d_.allocates)
      return false;
    const size_t way = is_hit ? static_cast<size_t>(at - set.ways.begin()) : victim(set);
    if (!is_hit) {
      wrote_back += set.ways[way].is_changed ? 1 : 0;
      set.ways[way] = {line, false, 0, ++now_};
    }
    set.ways[way].is_changed |= is_store && d_.writes_back;
    set.ways[way].used = ++now_;
    turn_away(set, way);
    return is_hit;
  }
  int64_t wrote_back = 0;

private:
  struct Way {
    int64_t line = -1;
    bool is_changed = false;
    int64_t used = 0, came = 0;
  };
  struct Set {
    std::vector<Way> ways;
    std::vector<bool> points_right; ///< node k has halves 2k + 1 and 2k + 2
  };
  size_t victim(const Set& set) const {
    if (d_.policy == Policy::Plru) {
      size_t lo = 0, hi = set.ways.size();
      for (size_t node = 0; hi - lo > 1; node = 2 * node + (set.points_right[node] ? 2 : 1))
        (set.points_right[node] ? lo : hi) = (lo + hi) / 2;
      return lo;
    }
    const auto oldest =
        std::min_element(set.ways.begin(), set.ways.end(), [&](const Way& a, const Way& b) {
          return d_.policy == Policy::Lru ? a.used < b.used : a.came < b.came;
        });
    return static_cast<size_t>(oldest - set.ways.begin());
  }
  static void turn_away(Set& set, size_t way) {
    size_t lo = 0, hi = set.ways.size(), node = 0;
    while (hi - lo > 1) {
      const size_t middle = (lo + hi) / 2;
      const bool is_left = way < middle;
      set.points_right[node] = is_left;
      (is_left ? hi : lo) = middle;
      node = 2 * node + (is_left ? 1 : 2);
    }
  }

  Description d_;
  std::vector<Set> sets_;
  int64_t now_ = 0;
};

/// Nests of loops over three arrays, with conditions, strides of all kinds and pieces that lie in
/// two lines.
class RandomProgram {
public:
  explicit RandomProgram(uint32_t seed) : random_(seed) {
    for (int a = 0; a < 3; ++a)
      program.arrays.push_back({std::string(1, static_cast<char>('A' + a)), kBytes, 0});
    place_arrays(program, 64);
    for (int nest = 0; nest < 3; ++nest)
      add_loop(1 + pick(3), program.code);
  }
  AccessProgram program;

private:
  static constexpr int64_t kBytes = 32768;

  int64_t pick(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  Linear sum_of_loops(const std::vector<int64_t>& factors) {
    Linear sum;
    for (const uint32_t variable : around_)
      if (const int64_t factor = factors[static_cast<size_t>(pick(std::ssize(factors)))])
        sum.variables.emplace_back(variable, factor);
    return sum;
  }
  Linear condition() {
    Formula made;
    made.op = pick(3) == 0 ? Formula::Op::Eq : pick(2) == 0 ? Formula::Op::Lt : Formula::Op::Le;
    made.a = sum_of_loops({-2, -1, 0, 1, 3});
    made.b.constant = pick(12);
    if (pick(4) == 0 && !program.formulas.empty()) {
      program.formulas.push_back(made);
      const auto both = static_cast<uint32_t>(program.formulas.size());
      Linear first{0, {}, {{both - 1, 1}}};
      program.formulas.push_back({Formula::Op::Or, first, condition(), {}});
      return {0, {}, {{static_cast<uint32_t>(program.formulas.size() - 1), 1}}};
    }
    program.formulas.push_back(made);
    return {0, {}, {{static_cast<uint32_t>(program.formulas.size() - 1), 1}}};
  }
  void add_touch(Code& code) {
    Touch touch;
    touch.reference = static_cast<uint32_t>(program.references.size());
    const int64_t bytes = int64_t{4} << pick(3);
    touch.bytes = pick(8) == 0 ? 48 : bytes;
    touch.at = sum_of_loops({0, bytes, bytes, -bytes, 24, 64, 200, -256});
    touch.at.constant = kBytes / 2 + (pick(6) == 0 ? pick(64) : bytes * pick(64));
    if (pick(10) == 0) {
      touch.count = 3;
      touch.stride = 72;
    }
    if (pick(5) == 0)
      touch.guard = condition();
    program.references.push_back({pick(3) == 0 ? Reference::Kind::Write : Reference::Kind::Read,
                                  static_cast<uint32_t>(pick(3)),
                                  "S",
                                  "",
                                  {}});
    code.push_back({std::move(touch)});
  }
  void add_loop(int64_t depth, Code& code) {
    Loop loop;
    loop.variable = program.variables++;
    loop.number = static_cast<uint32_t>(program.loops.size());
    program.loops.push_back({"i", {}});
    loop.lo.constant = pick(3);
    loop.hi.constant = loop.lo.constant + pick(14);
    if (pick(4) == 0) {
      std::swap(loop.lo, loop.hi);
      loop.step = -1 - pick(2);
    }
    if (!around_.empty() && pick(3) == 0)
      loop.lo.variables.emplace_back(around_.back(), loop.step > 0 ? 1 : 0);
    std::erase_if(loop.lo.variables, [](const auto& term) { return term.second == 0; });
    around_.push_back(loop.variable);
    if (depth > 1) {
      if (pick(2) == 0)
        add_touch(loop.body);
      add_loop(depth - 1, loop.body);
    }
    for (int64_t k = 0; k <= pick(5); ++k) {
      if (pick(6) != 0) {
        add_touch(loop.body);
        continue;
      }
      Branch branch{condition(), {}, {}};
      add_touch(branch.then);
      add_touch(branch.otherwise);
      loop.body.push_back({std::move(branch)});
    }
    around_.pop_back();
    code.push_back({std::move(loop)});
  }

  std::mt19937 random_;
  std::vector<uint32_t> around_;
};

} // namespace kawara::cache
