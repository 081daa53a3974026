#include "program/find_convolution.h"

#include "scalar/affine_sum.h"

#include <algorithm>
#include <set>

namespace kawara::program {

using scalar::as;
using scalar::BinaryOp;

std::optional<uint32_t> single_iterator(const Expr& e) {
  const auto* it = as<scalar::Iter>(scalar::simplify(e));
  return it != nullptr ? std::optional(it->index) : std::nullopt;
}

std::optional<int64_t> length_of(const Loop& loop) {
  const auto lo = scalar::constant_of(scalar::simplify(loop.lo));
  const auto hi = scalar::constant_of(scalar::simplify(loop.hi));
  return lo == 0 && hi && loop.step == 1 && *hi > 0 ? hi : std::nullopt;
}

namespace {

/// The two iterators of `a + b`; nothing for anything else.
std::optional<std::pair<uint32_t, uint32_t>> pair_of_iterators(const Expr& e) {
  const scalar::AffineSum sum = scalar::affine_sum(e);
  if (sum.terms.size() != 2 || sum.constant != 0 || sum.terms[0].second != 1 ||
      sum.terms[1].second != 1)
    return std::nullopt;
  const auto a = single_iterator(sum.terms[0].first), b = single_iterator(sum.terms[1].first);
  return a && b ? std::optional(std::pair(*a, *b)) : std::nullopt;
}

/// Finds the leaf of a statement; `path` are the loops around it. False through an `if`.
bool find_path(const Body& body, uint32_t statement, std::vector<const Loop*>& path) {
  for (const BodyNode& node : body) {
    if (const auto* ref = std::get_if<StatementRef>(&node); ref && ref->statement == statement)
      return true;
    const auto* loop = std::get_if<Loop>(&node);
    if (loop == nullptr)
      continue;
    path.push_back(loop);
    if (find_path(loop->body, statement, path))
      return true;
    path.pop_back();
  }
  return false;
}

void collect_statements(const Body& body, std::set<uint32_t>& found, bool& has_condition) {
  for (const BodyNode& node : body) {
    if (const auto* ref = std::get_if<StatementRef>(&node))
      found.insert(ref->statement);
    else if (const auto* loop = std::get_if<Loop>(&node))
      collect_statements(loop->body, found, has_condition);
    else
      has_condition = true;
  }
}

class ConvolutionFinder {
public:
  ConvolutionFinder(const Program& program, size_t root, uint32_t statement) : program_(program) {
    found_.root = root;
    found_.statement = statement;
  }

  std::optional<Convolution> run() {
    if (!is_product() || !find_path(program_.body, found_.statement, found_.loops) || !is_alone() ||
        !(has_window() || has_window_turned()) || !has_roles())
      return std::nullopt;
    found_.begin = beginning();
    return found_;
  }

private:
  const Statement& text() const { return program_.statements[found_.statement]; }

  bool is_product() {
    const auto* product = as<scalar::Binary>(text().value);
    if (text().op != ReduceOp::Sum || product == nullptr || product->op != BinaryOp::Mul)
      return false;
    a_ = as<scalar::Load>(product->lhs);
    b_ = as<scalar::Load>(product->rhs);
    if (a_ == nullptr || b_ == nullptr || a_->tensor == b_->tensor || a_->tensor == text().tensor ||
        b_->tensor == text().tensor)
      return false;
    const auto is_f32 = [&](uint32_t t) {
      return program_.tensors[t].elem == scalar::Elem::F32 && program_.tensors[t].shape.size() >= 3;
    };
    found_.result = text().tensor;
    return is_f32(a_->tensor) && is_f32(b_->tensor) && is_f32(found_.result);
  }

  /// The others of its outermost loop only begin cells of the result, from nothing.
  bool is_alone() const {
    const auto* root = std::get_if<Loop>(&program_.body[found_.root]);
    std::set<uint32_t> below;
    bool has_condition = false;
    if (root == nullptr)
      return false;
    collect_statements(root->body, below, has_condition);
    return !has_condition && below.contains(found_.statement) &&
           std::all_of(below.begin(), below.end(), [&](uint32_t s) {
             const Statement& other = program_.statements[s];
             return s == found_.statement ||
                    (other.tensor == found_.result && other.op == ReduceOp::None &&
                     as<scalar::FloatLit>(other.value) != nullptr);
           });
  }

