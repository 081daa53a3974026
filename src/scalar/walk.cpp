#include "scalar/expr.h"
#include "scalar/match.h"
#include "support/check.h"

#include <algorithm>
#include <unordered_map>

namespace kawara::scalar {

std::vector<Expr> children(const Expr& e) {
  using List = std::vector<Expr>;
  return match(
      e, [](const IntLit&) { return List{}; }, [](const FloatLit&) { return List{}; },
      [](const Iter&) { return List{}; }, [](const Param&) { return List{}; },
      [](const Var&) { return List{}; }, [](const Load& n) { return n.index; },
      [](const Unary& n) { return List{n.arg}; },
      [](const Binary& n) {
        return List{n.lhs, n.rhs};
      },
      [](const Select& n) {
        return List{n.cond, n.then, n.otherwise};
      },
      [](const Cast& n) { return List{n.arg}; }, [](const Ramp& n) { return List{n.base}; },
      [](const Runs& n) { return List{n.base}; }, [](const Broadcast& n) { return List{n.arg}; },
      [](const Reduce& n) { return List{n.arg}; },
      [](const Scan& n) {
        return List{n.before, n.arg};
      },
      [](const Fma& n) {
        return List{n.a, n.b, n.c};
      },
      [](const Instruction& n) { return n.args; },
      [](const Within& n) {
        return List{n.index, n.extent};
      });
}

Expr with_children(const Expr& e, std::vector<Expr> c) {
  const auto expect = [&](size_t count) {
    KAWARA_CHECK(c.size() == count, "with_children got " + std::to_string(c.size()));
  };
  const auto leaf = [&](const auto&) {
    expect(0);
    return e;
  };
  return match(
      e, [&](const IntLit& n) { return leaf(n); }, [&](const FloatLit& n) { return leaf(n); },
      [&](const Iter& n) { return leaf(n); }, [&](const Param& n) { return leaf(n); },
      [&](const Var& n) { return leaf(n); },
      [&](const Load& n) {
        expect(n.index.size());
        return load(n.tensor, std::move(c), e.type());
      },
      [&](const Unary& n) {
        expect(1);
        return unary(n.op, c[0]);
      },
      [&](const Binary& n) {
        expect(2);
        return binary(n.op, c[0], c[1]);
      },
      [&](const Select&) {
        expect(3);
        return select(c[0], c[1], c[2]);
      },
      [&](const Cast&) {
        expect(1);
        return cast(c[0], e.type());
      },
      [&](const Ramp& n) {
        expect(1);
        return ramp(c[0], n.stride, e.type().lanes);
      },
      [&](const Runs& n) {
        expect(1);
        return runs(c[0], n.length, n.stride, e.type().lanes);
      },
      [&](const Broadcast&) {
        expect(1);
        return broadcast(c[0], e.type().lanes);
      },
      [&](const Reduce& n) {
        expect(1);
        return reduce(n.op, c[0], e.type().lanes);
      },
      [&](const Scan& n) {
        expect(2);
        return scan(n.op, c[0], c[1]);
      },
      [&](const Fma&) {
        expect(3);
        return fma(c[0], c[1], c[2]);
      },
      [&](const Instruction& n) {
        expect(n.args.size());
        return instruction(n.name, std::move(c));
      },
      [&](const Within& n) {
        expect(2);
        return within(c[0], c[1], n.tensor, n.dim);
      });
}

namespace {

/// A node that several others have is rewritten once and stays shared: written out, formulas of
/// formulas (log of exp of ...) grow with the product of their parts.
class Rewriter {
public:
  Rewriter(const std::function<Expr(const Expr&)>& f, const std::function<bool(const Expr&)>& keep)
      : f_(f), keep_(keep) {}

  Expr rewritten(const Expr& e) {
    if (keep_ && keep_(e))
      return e;
    if (!e.is_shared())
      return made_of(e);
    if (const auto found = known_.find(&e.node()); found != known_.end())
      return found->second;
    Expr made = made_of(e);
    known_.emplace(&e.node(), made);
    return made;
  }

private:
  Expr made_of(const Expr& e) {
    std::vector<Expr> kids = children(e);
    bool changed = false;
    for (Expr& kid : kids) {
      Expr better = rewritten(kid);
      changed |= !better.is_same_object(kid);
      kid = std::move(better);
    }
    const Expr whole = changed ? with_children(e, std::move(kids)) : e;
    const Expr replaced = f_(whole);
    return replaced ? replaced : whole;
  }

  const std::function<Expr(const Expr&)>& f_;
  const std::function<bool(const Expr&)>& keep_;
  std::unordered_map<const Node*, Expr> known_;
};

} // namespace

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f) { return rewrite(e, f, {}); }

Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& f,
             const std::function<bool(const Expr&)>& keep) {
  return Rewriter(f, keep).rewritten(e);
}

void visit(const Expr& e, const std::function<void(const Expr&)>& f) {
  f(e);
  for (const Expr& kid : children(e))
    visit(kid, f);
}

bool reads_data(const Expr& e) {
  if (as<Load>(e) != nullptr)
    return true;
  const std::vector<Expr> kids = children(e);
  return std::any_of(kids.begin(), kids.end(), reads_data);
}

Expr substitute_iters(const Expr& e, const std::vector<Expr>& iters) {
  return rewrite(e, [&](const Expr& n) {
    const auto* it = as<Iter>(n);
    return it != nullptr && it->index < iters.size() ? iters[it->index] : Expr();
  });
}

Expr substitute_params(const Expr& e, const std::vector<Expr>& params) {
  return rewrite(e, [&](const Expr& n) {
    const auto* p = as<Param>(n);
    return p != nullptr && p->index < params.size() ? params[p->index] : Expr();
  });
}

} // namespace kawara::scalar
