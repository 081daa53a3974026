#include "estimate/count.h"

#include "scalar/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace kawara::estimate {
namespace {

using scalar::Expr;

bool uses_iter(const Expr& e, uint32_t depth) {
  bool found = false;
  scalar::visit(e, [&](const Expr& x) {
    const auto* i = scalar::as<scalar::Iter>(x);
    found = found || (i != nullptr && i->index == depth);
  });
  return found;
}

/// Whether any bound or condition below follows the loop at that depth.
bool body_uses(const program::Body& body, uint32_t depth) {
  for (const program::BodyNode& node : body) {
    if (const auto* loop = std::get_if<program::Loop>(&node)) {
      if (uses_iter(loop->lo, depth) || uses_iter(loop->hi, depth) || body_uses(loop->body, depth))
        return true;
    } else if (const auto* choice = std::get_if<program::If>(&node)) {
      if (uses_iter(choice->cond, depth) || body_uses(choice->then, depth) ||
          body_uses(choice->otherwise, depth))
        return true;
    }
  }
  return false;
}

/// Whether counts below are polynomials in the enclosing loops: bounds are sums without min, max,
/// // and %, loops have step 1 or -1, and there is no condition.
bool is_smooth(const Expr& bound) {
  bool smooth = true;
  scalar::visit(bound, [&](const Expr& x) {
    if (const auto* n = scalar::as<scalar::Binary>(x))
      smooth = smooth && (n->op == scalar::BinaryOp::Add || n->op == scalar::BinaryOp::Sub ||
                          n->op == scalar::BinaryOp::Mul);
  });
  return smooth;
}

int depth_of(const program::Body& body) {
  int depth = 0;
  for (const program::BodyNode& node : body) {
    if (const auto* loop = std::get_if<program::Loop>(&node))
      depth = std::max(depth, 1 + depth_of(loop->body));
    else if (const auto* choice = std::get_if<program::If>(&node))
      depth = std::max({depth, depth_of(choice->then), depth_of(choice->otherwise)});
  }
  return depth;
}

bool is_smooth(const program::Body& body) {
  return std::all_of(body.begin(), body.end(), [](const program::BodyNode& node) {
    const auto* loop = std::get_if<program::Loop>(&node);
    if (loop == nullptr)
      return std::holds_alternative<program::StatementRef>(node);
    return (loop->step == 1 || loop->step == -1) && is_smooth(loop->lo) && is_smooth(loop->hi) &&
           is_smooth(loop->body);
  });
}

/// Sum over x = 0..n-1 of the polynomial with values y[0..d] at 0..d: Newton's forward differences,
/// sum of C(n, k+1) * delta^k. All terms are integers; doubles hold them up to 2^53 exactly.
double sum_of_polynomial(std::vector<double> y, double n) {
  double total = 0;
  double choose = 1;
  for (size_t k = 0; k < y.size(); ++k) {
    choose *= (n - static_cast<double>(k)) / static_cast<double>(k + 1);
    total += choose * y.front();
    for (size_t i = 0; i + 1 < y.size() - k; ++i)
      y[i] = y[i + 1] - y[i];
  }
  return total;
}

class Counter {
public:
  Counter(const program::Program& program, std::span<const int64_t> params)
      : params_(params.begin(), params.end()), counts_(program.statements.size()) {}

  bool run(const program::Body& body) {
    walk(body, 1);
    return !is_stuck_;
  }
  const std::vector<double>& counts() const { return counts_; }

private:
  int64_t value(const Expr& e) {
    const auto v = scalar::evaluate_index(e, iters_, params_);
    is_stuck_ = is_stuck_ || !v;
    return v.value_or(0);
  }

  void walk(const program::Body& body, double times) {
    for (const program::BodyNode& node : body) {
      if (is_stuck_)
        return;
      if (const auto* ref = std::get_if<program::StatementRef>(&node))
        counts_.at(ref->statement) += times;
      else if (const auto* loop = std::get_if<program::Loop>(&node))
        walk_loop(*loop, times);
      else {
        const auto& choice = std::get<program::If>(node);
        walk(value(choice.cond) != 0 ? choice.then : choice.otherwise, times);
      }
    }
  }

  void walk_loop(const program::Loop& loop, double times) {
    const int64_t lo = value(loop.lo), hi = value(loop.hi);
    const int64_t distance = loop.step > 0 ? hi - lo : lo - hi;
    const int64_t step = loop.step > 0 ? loop.step : -loop.step;
    if (is_stuck_ || distance <= 0)
      return;
    const int64_t trips = (distance - 1) / step + 1;
    const auto depth = static_cast<uint32_t>(iters_.size());
    iters_.push_back(lo);
    if (!body_uses(loop.body, depth))
      walk(loop.body, times * static_cast<double>(trips));
    else if (!walk_smooth(loop, lo, trips, times))
      for (int64_t t = 0; t < trips && !is_stuck_; ++t) {
        // Where there are too many, the rest counts like the one in their middle.
        const int64_t like_it = visits_left_-- > 0 ? 1 : trips - t;
        iters_.back() = lo + (t + like_it / 2) * loop.step;
        walk(loop.body, times * static_cast<double>(like_it));
        t += like_it - 1;
      }
    iters_.pop_back();
  }

