#include "program/fusion/nests.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace kawara::program::fusion {
namespace {

void rewrite_loads(Program& program, const std::function<Expr(const Expr&)>& f) {
  for (Statement& s : program.statements)
    s.value = scalar::rewrite(s.value, f);
}

/// Extents whose products make up one dimension; absent for dimensions that stay.
using Cuts = std::map<std::pair<uint32_t, size_t>, Extents>; ///< by tensor and dimension

/// Cuts loops, and with them all dimensions that they walk along.
class Cutter {
public:
  explicit Cutter(const Program& program) : program_(program) {
    for (const BodyNode& node : program.body)
      nests_.push_back(*plain_nest(node));
    iter_cuts_.resize(nests_.size());
  }

  /// False when some index is more than an iterator.
  bool cut(uint32_t tensor, size_t dim, const Extents& parts) {
    const auto [at, is_new] = cuts_.emplace(std::pair{tensor, dim}, parts);
    if (!is_new)
      return at->second == parts;
    if (extents_of(program_.tensors[tensor])[dim] != product_of(parts))
      return false;
    for (size_t n = 0; n < nests_.size(); ++n) {
      const Statement& s = program_.statements[nests_[n].statement];
      bool is_fine = s.tensor != tensor || cut_iter(n, s.index[dim], parts);
      scalar::visit(s.value, [&](const Expr& e) {
        const auto* load = scalar::as<scalar::Load>(e);
        if (load && load->tensor == tensor)
          is_fine = is_fine && cut_iter(n, load->index[dim], parts);
      });
      if (!is_fine)
        return false;
    }
    return true;
  }

  Program done() const {
    Program out = program_;
    for (uint32_t t = 0; t < out.tensors.size(); ++t) {
      Extents shape;
      const Extents old = extents_of(program_.tensors[t]);
      for (size_t d = 0; d < old.size(); ++d)
        if (const auto at = cuts_.find({t, d}); at != cuts_.end())
          shape.insert(shape.end(), at->second.begin(), at->second.end());
        else
          shape.push_back(old[d]);
      out.tensors[t].shape = shape_of(shape);
    }
    out.body.clear();
    for (size_t n = 0; n < nests_.size(); ++n)
      out.body.push_back(rebuilt(n, out.statements[nests_[n].statement]));
    return out;
  }

private:
  bool cut_iter(size_t nest, const Expr& index, const Extents& parts) {
    const auto iter = bare_iter(index);
    if (!iter || nests_[nest].extents[*iter] != product_of(parts))
      return false;
    const auto [at, is_new] = iter_cuts_[nest].emplace(*iter, parts);
    if (!is_new)
      return at->second == parts;
    const Statement& s = program_.statements[nests_[nest].statement];
    bool is_fine = cut_accesses(s.tensor, s.index, *iter, parts) && !uses_outside(s.value, *iter);
    scalar::visit(s.value, [&](const Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e); load && is_fine)
        is_fine = cut_accesses(load->tensor, load->index, *iter, parts);
    });
    return is_fine;
  }

  bool cut_accesses(uint32_t tensor, const std::vector<Expr>& index, uint32_t iter,
                    const Extents& parts) {
    for (size_t d = 0; d < index.size(); ++d) {
      if (bare_iter(index[d]) == iter) {
        if (!cut(tensor, d, parts))
          return false;
      } else if (mentions(index[d], iter)) {
        return false;
      }
    }
    return true;
  }

  static int64_t product_of(const Extents& parts) {
    return std::accumulate(parts.begin(), parts.end(), int64_t{1}, std::multiplies<>());
  }

  static bool mentions(const Expr& e, uint32_t iter) {
    bool found = false;
    scalar::visit(e, [&](const Expr& x) {
      const auto* at = scalar::as<scalar::Iter>(x);
      found = found || (at && at->index == iter);
    });
    return found;
  }

  /// Is the iterator a value somewhere, not only an index?
  static bool uses_outside(const Expr& e, uint32_t iter) {
    if (scalar::as<scalar::Load>(e))
      return false;
    if (const auto* at = scalar::as<scalar::Iter>(e))
      return at->index == iter;
    const auto parts = scalar::children(e);
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Expr& part) { return uses_outside(part, iter); });
  }

  BodyNode rebuilt(size_t n, Statement& s) const {
    const auto& cuts = iter_cuts_[n];
    PlainNest nest{nests_[n].statement, {}};
    std::vector<std::vector<Expr>> parts; // of each old iterator
    for (uint32_t i = 0; i < nests_[n].extents.size(); ++i) {
      const auto at = cuts.find(i);
      const Extents extents = at == cuts.end() ? Extents{nests_[n].extents[i]} : at->second;
      parts.emplace_back();
      for (const int64_t extent : extents) {
        parts.back().push_back(scalar::iter(static_cast<uint32_t>(nest.extents.size())));
        nest.extents.push_back(extent);
      }
    }
    s.index = cut_index(s.tensor, s.index, parts);
    s.value = cut_value(s.value, parts);
    s.iters.clear();
    for (size_t k = 0; k < nest.extents.size(); ++k)
      s.iters.push_back("i" + std::to_string(k));
    return body_of(nest, s.iters);
  }

  std::vector<Expr> cut_index(uint32_t tensor, const std::vector<Expr>& index,
                              const std::vector<std::vector<Expr>>& parts) const {
    std::vector<Expr> firsts, out;
    for (const auto& each : parts)
      firsts.push_back(each.front());
    for (size_t d = 0; d < index.size(); ++d) {
      if (cuts_.count({tensor, d}) == 0) {
        out.push_back(scalar::substitute_iters(index[d], firsts));
        continue;
      }
      const auto& elements = parts[*bare_iter(index[d])];
      out.insert(out.end(), elements.begin(), elements.end());
    }
    return out;
  }

  Expr cut_value(const Expr& e, const std::vector<std::vector<Expr>>& parts) const {
    if (const auto* load = scalar::as<scalar::Load>(e))
      return scalar::load(load->tensor, cut_index(load->tensor, load->index, parts), e.type());
    if (const auto* at = scalar::as<scalar::Iter>(e))
      return parts[at->index].front();
    std::vector<Expr> inner = scalar::children(e);
    for (Expr& each : inner)
      each = cut_value(each, parts);
    return inner.empty() ? e : scalar::with_children(e, std::move(inner));
  }

  const Program& program_;
  std::vector<PlainNest> nests_;
  Cuts cuts_;
  std::vector<std::map<uint32_t, Extents>> iter_cuts_; ///< by nest
};

} // namespace

