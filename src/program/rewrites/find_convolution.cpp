#include "program/rewrites/find_convolution.h"

#include "program/contraction.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace kawara::program {

using scalar::as;
using scalar::BinaryOp;

const scalar::Load* factor_of(const Expr& factor) {
  const auto* cast = as<scalar::Cast>(factor);
  return as<scalar::Load>(cast != nullptr ? cast->arg : factor);
}

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

  Result<Convolution, NoConvolution> run() {
    if (!is_product() || !has_loops() || !is_f32() || !has_window() || !has_sizes() ||
        !has_roles() || !is_alone())
      return fail(miss_);
    found_.begin = beginning();
    return found_;
  }

private:
  const Statement& text() const { return program_.statements[found_.statement]; }
  std::string name(uint32_t it) const { return "`" + found_.loops[it]->name + "`"; }
  std::string element(const scalar::Load& load) const {
    scalar::Names names = names_of(program_);
    names.iters = text().iters;
    return "`" +
           scalar::to_string(
               scalar::load(load.tensor, load.index, {program_.tensors[load.tensor].elem, 1}),
               names) +
           "`";
  }

  bool miss(int stage, std::string why, std::string instead) {
    miss_ = {stage, text().where, text().name + " " + std::move(why), std::move(instead)};
    return false;
  }

  bool is_product() {
    const auto product = contraction_of(text());
    if (!product)
      return miss(1, "adds up no products.",
                  "Write the convolution as one sum of products, and what follows it (a bias, an "
                  "activation) as statements of their own.");
    a_ = factor_of(product->left);
    b_ = factor_of(product->right);
    if (a_ == nullptr || b_ == nullptr || a_->tensor == b_->tensor || a_->tensor == text().tensor ||
        b_->tensor == text().tensor)
      return miss(2,
                  "multiplies something else than an element of an image by an element of weights.",
                  "Put what is done to the image or the weights into a temp first.");
    found_.result = text().tensor;
    return true;
  }

  bool has_loops() {
    return find_path(program_.body, found_.statement, found_.loops) ||
           miss(3, "stands below a condition.",
                "Pad the image into a temp, in loops of their own, so that the sum needs none.");
  }

  bool is_f32() {
    const auto name_and_type = [&](uint32_t t) {
      return "`" + program_.tensors[t].name + "` in " +
             std::string(scalar::name_of(program_.tensors[t].elem));
    };
    if (program_.tensors[found_.result].elem != scalar::Elem::F32)
      return miss(3,
                  "adds up " + name_and_type(found_.result) +
                      "; how far transforms round is known for f32.",
                  "Add up in a temp of f32, or keep the direct sum (`--winograd 1`).");
    for (const uint32_t t : {a_->tensor, b_->tensor})
      if (const scalar::Elem elem = program_.tensors[t].elem;
          !scalar::is_float(elem) || !scalar::holds_all_of(scalar::Elem::F32, elem))
        return miss(3, "takes " + name_and_type(t) + "; how far transforms round is known for f32.",
                    "Convert it to a temp of f32, or keep the direct sum (`--winograd 1`).");
    return true;
  }

  /// The others of its outermost loop only begin elements of the result, from nothing.
  bool is_alone() {
    const auto* root = std::get_if<Loop>(&program_.body[found_.root]);
    std::set<uint32_t> below;
    bool has_condition = false;
    collect_statements(root->body, below, has_condition);
    if (has_condition)
      return miss(9, "stands beside or below a condition in its outermost loop.",
                  "Pad the image into a temp, in loops of their own, so that the sum needs none.");
    for (const uint32_t s : below) {
      const Statement& other = program_.statements[s];
      if (s != found_.statement && !(other.tensor == found_.result && other.op == ReduceOp::None &&
                                     as<scalar::FloatLit>(other.value) != nullptr))
        return miss(9, "shares its outermost loop with " + other.name + ".",
                    "Give " + other.name + " loops of its own.");
    }
    return true;
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

  /// Dimensions of a load that are no loops.
  static std::vector<size_t> sums_in(const scalar::Load& load) {
    std::vector<size_t> found;
    for (size_t d = 0; d < load.index.size(); ++d)
      if (!single_iterator(load.index[d]))
        found.push_back(d);
    return found;
  }

  static bool stands_in(const std::vector<Expr>& index, uint32_t it) {
    return std::any_of(index.begin(), index.end(),
                       [&](const Expr& e) { return single_iterator(e) == it; });
  }

  /// The loop of the result and that of the weights whose sum an index of the image is.
  std::optional<std::pair<uint32_t, uint32_t>> window_at(size_t dim) const {
    auto pair = pair_of_iterators(a_->index[dim]);
    if (pair && !stands_in(text().index, pair->first))
      std::swap(pair->first, pair->second);
    return pair && stands_in(text().index, pair->first) && stands_in(b_->index, pair->second)
               ? pair
               : std::nullopt;
  }

  /// `a_` as the image, `b_` as the weights, once it is known which is which.
  bool has_window() {
    if (sums_in(*a_).empty())
      std::swap(a_, b_);
    const std::vector<size_t> sums = sums_in(*a_);
    if (sums.size() != 2 || !sums_in(*b_).empty())
      return miss(4, "moves no window over two dimensions of an image.",
                  "Winograd's form is for an image that is read at `y + r` and `x + s`; keep the "
                  "direct sum.");
    const auto rows = window_at(sums[0]), columns = window_at(sums[1]);
    if (!rows || !columns)
      return miss(5, "reads " + element(*a_) + ", which is no window with stride 1.",
                  "Rows and columns of the image must be a loop of the result plus one of the "
                  "weights, without factors; keep the direct sum for strides and dilation.");
    std::tie(found_.y, found_.r) = *rows;
    std::tie(found_.x, found_.s) = *columns;
    found_.image_rows = sums[0];
    found_.image_columns = sums[1];
    found_.image = a_->tensor;
    found_.weights = b_->tensor;
    return true;
  }

  bool has_sizes() {
    for (uint32_t it = 0; it < found_.loops.size(); ++it)
      if (!length_of(*found_.loops[it]))
        return miss(6, "has a loop " + name(it) + " whose length is not a number, or not from 0.",
                    "Give all sizes with `-p`; tiles are counted out in advance.");
    const auto length = [&](uint32_t it) { return *length_of(*found_.loops[it]); };
    if (length(found_.r) != 3 || length(found_.s) != 3)
      return miss(7,
                  "has windows of " + std::to_string(length(found_.r)) + " x " +
                      std::to_string(length(found_.s)) + ".",
                  "There are transforms for windows of 3 x 3; keep the direct sum.");
    found_.height = length(found_.y);
    found_.width = length(found_.x);
    return true;
  }

  /// The loops that indices are; those of the window left out. Nothing where one is twice or none.
  std::optional<std::set<uint32_t>> iterators(const std::vector<Expr>& index, bool is_image) const {
    std::set<uint32_t> found;
    for (size_t d = 0; d < index.size(); ++d) {
      if (is_image && (d == found_.image_rows || d == found_.image_columns))
        continue;
      const auto it = single_iterator(index[d]);
      if (!it || !found.insert(*it).second)
        return std::nullopt;
    }
    return found;
  }

  bool has_roles() {
    const auto of_result = iterators(text().index, false);
    const auto of_image = iterators(a_->index, true);
    const auto of_weights = iterators(b_->index, false);
    if (!of_result || !of_image || !of_weights)
      return miss(5, "has an element of which an index is no loop, or the same loop as another.",
                  "Give each dimension a loop of its own.");
    std::vector<uint32_t> channels;
    for (uint32_t it = 0; it < found_.loops.size(); ++it) {
      if (it == found_.y || it == found_.x || it == found_.r || it == found_.s)
        continue;
      const bool image = of_image->contains(it), weights = of_weights->contains(it);
      const bool is_result = of_result->contains(it);
      if (is_result && image && weights)
        return miss(
            8, "is grouped: " + name(it) + " moves the image, the weights and the result.",
            "Each group would be transformed for its own filters alone, which gains little; "
            "keep the direct sum, or write each group as a convolution of its own.");
      if (is_result != (image != weights))
        return miss(8,
                    "has a loop " + name(it) + " that is neither of images, filters nor channels.",
                    "Take it out of the convolution.");
      if (is_result)
        (image ? found_.of_image : found_.of_weights).push_back(it);
      else
        channels.push_back(it);
    }
    if (channels.size() != 1 || found_.of_weights.empty())
      return miss(8,
                  channels.empty()            ? "adds up no channels."
                  : found_.of_weights.empty() ? "has no filters: no loop moves the weights alone."
                                              : "adds up channels by several loops.",
                  "Transforms pay for themselves when each tile is used for many filters and adds "
                  "up one loop of channels; keep the direct sum.");
    found_.c = channels.front();
    set_image_order();
    return true;
  }

  void set_image_order() {
    const auto add = [&](uint32_t it) {
      for (size_t d = 0; d < a_->index.size(); ++d)
        if (single_iterator(a_->index[d]) == it)
          found_.image_order.push_back(d);
    };
    for (const uint32_t it : found_.of_image)
      add(it);
    found_.image_order.push_back(found_.image_rows);
    found_.image_order.push_back(found_.image_columns);
    add(found_.c);
  }

  const Program& program_;
  const scalar::Load *a_ = nullptr, *b_ = nullptr;
  Convolution found_;
  NoConvolution miss_;
};

} // namespace

Result<Convolution, NoConvolution> find_convolution(const Program& program) {
  NoConvolution nearest{0, {}, "The program has no loops.", "Write a convolution."};
  for (size_t root = 0; root < program.body.size(); ++root) {
    std::set<uint32_t> below;
    bool has_condition = false;
    if (!std::holds_alternative<Loop>(program.body[root]))
      continue;
    collect_statements({program.body[root]}, below, has_condition);
    for (const uint32_t statement : below) {
      auto found = ConvolutionFinder(program, root, statement).run();
      if (found)
        return found;
      if (found.error().stage > nearest.stage)
        nearest = std::move(found).error();
    }
  }
  return fail(std::move(nearest));
}

} // namespace kawara::program
