#include "scalar/expr.h"
#include "scalar/match.h"

#include <bit>
#include <functional>

namespace kawara::scalar {
namespace {

uint64_t mix(uint64_t seed, uint64_t value) {
  uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// What a node says apart from its type and its children. Float literals by bits, so that
/// -0.0 differs from 0.0 and a NaN equals itself.
uint64_t payload(const Expr& e) {
  const auto bits = [](auto value) { return static_cast<uint64_t>(value); };
  return match(
      e, [&](const IntLit& n) { return bits(n.value); },
      [&](const FloatLit& n) { return std::bit_cast<uint64_t>(n.value); },
      [&](const Iter& n) { return bits(n.index); }, [&](const Param& n) { return bits(n.index); },
      [&](const Var& n) { return bits(n.id); }, [&](const Load& n) { return bits(n.tensor); },
      [&](const Unary& n) { return bits(n.op); }, [&](const Binary& n) { return bits(n.op); },
      [&](const Select&) { return bits(0); }, [&](const Cast&) { return bits(0); },
      [&](const Ramp& n) { return bits(n.stride); },
      [&](const Runs& n) { return mix(bits(n.length), bits(n.stride)); },
      [&](const Broadcast&) { return bits(0); }, [&](const Reduce& n) { return bits(n.op); },
      [&](const Scan& n) { return bits(n.op); }, [&](const Fma&) { return bits(0); },
      [&](const Instruction& n) { return bits(std::hash<std::string>{}(n.name)); },
      [&](const Within& n) { return mix(bits(n.tensor), bits(n.dim)); });
}

} // namespace

bool equal(const Expr& a, const Expr& b) {
  if (a.is_same_object(b))
    return true;
  if (!a || !b)
    return false;
  if (a.type() != b.type() || a.node().kind.index() != b.node().kind.index() ||
      payload(a) != payload(b))
    return false;
  const std::vector<Expr> x = children(a), y = children(b);
  if (x.size() != y.size())
    return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (!equal(x[i], y[i]))
      return false;
  return true;
}

uint64_t hash_of(const Expr& e) {
  if (!e)
    return 0;
  uint64_t h = mix(e.node().kind.index() + 1, static_cast<uint64_t>(e.type().elem));
  h = mix(h, e.type().lanes);
  h = mix(h, payload(e));
  for (const Expr& kid : children(e))
    h = mix(h, hash_of(kid));
  return h;
}

} // namespace kawara::scalar
