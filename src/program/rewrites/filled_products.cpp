#include "program/rewrites/filled_products.h"

#include "program/contraction.h"
#include "program/rewrites/find_convolution.h"
#include "program/text/resolver.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Elem;
using scalar::int_lit;

constexpr scalar::Type kF32{Elem::F32, 1};

/// The loops around the statements of a nest, one inside the other; nothing where there is more
/// beside them.
struct PlainNest {
  uint32_t begin = 0, update = 0; ///< statements
  std::vector<const Loop*> loops; ///< around the update; those around `begin` are the first of them
};

/// `for i: for j: { begin; for k: update }`, or both in nests of their own within the outermost
/// loops.
std::optional<PlainNest> plain_nest(const BodyNode& root) {
  PlainNest nest;
  bool has_begun = false;
  const BodyNode* node = &root;
  while (const auto* loop = std::get_if<Loop>(node)) {
    nest.loops.push_back(loop);
    if (loop->body.size() == 2 && !has_begun) {
      const auto* first = std::get_if<StatementRef>(&loop->body.front());
      if (first == nullptr)
        return std::nullopt;
      nest.begin = first->statement;
      has_begun = true;
    } else if (loop->body.size() != 1)
      return std::nullopt;
    node = &loop->body.back();
  }
  const auto* last = std::get_if<StatementRef>(node);
  if (last == nullptr || !has_begun)
    return std::nullopt;
  nest.update = last->statement;
  return nest;
}

/// By dimension, the loop that an access moves along; empty when it is anything else.
std::vector<uint32_t> loops_of(const std::vector<Expr>& index) {
  std::vector<uint32_t> found;
  for (const Expr& e : index) {
    const auto* it = as<scalar::Iter>(e);
    if (it == nullptr || std::count(found.begin(), found.end(), it->index) > 0)
      return {};
    found.push_back(it->index);
  }
  return found;
}

class FilledRewriter {
public:
  FilledRewriter(const Program& program, size_t root, PlainNest nest, FillUnits units)
      : program_(program), root_(root), nest_(std::move(nest)), units_(units),
        text_(program.statements[nest_.update]) {}

  bool can_run() {
    const Statement& begin = program_.statements[nest_.begin];
    const auto product = contraction_of(text_);
    if (program_.numerics == Numerics::Exact || !product || begin.op != ReduceOp::None ||
        begin.tensor != text_.tensor || program_.tensors[text_.tensor].elem != Elem::F32 ||
        !is_zero(begin.value) ||
        !std::equal(begin.index.begin(), begin.index.end(), text_.index.begin(), text_.index.end(),
                    scalar::equal))
      return false;
    left_ = as<scalar::Load>(product->left);
    right_ = as<scalar::Load>(product->right);
    if (left_ == nullptr || right_ == nullptr || product->left.type() != kF32 ||
        product->right.type() != kF32 || left_->tensor == right_->tensor ||
        left_->tensor == text_.tensor || right_->tensor == text_.tensor)
      return false;
    return has_plain_indices() && choose_lengths();
  }

  Program run() {
    const uint32_t left = filled(*left_), right = filled(*right_);
    const uint32_t result = grown_result();
    Statement& update = program_.statements[nest_.update];
    update.value =
        scalar::load(left, left_->index, kF32) * scalar::load(right, right_->index, kF32);
    update.tensor = result;
    program_.statements[nest_.begin].tensor = result;
    BodyNode* node = &program_.body[root_];
    for (size_t n = 0; n < lengths_.size(); ++n) {
      auto& loop = std::get<Loop>(*node);
      loop.hi = int_lit(lengths_[n]);
      node = &loop.body.back();
    }
    const auto at = program_.body.begin() + static_cast<std::ptrdiff_t>(root_);
    program_.body.insert(at + 1, after_.begin(), after_.end());
    program_.body.insert(program_.body.begin() + static_cast<std::ptrdiff_t>(root_),
                         before_.begin(), before_.end());
    number_statements(program_);
    return std::move(program_);
  }

private:
  static bool is_zero(const Expr& e) {
    const auto* literal = as<scalar::FloatLit>(e);
    return literal != nullptr && literal->value == 0;
  }

  bool has_plain_indices() {
    in_left_ = loops_of(left_->index);
    in_right_ = loops_of(right_->index);
    in_result_ = loops_of(text_.index);
    return in_left_.size() >= 2 && in_right_.size() >= 2 && in_result_.size() >= 2;
  }

  static bool has(const std::vector<uint32_t>& loops, uint32_t loop) {
    return std::count(loops.begin(), loops.end(), loop) > 0;
  }

  /// Rows and lanes move one operand each; the reduction moves both and no result; batches move
  /// all.
  bool choose_lengths() {
    size_t rows = 0, lanes = 0, depths = 0;
    bool grows = false;
    for (uint32_t n = 0; n < nest_.loops.size(); ++n) {
      const auto length = length_of(*nest_.loops[n]);
      if (!length)
        return false;
      const bool l = has(in_left_, n), r = has(in_right_, n), c = has(in_result_, n);
      if (!l && !r)
        return false;
      int64_t unit = 1;
      if (c && l != r) {
        (l ? rows : lanes) += 1;
        unit = units_.result;
      } else if (!c) {
        if (!l || !r)
          return false;
        ++depths;
        unit = units_.reduction;
      }
      if (unit > 1 && *length < units_.result)
        return false;
      lengths_.push_back((*length + unit - 1) / unit * unit);
      grows = grows || lengths_.back() != *length;
    }
    return rows == 1 && lanes == 1 && depths == 1 && grows && covers_tensors();
  }

