#include "kernel/interpret/evaluate_intrinsic.h"
#include "kernel/interpret/machine.h"
#include "scalar/match.h"

namespace kawara::kernel {

using scalar::match;

Lanes Machine::eval(const Expr& e) {
  return match(
      e, [&](const scalar::IntLit& n) { return Lanes{int_value(n.value)}; },
      [&](const scalar::FloatLit& n) { return Lanes{algebra_.literal(n.value)}; },
      [&](const scalar::Iter&) -> Lanes { throw Stop{"iterator in a kernel"}; },
      [&](const scalar::Param& n) { return Lanes{int_value(params_.at(n.index))}; },
      [&](const scalar::Var& n) { return variables_[n.id]; },
      [&](const scalar::Load& n) {
        const std::vector<Lanes> at = eval_index(n.index);
        Lanes values(e.type().lanes);
        for (size_t lane = 0; lane < values.size(); ++lane)
          values[lane] = read(n.tensor, element_of(n.tensor, at, lane));
        return values;
      },
      [&](const scalar::Unary& n) {
        Lanes values = eval(n.arg);
        for (Value& v : values)
          v = algebra_.apply(n.op, n.arg.type().elem, v);
        return values;
      },
      [&](const scalar::Binary& n) {
        Lanes a = eval(n.lhs);
        const Lanes b = eval(n.rhs);
        for (size_t lane = 0; lane < a.size(); ++lane)
          a[lane] = checked(algebra_.apply(n.op, n.lhs.type().elem, a[lane], b[lane]));
        return a;
      },
      [&](const scalar::Select& n) { return choose(n); },
      [&](const scalar::Cast& n) {
        Lanes values = eval(n.arg);
        for (Value& v : values)
          v = algebra_.convert(n.arg.type().elem, e.type().elem, v);
        return values;
      },
      [&](const scalar::Ramp& n) {
        const int64_t base = index(n.base);
        Lanes values;
        for (int64_t lane = 0; lane < e.type().lanes; ++lane)
          values.push_back(int_value(base + lane * n.stride));
        return values;
      },
      [&](const scalar::Runs& n) {
        const int64_t base = index(n.base);
        Lanes values;
        for (int64_t lane = 0; lane < e.type().lanes; ++lane)
          values.push_back(int_value(base + lane / n.length * n.stride + lane % n.length));
        return values;
      },
      [&](const scalar::Broadcast& n) {
        const Lanes values = eval(n.arg);
        Lanes repeated;
        for (size_t lane = 0; lane < e.type().lanes; ++lane)
          repeated.push_back(values[lane % values.size()]);
        return repeated;
      },
      [&](const scalar::Reduce& n) {
        const Lanes values = eval(n.arg);
        const size_t lanes = e.type().lanes;
        Lanes totals(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(lanes));
        for (size_t lane = lanes; lane < values.size(); ++lane)
          totals[lane % lanes] =
              algebra_.reduce(n.op, e.type().elem, totals[lane % lanes], values[lane]);
        return totals;
      },
      [&](const scalar::Scan& n) {
        Lanes values = eval(n.arg);
        Value running = eval(n.before).back();
        for (auto& value : values)
          value = running = algebra_.reduce(n.op, e.type().elem, running, value);
        return values;
      },
      [&](const scalar::Fma& n) {
        Lanes a = eval(n.a);
        const Lanes b = eval(n.b), c = eval(n.c);
        for (size_t lane = 0; lane < a.size(); ++lane)
          a[lane] = algebra_.apply_fma(e.type().elem, a[lane], b[lane], c[lane]);
        return a;
      },
      [&](const scalar::Instruction& n) {
        std::vector<Lanes> args;
        for (const Expr& arg : n.args)
          args.push_back(eval(arg));
        return evaluate_intrinsic(n.name, std::move(args), algebra_);
      },
      [&](const scalar::Within& n) {
        const Lanes at = eval(n.index), extent = eval(n.extent);
        for (size_t lane = 0; lane < at.size(); ++lane)
          if (at[lane].i < 0 || at[lane].i >= extent[lane].i)
            throw Stop{"index " + std::to_string(at[lane].i) + " outside of " +
                       kernel_.buffers[n.tensor].name};
        return at;
      });
}

Lanes Machine::choose(const scalar::Select& n) {
  const Lanes cond = eval(n.cond);
  if (cond.size() == 1)
    return eval(cond[0].i != 0 ? n.then : n.otherwise);
  const Lanes yes = eval(n.then);
  Lanes result = eval(n.otherwise);
  for (size_t lane = 0; lane < result.size(); ++lane)
    if (cond[lane].i != 0)
      result[lane] = yes[lane];
  return result;
}

} // namespace kawara::kernel
