#include "estimate/bounds/statement_accesses.h"

#include "estimate/boxes.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::estimate {
namespace {

using program::Statement;
using scalar::as;
using scalar::Expr;

/// Loads that happen whenever the expression is evaluated.
void add_certain_loads(const Expr& e, std::vector<const scalar::Load*>& loads) {
  if (const auto* choice = as<scalar::Select>(e))
    return add_certain_loads(choice->cond, loads);
  if (const auto* load = as<scalar::Load>(e)) {
    loads.push_back(load);
    for (const Expr& index : load->index)
      add_certain_loads(index, loads);
    return;
  }
  if (const auto* both = as<scalar::Binary>(e);
      both != nullptr && (both->op == scalar::BinaryOp::And || both->op == scalar::BinaryOp::Or))
    return add_certain_loads(both->lhs, loads);
  for (const Expr& child : scalar::children(e))
    add_certain_loads(child, loads);
}

/// The factors of iterators; nothing where the index is no sum of them.
std::optional<Row> row_of(const Expr& index, size_t iterators) {
  Row row(iterators);
  for (const auto& [term, factor] : scalar::affine_sum(index).terms) {
    const auto* iter = as<scalar::Iter>(term);
    if (iter == nullptr || iter->index >= iterators)
      return std::nullopt;
    row[iter->index] = row[iter->index] + Rational(factor);
  }
  return row;
}

class StatementReader {
public:
  StatementReader(const program::Program& program, std::span<const int64_t> sizes,
                  std::span<const double> instances)
      : program_(program), sizes_(sizes), instances_(instances) {
    for (const int64_t size : sizes)
      params_.push_back(scalar::int_lit(size));
    made_.resize(program.statements.size());
  }

  std::vector<StatementAccesses> read() {
    add(program_.body);
    return std::move(made_);
  }

private:
  void add(const program::Body& body) {
    for (const program::BodyNode& node : body)
      std::visit([&](const auto& n) { one(n); }, node);
  }
  void one(const program::Loop& loop) {
    const auto lo = interval(loop.lo), hi = interval(loop.hi);
    const auto depth = static_cast<uint32_t>(extents_.size());
    if (lo && hi) {
      // The first value is in `lo`; the others lie before `hi`, on its far side.
      const Interval values = loop.step > 0 ? Interval{lo->lo, std::max(hi->hi - 1, lo->lo)}
                                            : Interval{std::min(hi->lo + 1, lo->hi), lo->hi};
      around_[depth] = values;
      extents_.emplace_back(static_cast<double>(values.extent()));
    } else {
      around_.erase(depth);
      extents_.emplace_back();
    }
    add(loop.body);
    extents_.pop_back();
    around_.erase(depth);
  }
  void one(const program::If& choice) {
    add(choice.then);
    add(choice.otherwise);
  }
  void one(const program::StatementRef& ref) {
    const Statement& s = program_.statements[ref.statement];
    StatementAccesses& made = made_[ref.statement];
    made.name = s.name;
    made.instances = instances_[ref.statement];
    made.extents = extents_;
    if (program::depends_on_data(s))
      return;
    if (s.op != scalar::ReduceOp::None)
      add_map(s.tensor, s.index, made);
    std::vector<const scalar::Load*> loads;
    add_certain_loads(s.value, loads);
    for (const scalar::Load* load : loads)
      add_map(load->tensor, load->index, made);
  }
  void add_map(uint32_t tensor, const std::vector<Expr>& index, StatementAccesses& made) {
    AccessMap map{tensor, {}};
    for (const Expr& each : index) {
      auto row =
          row_of(scalar::simplify(scalar::substitute_params(each, params_)), made.extents.size());
      if (!row)
        return;
      map.rows.push_back(*std::move(row));
    }
    if (reduced(map.rows).empty())
      return; // one element, wherever the iterations are
    const bool is_known = std::any_of(made.maps.begin(), made.maps.end(), [&](const auto& other) {
      return other.tensor == map.tensor && reduced(other.rows) == reduced(map.rows);
    });
    if (!is_known)
      made.maps.push_back(std::move(map));
  }
  std::optional<Interval> interval(const Expr& e) const {
    std::vector<Expr> variables;
    for (uint32_t d = 0; d < extents_.size(); ++d)
      variables.push_back(scalar::var(d));
    return interval_of(scalar::substitute_iters(e, variables), around_, sizes_);
  }

  const program::Program& program_;
  std::span<const int64_t> sizes_;
  std::span<const double> instances_;
  std::vector<Expr> params_;
  std::vector<StatementAccesses> made_;
  Environment around_;
  std::vector<std::optional<double>> extents_;
};

} // namespace

std::vector<StatementAccesses> statement_accesses(const program::Program& program,
                                                  std::span<const int64_t> sizes,
                                                  std::span<const double> instances) {
  return StatementReader(program, sizes, instances).read();
}

} // namespace kawara::estimate