  /// It stands in all loops that move the result and in no other.
  std::optional<uint32_t> beginning() const {
    const size_t depth = text().index.size();
    for (uint32_t it = 0; it < depth; ++it)
      if (it == found_.c || it == found_.r || it == found_.s)
        return std::nullopt;
    for (const BodyNode& node : found_.loops[depth - 1]->body) {
      const auto* ref = std::get_if<StatementRef>(&node);
      const auto* loop = std::get_if<Loop>(&node);
      if (ref != nullptr && begins(program_.statements[ref->statement]))
        return ref->statement;
      if (loop == found_.loops[depth])
        break;
    }
    return std::nullopt;
  }

  bool begins(const Statement& other) const {
    const auto* value = as<scalar::FloatLit>(other.value);
    return other.tensor == found_.result && other.op == ReduceOp::None && value != nullptr &&
           value->value == 0 &&
           std::equal(other.index.begin(), other.index.end(), text().index.begin(),
                      text().index.end(), scalar::equal);
  }

  bool has_window_turned() {
    std::swap(a_, b_);
    return has_window();
  }

  /// `a_` as the image, `b_` as the weights.
  bool has_window() {
    const size_t n = text().index.size(), na = a_->index.size(), nb = b_->index.size();
    const auto y = single_iterator(text().index[n - 2]), x = single_iterator(text().index[n - 1]);
    const auto r = single_iterator(b_->index[nb - 2]), s = single_iterator(b_->index[nb - 1]);
    const auto rows = pair_of_iterators(a_->index[na - 2]);
    const auto columns = pair_of_iterators(a_->index[na - 1]);
    if (!y || !x || !r || !s || !rows || !columns)
      return false;
    const auto is_sum = [](const auto& pair, uint32_t p, uint32_t q) {
      return pair == std::pair(p, q) || pair == std::pair(q, p);
    };
    if (!is_sum(*rows, *y, *r) || !is_sum(*columns, *x, *s))
      return false;
    found_.y = *y, found_.x = *x, found_.r = *r, found_.s = *s;
    found_.image = a_->tensor;
    found_.weights = b_->tensor;
    const auto length = [&](uint32_t it) { return length_of(*found_.loops[it]).value_or(0); };
    found_.height = length(*y);
    found_.width = length(*x);
    return found_.height > 0 && found_.width > 0 && length(*r) == 3 && length(*s) == 3;
  }

  static std::optional<std::set<uint32_t>> iterators(const std::vector<Expr>& index, size_t count) {
    std::set<uint32_t> found;
    for (size_t d = 0; d < count; ++d) {
      const auto it = single_iterator(index[d]);
      if (!it || !found.insert(*it).second)
        return std::nullopt;
    }
    return found;
  }

  bool has_roles() {
    const auto of_result = iterators(text().index, text().index.size());
    const auto of_image = iterators(a_->index, a_->index.size() - 2);
    const auto of_weights = iterators(b_->index, b_->index.size());
    if (!of_result || !of_image || !of_weights)
      return false;
    std::optional<uint32_t> channel;
    for (uint32_t it = 0; it < found_.loops.size(); ++it) {
      if (it == found_.y || it == found_.x || it == found_.r || it == found_.s)
        continue;
      const bool image = of_image->contains(it), weights = of_weights->contains(it);
      const bool is_result = of_result->contains(it);
      if (!length_of(*found_.loops[it]) || (is_result && image == weights))
        return false;
      if (is_result)
        (image ? found_.of_image : found_.of_weights).push_back(it);
      else if (!image || !weights || channel)
        return false;
      else
        channel = it;
    }
    found_.c = channel.value_or(0);
    return channel.has_value();
  }

  const Program& program_;
  const scalar::Load *a_ = nullptr, *b_ = nullptr;
  Convolution found_;
};

} // namespace

std::optional<Convolution> find_convolution(const Program& program) {
  for (size_t root = 0; root < program.body.size(); ++root) {
    std::set<uint32_t> below;
    bool has_condition = false;
    collect_statements({program.body[root]}, below, has_condition);
    for (const uint32_t statement : below)
      if (auto found = ConvolutionFinder(program, root, statement).run())
        return found;
  }
  return std::nullopt;
}

} // namespace kawara::program