std::optional<PlainNest> plain_nest(const BodyNode& node) {
  PlainNest nest;
  const BodyNode* at = &node;
  while (const auto* loop = std::get_if<Loop>(at)) {
    const auto extent = scalar::constant_of(loop->hi);
    if (loop->step != 1 || scalar::constant_of(loop->lo) != 0 || !extent || loop->body.size() != 1)
      return std::nullopt;
    nest.extents.push_back(*extent);
    at = &loop->body.front();
  }
  const auto* ref = std::get_if<StatementRef>(at);
  if (!ref)
    return std::nullopt;
  nest.statement = ref->statement;
  return nest;
}

BodyNode body_of(const PlainNest& nest, const std::vector<std::string>& names) {
  BodyNode node = StatementRef{nest.statement};
  for (size_t k = nest.extents.size(); k-- > 0;) {
    Body inner;
    inner.push_back(std::move(node));
    node = Loop{names[k], scalar::int_lit(0), scalar::int_lit(nest.extents[k]), 1,
                {},       std::move(inner)};
  }
  return node;
}

Extents extents_of(const Tensor& tensor) {
  Extents extents;
  for (const Expr& e : tensor.shape)
    extents.push_back(scalar::constant_of(e).value_or(0));
  return extents;
}

std::vector<Expr> shape_of(const Extents& extents) {
  std::vector<Expr> shape;
  for (const int64_t extent : extents)
    shape.push_back(scalar::int_lit(extent));
  return shape;
}

std::optional<uint32_t> bare_iter(const Expr& e) {
  const auto* at = scalar::as<scalar::Iter>(e);
  return at ? std::optional(at->index) : std::nullopt;
}

