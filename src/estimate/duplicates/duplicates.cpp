#include "estimate/duplicates/duplicates.h"

#include "estimate/boxes.h"
#include "scalar/affine_sum.h"
#include "scalar/loads.h"

#include <algorithm>

namespace kawara::estimate {
namespace {

using program::Statement;
using scalar::as;
using scalar::Expr;

struct LoopValues {
  std::string name;
  int64_t first = 0, step = 1, count = 0; ///< 0: not known
};

class Finder {
public:
  Finder(const program::Program& program, std::span<const int64_t> sizes)
      : program_(program), sizes_(sizes) {
    for (const int64_t size : sizes)
      params_.push_back(scalar::int_lit(size));
  }
  std::vector<Duplicates> find() {
    look(program_.body);
    return std::move(found_);
  }

private:
  void look(const program::Body& body) {
    for (const program::BodyNode& node : body)
      std::visit([&](const auto& n) { one(n); }, node);
  }
  void one(const program::Loop& loop) {
    const auto lo = number(loop.lo), hi = number(loop.hi);
    LoopValues values{loop.name, lo.value_or(0), loop.step, 0};
    if (lo && hi)
      values.count =
          std::max<int64_t>(0, (*hi - *lo + loop.step - (loop.step > 0 ? 1 : -1)) / loop.step);
    around_.push_back(values);
    look(loop.body);
    around_.pop_back();
  }
  void one(const program::If& choice) {
    look(choice.then);
    look(choice.otherwise);
  }
  void one(const program::StatementRef& ref) {
    const Statement& s = program_.statements[ref.statement];
    if (program::depends_on_data(s))
      return;
    for (const scalar::Load* load : scalar::loads_in(s.value))
      if (auto window = window_of(*load, s))
        if (is_new(s, load->tensor))
          found_.push_back(
              {s.name, program_.tensors[load->tensor].name, *window, loads_of(*window)});
  }
  bool is_new(const Statement& s, uint32_t tensor) const {
    return std::none_of(found_.begin(), found_.end(), [&](const Duplicates& other) {
      return other.statement == s.name && other.tensor == program_.tensors[tensor].name;
    });
  }

  std::optional<Window> window_of(const scalar::Load& load, const Statement& s) const {
    Window made;
    std::vector<std::optional<size_t>> number_of(around_.size());
    bool is_window = false;
    std::vector<std::vector<std::pair<size_t, int64_t>>> loops;
    for (size_t d = 0; d < load.index.size(); ++d) {
      WindowDimension dimension;
      const auto extent = number(program_.tensors[load.tensor].shape[d]);
      const auto sum = scalar::affine_sum(fixed(load.index[d]));
      dimension.extent = extent.value_or(0);
      dimension.constant = sum.constant;
      loops.emplace_back();
      for (const auto& [term, factor] : sum.terms) {
        const auto* iter = as<scalar::Iter>(term);
        if (iter == nullptr || iter->index >= around_.size() || number_of[iter->index] ||
            around_[iter->index].count == 0)
          return std::nullopt;
        number_of[iter->index] = 0;
        loops.back().emplace_back(iter->index, factor);
      }
      is_window = is_window || loops.back().size() > 1;
      made.dimensions.push_back(dimension);
    }
    if (!is_window)
      return std::nullopt;
    for (size_t depth = 0; depth < around_.size(); ++depth)
      if (number_of[depth]) {
        number_of[depth] = made.iterators.size();
        made.iterators.push_back(
            {around_[depth].name, around_[depth].count, is_in_result(s, depth)});
      }
    for (size_t d = 0; d < loops.size(); ++d)
      for (const auto& [depth, factor] : loops[d])
        add_term(made.dimensions[d], around_[depth], *number_of[depth], factor);
    return made;
  }
  /// `factor` times a loop that counts from 0 on, in steps above 0.
  static void add_term(WindowDimension& dimension, const LoopValues& loop, size_t iterator,
                       int64_t factor) {
    const int64_t step = factor * loop.step;
    dimension.constant += factor * loop.first;
    if (step < 0)
      dimension.constant += step * (loop.count - 1);
    dimension.terms.emplace_back(iterator, std::abs(step));
  }
  static bool is_in_result(const Statement& s, size_t depth) {
    bool is_found = false;
    for (const Expr& index : s.index)
      scalar::visit(index, [&](const Expr& e) {
        const auto* iter = as<scalar::Iter>(e);
        is_found = is_found || (iter != nullptr && iter->index == depth);
      });
    return is_found;
  }

  Expr fixed(const Expr& e) const {
    return scalar::simplify(scalar::substitute_params(e, params_));
  }
  std::optional<int64_t> number(const Expr& e) const { return scalar::constant_of(fixed(e)); }

  const program::Program& program_;
  std::span<const int64_t> sizes_;
  std::vector<Expr> params_;
  std::vector<LoopValues> around_;
  std::vector<Duplicates> found_;
};

} // namespace

std::vector<Duplicates> duplicates(const program::Program& program,
                                   std::span<const int64_t> sizes) {
  return Finder(program, sizes).find();
}

} // namespace kawara::estimate
