#include "explain/characterise.h"

#include "estimate/count.h"
#include "scalar/affine_sum.h"
#include "scalar/loads.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace kawara::explain {
namespace {

using program::Program;
using program::ReduceOp;
using program::Role;
using program::Statement;
using scalar::as;
using scalar::Expr;

/// Values of an index are listed up to so many of them.
constexpr int64_t kMostValues = 1 << 24;

/// A loop around a statement; without a count its length depends on other loops.
struct Around {
  int64_t first = 0, step = 1;
  std::optional<int64_t> count;
};

/// Elements of a tensor: all that have one of these indices in each dimension.
struct Elements {
  std::vector<std::vector<bool>> indices; ///< by dimension
  bool is_exact = true;
  double count() const {
    double product = 1;
    for (const std::vector<bool>& each : indices)
      product *= static_cast<double>(std::count(each.begin(), each.end(), true));
    return product;
  }
  bool has_all_of(const Elements& other) const {
    for (size_t d = 0; d < indices.size(); ++d)
      for (size_t k = 0; k < indices[d].size(); ++k)
        if (other.indices[d][k] && !indices[d][k])
          return false;
    return true;
  }
};

/// One operand of one statement.
struct Reference {
  double times = 0;
  Elements elements;
};

class Characteriser {
public:
  Characteriser(const Program& program, std::span<const int64_t> sizes, const estimate::Work& work)
      : program_(program), work_(work) {
    for (const int64_t size : sizes)
      params_.push_back(scalar::int_lit(size));
    stored_.resize(program.tensors.size());
    loaded_.resize(program.tensors.size());
    is_summed_.resize(program.tensors.size());
  }

  Characteristics made() {
    look(program_.body);
    Characteristics out;
    out.operations = estimate::operations_of(work_);
    for (uint32_t t = 0; t < program_.tensors.size(); ++t) {
      Touched each = touched(t);
      if (is_summed_[t])
        out.sums += union_of(stored_[t]).first;
      if (program_.tensors[t].role == Role::Temp || (!each.is_read && !each.is_written))
        continue;
      const auto bytes = static_cast<double>(scalar::bytes_of(program_.tensors[t].elem));
      out.accesses += each.accesses * bytes;
      out.unique += each.elements * bytes;
      const bool is_inout = program_.tensors[t].role == Role::Inout;
      out.moved += each.elements * bytes * (is_inout && each.is_read && each.is_written ? 2 : 1);
      out.tensors.push_back(each);
    }
    return out;
  }

private:
  Touched touched(uint32_t t) const {
    Touched each{t, 0, 0, !loaded_[t].empty(), !stored_[t].empty(), true};
    for (const Reference& load : loaded_[t])
      each.accesses += load.times;
    const auto [stored, is_exactly_stored] = union_of(stored_[t]);
    if (is_summed_[t])
      each.accesses += stored;
    else
      for (const Reference& store : stored_[t])
        each.accesses += store.times;
    std::vector<Reference> all = loaded_[t];
    all.insert(all.end(), stored_[t].begin(), stored_[t].end());
    std::tie(each.elements, each.is_exact) = union_of(all);
    return each;
  }

  /// How many different elements, and whether there are not fewer.
  std::pair<double, bool> union_of(const std::vector<Reference>& all) const {
    std::vector<const Reference*> largest;
    for (const Reference& one : all) {
      const auto is_in = [&](const Reference* other) {
        return other->elements.has_all_of(one.elements);
      };
      if (std::any_of(largest.begin(), largest.end(), is_in))
        continue;
      std::erase_if(largest, [&](const Reference* other) {
        return one.elements.has_all_of(other->elements);
      });
      largest.push_back(&one);
    }
    double sum = 0;
    bool is_exact = largest.size() <= 1;
    for (const Reference* one : largest) {
      sum += std::min(one->times, one->elements.count());
      is_exact = is_exact && one->elements.is_exact;
    }
    if (largest.empty())
      return {0, true};
    double whole = 1;
    for (const std::vector<bool>& dimension : largest.front()->elements.indices)
      whole *= static_cast<double>(dimension.size());
    return {std::min(sum, whole), is_exact};
  }

