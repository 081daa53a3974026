#include "program/interpret/bytecode.h"

#include "scalar/match.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::Elem;
using scalar::Value;
using Kind = Step::Kind;

class Coder {
public:
  Code code(const Expr& e) {
    add(e);
    code_.elem = e.type().elem;
    return std::move(code_);
  }

private:
  uint32_t here() const { return static_cast<uint32_t>(code_.steps.size()); }

  void emit(Step step, int change) {
    height_ += change;
    code_.depth = std::max(code_.depth, static_cast<uint32_t>(height_));
    code_.steps.push_back(step);
  }

  void literal(Value value) { emit({.kind = Kind::Push, .literal = value}, 1); }
  void leaf(Kind kind, uint32_t which) { emit({.kind = kind, .which = which}, 1); }

  void select(const scalar::Select& n) {
    add(n.cond);
    const uint32_t branch = here();
    emit({.kind = Kind::JumpIfFalse}, -1);
    const int height = height_;
    add(n.then);
    const uint32_t leave = here();
    emit({.kind = Kind::Jump}, 0);
    code_.steps[branch].which = here();
    height_ = height;
    add(n.otherwise);
    code_.steps[leave].which = here();
  }

  void add(const Expr& e) {
    const Elem elem = e.type().elem;
    const auto refuse = [](const auto&) { KAWARA_CHECK(false, "node of a kernel in a program"); };
    scalar::match(
        e, [&](const scalar::IntLit& n) { literal(scalar::int_value(n.value)); },
        [&](const scalar::FloatLit& n) { literal(scalar::float_value(n.value)); },
        [&](const scalar::Iter& n) { leaf(Kind::Iter, n.index); },
        [&](const scalar::Param& n) { leaf(Kind::Param, n.index); },
        [&](const scalar::Load& n) {
          for (const Expr& index : n.index)
            add(index);
          const auto rank = static_cast<uint32_t>(n.index.size());
          emit({.kind = Kind::Load, .elem = elem, .which = n.tensor, .rank = rank},
               1 - static_cast<int>(rank));
        },
        [&](const scalar::Unary& n) {
          add(n.arg);
          emit({.kind = Kind::Unary, .elem = n.arg.type().elem, .unary = n.op}, 0);
        },
        [&](const scalar::Binary& n) {
          add(n.lhs);
          add(n.rhs);
          emit({.kind = Kind::Binary, .elem = n.lhs.type().elem, .binary = n.op}, -1);
        },
        [&](const scalar::Select& n) { select(n); },
        [&](const scalar::Cast& n) {
          add(n.arg);
          emit({.kind = Kind::Convert, .elem = n.arg.type().elem, .to = elem}, 0);
        },
        [&](const scalar::Var& n) { refuse(n); }, [&](const scalar::Ramp& n) { refuse(n); },
        [&](const scalar::Runs& n) { refuse(n); }, [&](const scalar::Broadcast& n) { refuse(n); },
        [&](const scalar::Reduce& n) { refuse(n); }, [&](const scalar::Scan& n) { refuse(n); },
        [&](const scalar::Fma& n) {
          add(n.a);
          add(n.b);
          add(n.c);
          emit({.kind = Kind::Fma, .elem = elem}, -2);
        },
        [&](const scalar::Instruction& n) { refuse(n); },
        [&](const scalar::Within& n) {
          add(n.index);
          add(n.extent);
          emit({.kind = Kind::Within,
                .which = n.tensor,
                .rank = n.dim,
                .literal = scalar::int_value(scalar::reads_data(n.index) ? 1 : 0)},
               -1);
        });
  }

  Code code_;
  int height_ = 0;
};

} // namespace

Code code_of(const Expr& e) { return Coder().code(e); }

bool Machine::run(const Code& code, const int64_t* iters, Value& result) {
  if (stack_.size() < code.depth + 1)
    stack_.resize(code.depth + 1);
  Value* top = stack_.data(); // one past the last value
  for (size_t at = 0; at < code.steps.size(); ++at) {
    const Step& step = code.steps[at];
    switch (step.kind) {
    case Kind::Push:
      *top++ = step.literal;
      break;
    case Kind::Iter:
      *top++ = scalar::int_value(iters[step.which]);
      break;
    case Kind::Param:
      *top++ = scalar::int_value(memory_.params[step.which]);
      break;
    case Kind::Load:
      if (!load(step, top))
        return false;
      break;
    case Kind::Unary:
      top[-1] = scalar::apply(step.unary, step.elem, top[-1]);
      break;
    case Kind::Binary: {
      const auto value = scalar::apply(step.binary, step.elem, top[-2], top[-1]);
      if (!value) {
        fault_ = {.kind = Fault::Kind::DividedByZero, .element = {}};
        return false;
      }
      --top;
      top[-1] = *value;
      break;
    }
    case Kind::Fma:
      top -= 2;
      top[-1] = scalar::apply_fma(step.elem, top[-1], top[0], top[1]);
      break;
    case Kind::Convert:
      top[-1] = scalar::convert(step.elem, step.to, top[-1]);
      break;
    case Kind::Within:
      --top;
      if (top[-1].i < 0 || top[-1].i >= top[0].i) {
        fault_ = {Fault::Kind::NotWithin,
                  step.which,
                  index_,
                  top[-1].i,
                  step.rank,
                  step.literal.i != 0 ? std::optional(read_) : std::nullopt};
        return false;
      }
      break;
    case Kind::JumpIfFalse:
      if ((--top)->i == 0)
        at = step.which - 1;
      break;
    case Kind::Jump:
      at = step.which - 1;
      break;
    }
  }
  result = top[-1];
  return true;
}

bool Machine::load(const Step& step, Value*& top) {
  index_.resize(step.rank);
  top -= step.rank;
  for (uint32_t d = 0; d < step.rank; ++d)
    index_[d] = top[d].i;
  const int64_t at = locate(step.which, index_.data());
  if (at < 0 || !is_readable(step.which, at, index_.data()))
    return false;
  read_ = step.which;
  *top++ = memory_.arrays[step.which].get(at);
  return true;
}

int64_t Machine::locate(uint32_t tensor, const int64_t* index) {
  const Array& array = memory_.arrays[tensor];
  const int64_t at = array.position(index);
  if (at < 0)
    fault_ = {Fault::Kind::OutOfBounds, tensor, {index, index + array.shape().size()}};
  return at;
}

bool Machine::is_readable(uint32_t tensor, int64_t at, const int64_t* index) {
  const std::vector<bool>& written = memory_.written[tensor];
  if (written.empty() || written[static_cast<size_t>(at)])
    return true;
  const size_t rank = memory_.arrays[tensor].shape().size();
  fault_ = {Fault::Kind::Uninitialised, tensor, {index, index + rank}};
  return false;
}

} // namespace kawara::program