bool is_map(const Program& program, const PlainNest& nest) {
  const Statement& s = program.statements[nest.statement];
  if (s.op != ReduceOp::None || extents_of(program.tensors[s.tensor]) != nest.extents ||
      s.index.size() != nest.extents.size())
    return false;
  for (uint32_t d = 0; d < s.index.size(); ++d)
    if (bare_iter(s.index[d]) != d)
      return false;
  return true;
}

bool is_map(const Program& program) {
  return std::all_of(program.body.begin(), program.body.end(), [&](const BodyNode& node) {
    const auto nest = plain_nest(node);
    return nest && is_map(program, *nest);
  });
}

Program without_unit_dims(Program program) {
  std::vector<std::vector<bool>> stays(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    std::vector<Expr> shape;
    for (const Expr& extent : program.tensors[t].shape) {
      stays[t].push_back(scalar::constant_of(extent) != 1);
      if (stays[t].back())
        shape.push_back(extent);
    }
    program.tensors[t].shape = std::move(shape);
  }
  const auto kept = [&](uint32_t tensor, const std::vector<Expr>& index) {
    std::vector<Expr> out;
    for (size_t d = 0; d < index.size(); ++d)
      if (stays[tensor][d])
        out.push_back(index[d]);
    return out;
  };
  rewrite_loads(program, [&](const Expr& e) -> Expr {
    const auto* load = scalar::as<scalar::Load>(e);
    return load ? scalar::load(load->tensor, kept(load->tensor, load->index), e.type()) : Expr{};
  });
  for (Statement& s : program.statements)
    s.index = kept(s.tensor, s.index);
  // Plain nests lose their loops of one iteration; elsewhere they do no harm.
  for (BodyNode& node : program.body) {
    const auto nest = plain_nest(node);
    if (!nest || std::count(nest->extents.begin(), nest->extents.end(), 1) == 0)
      continue;
    Statement& s = program.statements[nest->statement];
    PlainNest left{nest->statement, {}};
    std::vector<std::string> names;
    std::vector<Expr> iters;
    for (size_t k = 0; k < nest->extents.size(); ++k) {
      if (nest->extents[k] == 1) {
        iters.push_back(scalar::int_lit(0));
        continue;
      }
      iters.push_back(scalar::iter(static_cast<uint32_t>(names.size())));
      names.push_back(s.iters[k]);
      left.extents.push_back(nest->extents[k]);
    }
    for (Expr& e : s.index)
      e = scalar::substitute_iters(e, iters);
    s.value = scalar::substitute_iters(s.value, iters);
    s.iters = names;
    node = body_of(left, names);
  }
  return program;
}

std::optional<Extents> common_refinement(const Extents& a, const Extents& b) {
  const auto is_empty = [](const Extents& shape) {
    return std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent <= 0; });
  };
  if (is_empty(a) || is_empty(b))
    return a == b ? std::optional(a) : std::nullopt;
  // Products of the leading extents; the last of them is the number of elements.
  std::set<int64_t> of_a{1}, of_b{1};
  for (const int64_t extent : a)
    of_a.insert(*of_a.rbegin() * extent);
  for (const int64_t extent : b)
    of_b.insert(*of_b.rbegin() * extent);
  if (*of_a.rbegin() != *of_b.rbegin())
    return std::nullopt;
  of_a.merge(of_b);
  Extents out;
  for (auto end = std::next(of_a.begin()); end != of_a.end(); ++end) {
    const int64_t before = *std::prev(end);
    if (*end % before != 0)
      return std::nullopt;
    out.push_back(*end / before);
  }
  return out;
}

std::optional<Program> refined(const Program& program, uint32_t tensor, const Extents& shape) {
  if (!is_map(program))
    return std::nullopt;
  Cutter cutter(program);
  size_t at = 0;
  const Extents old = extents_of(program.tensors[tensor]);
  for (size_t d = 0; d < old.size(); ++d) {
    Extents parts;
    for (int64_t elements = 1; elements < old[d] && at < shape.size(); elements *= shape[at++])
      parts.push_back(shape[at]);
    if (parts.size() > 1 && !cutter.cut(tensor, d, parts))
      return std::nullopt;
  }
  Program out = cutter.done();
  return extents_of(out.tensors[tensor]) == shape ? std::optional(std::move(out)) : std::nullopt;
}

} // namespace kawara::program::fusion