  void look(const program::Body& body) {
    for (const program::BodyNode& node : body)
      std::visit([&](const auto& n) { one(n); }, node);
  }
  void one(const program::Loop& loop) {
    const auto lo = number(loop.lo), hi = number(loop.hi);
    Around values{lo.value_or(0), loop.step, std::nullopt};
    if (lo && hi)
      values.count =
          std::max<int64_t>(0, (*hi - *lo + loop.step - (loop.step > 0 ? 1 : -1)) / loop.step);
    around_.push_back(values);
    look(loop.body);
    around_.pop_back();
  }
  void one(const program::If& choice) {
    ++choices_;
    look(choice.then);
    look(choice.otherwise);
    --choices_;
  }
  void one(const program::StatementRef& ref) {
    const Statement& s = program_.statements[ref.statement];
    const double times = work_.statements[ref.statement].instances;
    stored_[s.tensor].push_back(reference(s.tensor, s.index, times));
    is_summed_[s.tensor] = is_summed_[s.tensor] || s.op != ReduceOp::None;
    std::vector<const scalar::Load*> seen;
    for (const scalar::Load* load : scalar::loads_in(s.value)) {
      const bool is_known = std::any_of(seen.begin(), seen.end(), [&](const scalar::Load* other) {
        return other->tensor == load->tensor &&
               std::equal(other->index.begin(), other->index.end(), load->index.begin(),
                          load->index.end(), scalar::equal);
      });
      if (is_known)
        continue;
      seen.push_back(load);
      loaded_[load->tensor].push_back(reference(
          load->tensor, load->index, follows_a_loop(*load) ? times : std::min(times, 1.0)));
    }
  }

  static bool follows_a_loop(const scalar::Load& load) {
    bool is_found = false;
    for (const Expr& index : load.index)
      scalar::visit(index, [&](const Expr& e) { is_found = is_found || as<scalar::Iter>(e); });
    return is_found;
  }

  Reference reference(uint32_t tensor, const std::vector<Expr>& index, double times) const {
    Reference made{times, {}};
    std::vector<bool> is_used(around_.size(), false);
    bool is_product = choices_ == 0;
    double loads = 1;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t extent = number(program_.tensors[tensor].shape[d]).value_or(0);
      const auto values = values_of(index[d], extent, is_used);
      std::vector<bool> taken(static_cast<size_t>(extent), !values);
      double inside = 0;
      for (size_t k = 0; values && k < taken.size(); ++k) {
        taken[k] = (*values)[k] > 0;
        inside += (*values)[k];
      }
      is_product = is_product && values.has_value();
      loads *= inside;
      made.elements.indices.push_back(std::move(taken));
    }
    for (size_t k = 0; k < around_.size(); ++k)
      if (!is_used[k])
        loads *= static_cast<double>(around_[k].count.value_or(1));
    made.elements.is_exact = is_product;
    if (is_product && loads < times)
      made.times = loads;
    return made;
  }

  /// How many iterations give each index within the extent, of those loops that the index follows;
  /// nothing where it is no sum of loops, or follows one that another dimension does.
  std::optional<std::vector<double>> values_of(const Expr& index, int64_t extent,
                                               std::vector<bool>& is_used) const {
    const auto sum = scalar::affine_sum(fixed(index));
    int64_t least = sum.constant;
    std::vector<std::pair<int64_t, int64_t>> terms; // step, count
    int64_t span = 1;
    for (const auto& [term, factor] : sum.terms) {
      const auto* iter = as<scalar::Iter>(term);
      if (iter == nullptr || iter->index >= around_.size() || is_used[iter->index] ||
          !around_[iter->index].count)
        return std::nullopt;
      is_used[iter->index] = true;
      const Around& loop = around_[iter->index];
      const int64_t step = factor * loop.step, last = step * (*loop.count - 1);
      least += factor * loop.first + std::min<int64_t>(0, last);
      terms.emplace_back(std::abs(step), *loop.count);
      span += std::abs(last);
    }
    if (span > kMostValues)
      return std::nullopt;
    std::vector<double> times{1};
    for (const auto& [step, count] : terms) {
      std::vector<double> next(times.size() + static_cast<size_t>(step * (count - 1)), 0);
      for (size_t at = 0; at < times.size(); ++at)
        for (int64_t k = 0; times[at] != 0 && k < count; ++k)
          next[at + static_cast<size_t>(k * step)] += times[at];
      times = std::move(next);
    }
    std::vector<double> inside(static_cast<size_t>(extent), 0);
    for (size_t k = 0; k < times.size(); ++k) {
      const int64_t at = least + static_cast<int64_t>(k);
      if (at >= 0 && at < extent)
        inside[static_cast<size_t>(at)] = times[k];
    }
    return inside;
  }

  Expr fixed(const Expr& e) const {
    return scalar::simplify(scalar::substitute_params(e, params_));
  }
  std::optional<int64_t> number(const Expr& e) const { return scalar::constant_of(fixed(e)); }

  const Program& program_;
  const estimate::Work& work_;
  std::vector<Expr> params_;
  std::vector<Around> around_;
  int choices_ = 0;                                     ///< conditions around
  std::vector<std::vector<Reference>> stored_, loaded_; ///< by tensor
  std::vector<bool> is_summed_;
};

} // namespace

Result<Characteristics, Diagnostic> characteristics(const Program& program,
                                                    std::span<const int64_t> sizes) {
  KAWARA_TRY(const estimate::Work work, estimate::count(program, sizes));
  return Characteriser(program, sizes, work).made();
}

Overlap overlap_of(double first, double second, double shared) {
  const auto share = [&](double of) { return of > 0 ? shared / of : 0; };
  return {shared, share(first), share(second), share(first + second - shared)};
}

} // namespace kawara::explain
