#include "program/interpret/interpret_over.h"

#include "support/check.h"

#include <algorithm>

namespace kawara::program {
namespace {

/// Walks the loops of a program; `statement` is called for every instance.
class Walk {
public:
  Walk(const std::vector<int64_t>& params, std::function<bool(uint32_t)> statement)
      : params_(params), statement_(std::move(statement)) {}

  /// False when a statement wanted to stop.
  bool run(const Body& body) {
    return std::all_of(body.begin(), body.end(), [&](const BodyNode& n) { return node(n); });
  }
  std::vector<int64_t> iters;

private:
  int64_t number(const Expr& e) const {
    const auto value = scalar::evaluate_index(e, iters, params_);
    KAWARA_CHECK(value, "a bound that divides by zero");
    return *value;
  }

  bool node(const BodyNode& n) {
    if (const auto* ref = std::get_if<StatementRef>(&n))
      return statement_(ref->statement);
    if (const auto* branch = std::get_if<If>(&n))
      return run(number(branch->cond) != 0 ? branch->then : branch->otherwise);
    const auto& loop = std::get<Loop>(n);
    const int64_t hi = number(loop.hi);
    const size_t depth = iters.size();
    for (int64_t i = number(loop.lo); loop.step > 0 ? i < hi : i > hi; i += loop.step) {
      iters.push_back(i);
      if (!run(loop.body))
        return false;
      iters.resize(depth);
    }
    return true;
  }

  const std::vector<int64_t>& params_;
  std::function<bool(uint32_t)> statement_;
};

/// Row-major position; nothing outside the tensor.
std::optional<size_t> position_in(const std::vector<int64_t>& shape,
                                  const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape[d])
      return std::nullopt;
    at = at * shape[d] + index[d];
  }
  return static_cast<size_t>(at);
}

class InstanceRunner {
public:
  InstanceRunner(const scalar::Algebra& algebra, const Program& program,
                 const std::vector<int64_t>& params,
                 const std::vector<std::vector<int64_t>>& shapes, std::vector<Elements>& tensors)
      : algebra_(algebra), program_(program), params_(params), shapes_(shapes), tensors_(tensors),
        walk_(params, [this](uint32_t s) { return run(program_.statements[s]); }) {
    leaves_.iter = [this](uint32_t i) { return std::optional(scalar::int_value(walk_.iters[i])); };
    leaves_.param = [this](uint32_t p) { return std::optional(scalar::int_value(params_[p])); };
    leaves_.load = [this](const scalar::Load& load, const std::vector<int64_t>& index,
                          scalar::Elem) -> std::optional<scalar::Value> {
      const auto at = position_in(shapes_[load.tensor], index);
      if (!at) {
        outside_ = load.tensor;
        return std::nullopt;
      }
      return tensors_[load.tensor][*at];
    };
  }

  Result<Done, std::string> run() {
    if (walk_.run(program_.body))
      return Done{};
    return fail(outside_ ? "the program goes outside of " + program_.tensors[*outside_].name
                         : std::string("the program divides by zero, or reads an index outside of "
                                       "its tensor"));
  }

private:
  std::optional<int64_t> index_of(const Expr& e) const {
    const auto value = scalar::evaluate(e, leaves_, algebra_);
    return value ? std::optional(value->i) : std::nullopt;
  }

  bool run(const Statement& s) {
    if (!s.over)
      return store(s);
    const auto lo = index_of(s.over->lo), hi = index_of(s.over->hi);
    if (!lo || !hi)
      return false;
    for (int64_t i = *lo; i < *hi; ++i) {
      walk_.iters.push_back(i);
      if (!store(s))
        return false;
      walk_.iters.pop_back();
    }
    return true;
  }

  bool store(const Statement& s) {
    const auto value = scalar::evaluate(s.value, leaves_, algebra_);
    if (!value)
      return false;
    std::vector<int64_t> index;
    for (const Expr& e : s.index) {
      const auto at =
          scalar::reads_data(e) ? index_of(e) : scalar::evaluate_index(e, walk_.iters, params_);
      index.push_back(at.value_or(-1));
    }
    const auto at = position_in(shapes_[s.tensor], index);
    if (!at) {
      outside_ = s.tensor;
      return false;
    }
    const scalar::Elem stored = program_.tensors[s.tensor].elem, computed = s.value.type().elem;
    scalar::Value& element = tensors_[s.tensor][*at];
    const scalar::Value result =
        s.op == ReduceOp::None
            ? *value
            : algebra_.reduce(s.op, computed, algebra_.convert(stored, computed, element), *value);
    element = algebra_.convert(computed, stored, result);
    return true;
  }

  const scalar::Algebra& algebra_;
  const Program& program_;
  const std::vector<int64_t>& params_;
  const std::vector<std::vector<int64_t>>& shapes_;
  std::vector<Elements>& tensors_;
  Walk walk_;
  scalar::Leaves leaves_;
  std::optional<uint32_t> outside_;
};

} // namespace

Result<Done, std::string> interpret_over(const scalar::Algebra& algebra, const Program& program,
                                         const std::vector<int64_t>& params,
                                         const std::vector<std::vector<int64_t>>& shapes,
                                         std::vector<Elements>& tensors) {
  return InstanceRunner(algebra, program, params, shapes, tensors).run();
}

uint64_t count_instances(const Program& program, const std::vector<int64_t>& params,
                         uint64_t limit) {
  uint64_t count = 0;
  Walk(params, [&](uint32_t) { return ++count < limit; }).run(program.body);
  return count;
}

} // namespace kawara::program
