#include "kernel/interpret/edge_sizes.h"

#include "kernel/walk.h"
#include "scalar/eval.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

/// What a bound is made of, also through variables.
struct BoundParts {
  std::set<uint32_t> params;
  std::set<int64_t> constants;
  void add(const BoundParts& other) {
    params.insert(other.params.begin(), other.params.end());
    constants.insert(other.constants.begin(), other.constants.end());
  }
};

class TileFinder {
public:
  explicit TileFinder(const Kernel& kernel) : tiles(kernel.params.size()) {
    visit(kernel.body, [&](const OneOf<For, If, Define, Launch> auto& stmt) { look(stmt); });
  }
  std::vector<std::set<int64_t>> tiles; ///< by parameter

private:
  BoundParts parts_of(const Expr& e) const {
    BoundParts parts;
    scalar::visit(e, [&](const Expr& node) {
      if (const auto* p = scalar::as<scalar::Param>(node))
        parts.params.insert(p->index);
      else if (const auto n = scalar::constant_of(node); n && *n > 1)
        parts.constants.insert(*n);
      else if (const auto* v = scalar::as<scalar::Var>(node))
        if (const auto known = variables_.find(v->id); known != variables_.end())
          parts.add(known->second);
    });
    return parts;
  }
  void note(const BoundParts& parts) {
    for (const uint32_t p : parts.params)
      tiles[p].insert(parts.constants.begin(), parts.constants.end());
  }

  void look(const For& s) {
    BoundParts parts = parts_of(s.lo);
    parts.add(parts_of(s.hi));
    // What runs inside sees the parameters through this variable; its constants are noted here.
    variables_[s.var] = {parts.params, {}};
    for (const int64_t own : {s.step, s.marks.vector_width, s.marks.unroll, s.marks.threads})
      if (own > 1)
        parts.constants.insert(own);
    visit_exprs(s.body, [&](const Expr& e) { parts.constants.insert(e.type().lanes); });
    parts.constants.erase(1);
    note(parts);
  }
  void look(const If& s) { note(parts_of(s.cond)); }
  void look(const Define& s) {
    if (s.value.type() == scalar::kIndex)
      variables_[s.var] = parts_of(s.value);
  }
  void look(const Launch& s) {
    for (size_t a = 0; a < 3; ++a) {
      BoundParts parts = parts_of(s.blocks[a]);
      variables_[s.block_vars[a]] = {parts.params, {}};
      note(parts);
    }
  }

  std::map<uint32_t, BoundParts> variables_;
};

/// The value that an assumption fixes a parameter at.
std::optional<int64_t> fixed_value(const program::Program& program, uint32_t param) {
  for (const Expr& e : program.assumptions)
    if (const auto* equal = scalar::as<scalar::Binary>(e);
        equal != nullptr && equal->op == scalar::BinaryOp::Eq)
      for (const auto& [one, other] : {std::pair(equal->lhs, equal->rhs), {equal->rhs, equal->lhs}})
        if (const auto* p = scalar::as<scalar::Param>(one); p != nullptr && p->index == param)
          return scalar::constant_of(other);
  return std::nullopt;
}

std::vector<int64_t> values_at_edges(const std::set<int64_t>& tiles, int64_t largest) {
  std::set<int64_t> values = {0, 1};
  for (const int64_t t : tiles)
    if (t <= largest)
      values.insert({t - 1, t, t + 1, 2 * t + 1});
  if (values.size() == 2)
    values.insert({2, 3, 5});
  return {values.begin(), values.end()};
}

bool is_assumed(const program::Program& program, const std::vector<int64_t>& params) {
  return std::all_of(program.assumptions.begin(), program.assumptions.end(), [&](const Expr& e) {
    return scalar::evaluate_index(e, {}, params).value_or(0) != 0;
  });
}

} // namespace

std::vector<std::vector<int64_t>> edge_sizes(const program::Program& program, const Kernel& kernel,
                                             int64_t largest_tile) {
  const TileFinder found(kernel);
  const size_t count = program.params.size();
  std::vector<std::vector<int64_t>> values, small;
  for (uint32_t p = 0; p < count; ++p) {
    const auto fixed = fixed_value(program, p);
    values.push_back(fixed ? std::vector{*fixed} : values_at_edges(found.tiles[p], largest_tile));
    // Up to 2t + 1 of the smallest tile, without 0: that one empties everything.
    constexpr size_t kOfOneTile = 6;
    small.emplace_back(values[p].begin() + (values[p].front() == 0 ? 1 : 0),
                       values[p].begin() +
                           static_cast<std::ptrdiff_t>(std::min(kOfOneTile, values[p].size())));
  }
  std::set<std::vector<int64_t>> chosen;
  const auto offer = [&](std::vector<int64_t> params) {
    if (is_assumed(program, params))
      chosen.insert(std::move(params));
  };
  for (size_t p = 0; p < count; ++p)
    for (size_t v = 0; v < values[p].size(); ++v)
      for (size_t turn = 0; turn < 2; ++turn) {
        std::vector<int64_t> params(count);
        for (size_t other = 0; other < count; ++other)
          params[other] = small[other][(v + (turn + 1) * (other + 1) + p) % small[other].size()];
        params[p] = values[p][v];
        offer(std::move(params));
      }
  size_t most = 0;
  for (const auto& own : values)
    most = std::max(most, own.size());
  for (size_t v = 0; v < most; ++v) // 0, 1, t - 1, ... of all together, and of all but one
    for (size_t kept = 0; kept <= count; ++kept) {
      std::vector<int64_t> params;
      for (size_t p = 0; p < count; ++p)
        params.push_back(p == kept ? small[p][v % small[p].size()]
                                   : values[p][std::min(v, values[p].size() - 1)]);
      offer(std::move(params));
    }
  // Whole tiles in several directions at once: pairs, and all.
  constexpr size_t kFromEnd = 3; // t, t + 1, 2t + 1 of the largest tile are the last three
  const auto large = [&](size_t p, size_t from_end) {
    return values[p][values[p].size() - std::min(from_end, values[p].size())];
  };
  for (size_t edge = 1; edge <= kFromEnd; ++edge)
    for (size_t one = 0; one < count; ++one)
      for (size_t other = one; other < count; ++other)
        for (const size_t turn : {0, 1}) {
          std::vector<int64_t> params;
          for (size_t p = 0; p < count; ++p)
            params.push_back(p == one || p == other ? large(p, edge)
                                                    : small[p][turn % small[p].size()]);
          offer(std::move(params));
        }
  for (size_t edge = 1; edge <= kFromEnd; ++edge) {
    std::vector<int64_t> params;
    for (size_t p = 0; p < count; ++p)
      params.push_back(large(p, edge));
    offer(std::move(params));
  }
  std::vector<std::vector<int64_t>> sizes(chosen.begin(), chosen.end());
  const auto cost = [](const std::vector<int64_t>& params) {
    double product = 1;
    for (const int64_t n : params)
      product *= static_cast<double>(n) + 1;
    return product;
  };
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  std::set<std::pair<size_t, int64_t>> met;
  std::vector<std::vector<int64_t>> ordered, later;
  for (std::vector<int64_t>& params : sizes) {
    bool is_new = false;
    for (size_t p = 0; p < params.size(); ++p)
      is_new = met.emplace(p, params[p]).second || is_new;
    (is_new || count == 0 ? ordered : later).push_back(std::move(params));
  }
  std::move(later.begin(), later.end(), std::back_inserter(ordered));
  return ordered;
}

} // namespace kawara::kernel