  /// Loops run over all elements, so that what is behind their ends is behind the tensors'.
  bool covers_tensors() const {
    const auto covers = [&](uint32_t tensor, const std::vector<uint32_t>& loops) {
      const Tensor& t = program_.tensors[tensor];
      for (size_t d = 0; d < loops.size(); ++d)
        if (scalar::constant_of(t.shape[d]) != length_of(*nest_.loops[loops[d]]))
          return false;
      return true;
    };
    return covers(left_->tensor, in_left_) && covers(right_->tensor, in_right_) &&
           covers(text_.tensor, in_result_);
  }

  uint32_t add_tensor(const std::string& name, const std::vector<uint32_t>& loops) {
    Tensor tensor;
    tensor.name = name + "_filled";
    while (std::any_of(program_.tensors.begin(), program_.tensors.end(),
                       [&](const Tensor& other) { return other.name == tensor.name; }))
      tensor.name += "_";
    tensor.elem = Elem::F32;
    for (const uint32_t loop : loops)
      tensor.shape.push_back(int_lit(lengths_[loop]));
    tensor.is_hidden = true;
    tensor.where = text_.where;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(program_.tensors.size() - 1);
  }

  BodyNode nest_of(const std::vector<std::string>& names, const std::vector<int64_t>& lengths,
                   uint32_t tensor, std::vector<Expr> index, Expr value) {
    Statement text;
    text.iters = names;
    text.tensor = tensor;
    text.index = std::move(index);
    text.value = std::move(value);
    text.where = text_.where;
    program_.statements.push_back(std::move(text));
    BodyNode inside = StatementRef{static_cast<uint32_t>(program_.statements.size() - 1)};
    for (size_t d = names.size(); d-- > 0;) {
      Loop loop;
      loop.name = names[d];
      loop.lo = int_lit(0);
      loop.hi = int_lit(lengths[d]);
      loop.where = text_.where;
      loop.body.push_back(std::move(inside));
      inside = std::move(loop);
    }
    return inside;
  }

  /// The operand's own tensor where it is whole; else a copy.
  uint32_t filled(const scalar::Load& operand) {
    const std::vector<uint32_t> loops = loops_of(operand.index);
    std::vector<std::string> names;
    std::vector<int64_t> lengths;
    std::vector<Expr> element, inside;
    Expr is_there;
    for (size_t d = 0; d < loops.size(); ++d) {
      const Expr at = scalar::iter(static_cast<uint32_t>(d));
      const int64_t own = *length_of(*nest_.loops[loops[d]]);
      names.push_back("d" + std::to_string(d));
      lengths.push_back(lengths_[loops[d]]);
      element.push_back(at);
      inside.push_back(own == lengths.back() ? at : binary(BinaryOp::Min, at, int_lit(own - 1)));
      if (own == lengths.back())
        continue;
      const Expr one = binary(BinaryOp::Lt, at, int_lit(own));
      is_there = is_there ? binary(BinaryOp::And, is_there, one) : one;
    }
    if (!is_there)
      return operand.tensor;
    const uint32_t copy = add_tensor(program_.tensors[operand.tensor].name, loops);
    program_.tensors[copy].is_constant = program_.tensors[operand.tensor].is_constant;
    const Expr value = scalar::load(operand.tensor, inside, kF32);
    before_.push_back(nest_of(names, lengths, copy, element,
                              scalar::select(is_there, value, scalar::zero_of(kF32))));
    return copy;
  }

  uint32_t grown_result() {
    Tensor& own = program_.tensors[text_.tensor];
    if (own.role == Role::Temp) {
      for (size_t d = 0; d < own.shape.size(); ++d)
        own.shape[d] = int_lit(lengths_[in_result_[d]]);
      return text_.tensor;
    }
    const uint32_t grown = add_tensor(own.name, in_result_);
    std::vector<std::string> names;
    std::vector<int64_t> lengths;
    std::vector<Expr> element;
    for (size_t d = 0; d < in_result_.size(); ++d) {
      const Loop& loop = *nest_.loops[in_result_[d]];
      names.push_back(loop.name);
      lengths.push_back(*length_of(loop));
      element.push_back(scalar::iter(static_cast<uint32_t>(d)));
    }
    after_.push_back(
        nest_of(names, lengths, text_.tensor, element, scalar::load(grown, element, kF32)));
    return grown;
  }

  Program program_;
  size_t root_;
  PlainNest nest_;
  FillUnits units_;
  const Statement text_;
  const scalar::Load* left_ = nullptr;
  const scalar::Load* right_ = nullptr;
  std::vector<uint32_t> in_left_, in_right_, in_result_;
  std::vector<int64_t> lengths_; ///< by loop
  Body before_, after_;
};

} // namespace

std::optional<Program> with_filled_products(const Program& program, const FillUnits& units) {
  for (size_t root = 0; root < program.body.size(); ++root)
    if (auto nest = plain_nest(program.body[root])) {
      FilledRewriter rewriter(program, root, *std::move(nest), units);
      if (rewriter.can_run())
        return rewriter.run();
    }
  return std::nullopt;
}

} // namespace kawara::program