  /// Counts of the body at the first few iterations give the polynomial; counts at the last
  /// iterations must agree with it, which fails when an inner loop is empty for some of them.
  bool walk_smooth(const program::Loop& loop, int64_t lo, int64_t trips, double times) {
    const int degree = depth_of(loop.body);
    if (trips <= 2 * (degree + 1) + 1 || !is_smooth(loop.body))
      return false;
    const auto at = [&](int64_t t) {
      std::vector<double> outer(counts_.size(), 0.0);
      counts_.swap(outer);
      iters_.back() = lo + t * loop.step;
      walk(loop.body, 1);
      counts_.swap(outer);
      return outer;
    };
    std::vector<std::vector<double>> first;
    for (int t = 0; t <= degree; ++t)
      first.push_back(at(t));
    std::vector<int64_t> checked{trips - 1, trips - 2, trips / 2, degree + 1};
    for (const int64_t t : checked) {
      const std::vector<double> seen = at(t);
      for (size_t s = 0; s < seen.size(); ++s)
        if (predicted(first, s, t) != seen[s])
          return false;
    }
    for (size_t s = 0; s < counts_.size(); ++s)
      counts_[s] += times * sum_of_polynomial(column(first, s), static_cast<double>(trips));
    return true;
  }

  static std::vector<double> column(const std::vector<std::vector<double>>& rows, size_t s) {
    std::vector<double> result;
    for (const auto& row : rows)
      result.push_back(row[s]);
    return result;
  }

  /// Value at t: the difference of two sums of the polynomial.
  static double predicted(const std::vector<std::vector<double>>& first, size_t s, int64_t t) {
    return sum_of_polynomial(column(first, s), static_cast<double>(t + 1)) -
           sum_of_polynomial(column(first, s), static_cast<double>(t));
  }

  std::vector<int64_t> params_;
  std::vector<int64_t> iters_;
  std::vector<double> counts_;
  bool is_stuck_ = false;
  int64_t visits_left_ = 1'000'000; ///< a fraction of a second
};

Diagnostic cannot_count(std::string why) {
  Diagnostic d;
  d.code = "K0445";
  d.headline = "the work of this program cannot be counted";
  d.body.push_back(std::move(why));
  d.help.push_back({"", "give every parameter a value: -p N=1024", false});
  return d;
}

/// 0 when a shape cannot be evaluated or has a negative extent.
double bytes_of(const program::Tensor& tensor, const std::vector<int64_t>& params) {
  auto bytes = static_cast<double>(scalar::bytes_of(tensor.elem));
  for (const Expr& extent : tensor.shape) {
    const auto n = scalar::evaluate_index(extent, {}, params);
    bytes *= n ? static_cast<double>(std::max<int64_t>(*n, 0)) : 0;
  }
  return bytes;
}

} // namespace

int64_t flops_of(const Expr& e) { return static_cast<int64_t>(floats_of(operations_of(e))); }

std::string quantity(double value, const char* unit) {
  const auto [scale, prefix] = value >= 1e9   ? std::pair(1e-9, "G")
                               : value >= 1e6 ? std::pair(1e-6, "M")
                               : value >= 1e3 ? std::pair(1e-3, "k")
                                              : std::pair(1.0, "");
  return fmt::format("{:.4g} {}{}", value * scale, prefix, unit);
}

std::string quantities(const Work& work) {
  if (work.int_ops == 0)
    return quantity(work.flops, "FLOP");
  const std::string integers = quantity(work.int_ops, "OP");
  return work.flops == 0 ? integers : quantity(work.flops, "FLOP") + ", " + integers;
}

Result<Work, Diagnostic> count(const program::Program& program, std::span<const int64_t> params) {
  if (params.size() != program.params.size())
    return fail(cannot_count(fmt::format("It has {} parameters, but {} values were given.",
                                         program.params.size(), params.size())));
  Counter counter(program, params);
  if (!counter.run(program.body))
    return fail(cannot_count("A loop bound or a condition divides by zero at these values."));
  Work work;
  for (size_t s = 0; s < program.statements.size(); ++s) {
    const program::Statement& statement = program.statements[s];
    const OperationsByType each = operations_of(statement.value, statement.op);
    const double instances = counter.counts()[s];
    work.statements.push_back({statement.name, instances, static_cast<int64_t>(floats_of(each)),
                               static_cast<int64_t>(integers_of(each))});
    work.flops += instances * floats_of(each);
    work.int_ops += instances * integers_of(each);
    for (const auto& [elem, operations] : each)
      work.types[elem] += instances * operations;
  }
  const std::vector<int64_t> values(params.begin(), params.end());
  for (const program::Tensor& tensor : program.tensors) {
    const double passes = tensor.role == program::Role::Inout  ? 2
                          : tensor.role == program::Role::Temp ? 0
                                                               : 1;
    work.compulsory_bytes += passes * bytes_of(tensor, values);
  }
  return work;
}

} // namespace kawara::estimate
