#include "cache/innermost.h"

#include <algorithm>

namespace kawara::cache {
namespace {

class Reader {
public:
  Reader(const AccessProgram& program, const Loop& loop, int64_t most_pieces, Innermost& made)
      : program_(program), loop_(loop), most_pieces_(most_pieces), made_(made) {}

  void read(const Code& code) {
    for (const Step& step : code) {
      if (const auto* touch = std::get_if<Touch>(&step.step)) {
        add(*touch);
      } else if (const auto* branch = std::get_if<Branch>(&step.step)) {
        made_.is_linear = made_.is_linear && add_compared(branch->condition);
        guards_.emplace_back(&branch->condition, true);
        read(branch->then);
        guards_.back().second = false;
        read(branch->otherwise);
        guards_.pop_back();
      } else {
        made_.is_leaf = false;
      }
    }
  }

private:
  void add(const Touch& touch) {
    Innermost::Guarded each{&touch, 0, factor_of(touch.at) * loop_.step, guards_};
    if (touch.guard) {
      each.guards.emplace_back(&*touch.guard, true);
      made_.is_linear = made_.is_linear && add_compared(*touch.guard);
    }
    // Whether there is something to fetch is asked each time.
    const bool is_request = program_.references[touch.reference].kind == Reference::Kind::Prefetch;
    made_.is_linear = made_.is_linear && !any_formula_moves(touch.at) && !is_request;
    made_.is_leaf = made_.is_leaf && touch.count <= most_pieces_;
    for (; made_.is_leaf && each.piece < touch.count; ++each.piece)
      made_.touches.push_back(each);
  }
  int64_t factor_of(const Linear& sum) const {
    for (const auto& [variable, factor] : sum.variables)
      if (variable == loop_.variable)
        return factor;
    return 0;
  }
  bool moves(const Linear& sum) const { return factor_of(sum) != 0 || any_formula_moves(sum); }
  bool any_formula_moves(const Linear& sum) const {
    return std::any_of(sum.formulas.begin(), sum.formulas.end(), [&](const auto& term) {
      const Formula& f = program_.formulas[term.first];
      return moves(f.a) || moves(f.b) || moves(f.c);
    });
  }
  /// The comparisons that a condition is made of; whether both sides of each are linear.
  bool add_compared(const Linear& condition) {
    bool is_linear = factor_of(condition) == 0;
    for (const auto& term : condition.formulas) {
      const Formula& f = program_.formulas[term.first];
      if (!moves(f.a) && !moves(f.b) && !moves(f.c))
        continue;
      if (f.op == Formula::Op::Lt || f.op == Formula::Op::Le || f.op == Formula::Op::Eq) {
        is_linear = is_linear && !any_formula_moves(f.a) && !any_formula_moves(f.b);
        if (const int64_t step = (factor_of(f.b) - factor_of(f.a)) * loop_.step)
          made_.compared.push_back({&f, step});
      } else if (f.op == Formula::Op::And || f.op == Formula::Op::Or) {
        is_linear = add_compared(f.a) && add_compared(f.b) && is_linear;
      } else {
        is_linear = false;
      }
    }
    return is_linear;
  }

  const AccessProgram& program_;
  const Loop& loop_;
  int64_t most_pieces_;
  Innermost& made_;
  std::vector<std::pair<const Linear*, bool>> guards_;
};

} // namespace

Innermost::Innermost(const AccessProgram& program, const Loop& loop, int64_t most_pieces) {
  Reader(program, loop, most_pieces, *this).read(loop.body);
}

} // namespace kawara::cache
