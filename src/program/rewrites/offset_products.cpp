#include "program/rewrites/offset_products.h"

#include "program/contraction.h"
#include "program/rewrites/find_convolution.h"
#include "program/text/resolver.h"

#include <algorithm>
#include <set>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::Elem;
using scalar::int_lit;

constexpr int64_t kOffset = 128;
constexpr int64_t kWorthSums = 64;
constexpr scalar::Type kI32{Elem::I32, 1};

/// Statements below a node and the loops around each; false through an `if`.
bool collect_paths(const BodyNode& node, std::vector<const Loop*>& path,
                   std::vector<std::pair<uint32_t, std::vector<const Loop*>>>& found) {
  if (const auto* ref = std::get_if<StatementRef>(&node)) {
    found.emplace_back(ref->statement, path);
    return true;
  }
  const auto* loop = std::get_if<Loop>(&node);
  if (loop == nullptr)
    return false;
  path.push_back(loop);
  const bool is_plain =
      std::all_of(loop->body.begin(), loop->body.end(),
                  [&](const BodyNode& child) { return collect_paths(child, path, found); });
  path.pop_back();
  return is_plain;
}

std::set<uint32_t> iterators_of(const std::vector<Expr>& index) {
  std::set<uint32_t> found;
  for (const Expr& e : index)
    scalar::visit(e, [&](const Expr& node) {
      if (const auto* it = as<scalar::Iter>(node))
        found.insert(it->index);
    });
  return found;
}

const scalar::Load* load_of_i8(const Program& program, const Expr& operand) {
  const auto* cast = as<scalar::Cast>(operand);
  const auto* load = cast != nullptr ? as<scalar::Load>(cast->arg) : nullptr;
  return load != nullptr && program.tensors[load->tensor].elem == Elem::I8 ? load : nullptr;
}

/// A sum that can be rewritten.
struct OffsetProduct {
  size_t root = 0;
  uint32_t begin = 0, update = 0; ///< statements
  std::vector<const Loop*> loops; ///< around the update
  bool moves_left = true;         ///< which operand gets the offset
  std::vector<uint32_t> kept;     ///< iterators of the result that move the other operand
  std::vector<uint32_t> summed;   ///< and those it is added up over
};

class OffsetFinder {
public:
  OffsetFinder(const Program& program, size_t root, int64_t most_uses)
      : program_(program), most_uses_(most_uses) {
    found_.root = root;
  }

  std::optional<OffsetProduct> run() {
    std::vector<const Loop*> path;
    std::vector<std::pair<uint32_t, std::vector<const Loop*>>> inside;
    if (!collect_paths(program_.body[found_.root], path, inside) || inside.size() != 2)
      return std::nullopt;
    found_.begin = inside[0].first;
    found_.update = inside[1].first;
    found_.loops = inside[1].second;
    if (!is_sum_from_zero() || !has_known_lengths() || !choose_operand())
      return std::nullopt;
    return found_;
  }

private:
  const Statement& update() const { return program_.statements[found_.update]; }

  bool is_sum_from_zero() const {
    const Statement& begin = program_.statements[found_.begin];
    return program_.tensors[update().tensor].elem == Elem::I32 && update().op == ReduceOp::Sum &&
           begin.op == ReduceOp::None && begin.tensor == update().tensor &&
           scalar::constant_of(begin.value) == 0 &&
           std::equal(begin.index.begin(), begin.index.end(), update().index.begin(),
                      update().index.end(), scalar::equal);
  }

  bool has_known_lengths() const {
    return std::all_of(found_.loops.begin(), found_.loops.end(),
                       [](const Loop* loop) { return length_of(*loop).has_value(); });
  }

  /// Iterators of the result are loops of their own; all others move the operand that stays.
  bool choose_operand() {
    const auto product = contraction_of(update());
    if (!product)
      return false;
    const scalar::Load* left = load_of_i8(program_, product->left);
    const scalar::Load* right = load_of_i8(program_, product->right);
    if (left == nullptr || right == nullptr || left->tensor == right->tensor)
      return false;
    const auto is_constant = [&](const scalar::Load* load) {
      return program_.tensors[load->tensor].is_constant;
    };
    found_.moves_left = is_constant(right) || !is_constant(left);
    const scalar::Load* stays = found_.moves_left ? right : left;
    const std::set<uint32_t> of_result = iterators_of(update().index);
    const std::set<uint32_t> of_stays = iterators_of(stays->index);
    int64_t uses = 1;
    for (uint32_t it = 0; it < found_.loops.size(); ++it) {
      const bool moves = of_stays.contains(it);
      if (of_result.contains(it)) {
        if (moves)
          found_.kept.push_back(it);
        else
          uses *= *length_of(*found_.loops[it]);
      } else if (moves)
        found_.summed.push_back(it);
      else
        return false;
    }
    return !found_.summed.empty() && (is_constant(stays) || uses >= kWorthSums) &&
           uses <= most_uses_ && begins_in_order();
  }

  /// The statement that begins elements knows the iterators of the result by the same numbers.
  bool begins_in_order() const {
    const Statement& begin = program_.statements[found_.begin];
    return std::all_of(found_.kept.begin(), found_.kept.end(), [&](uint32_t it) {
      return it < begin.iters.size() && begin.iters[it] == update().iters[it];
    });
  }

  const Program& program_;
  int64_t most_uses_;
  OffsetProduct found_;
};

class OffsetRewriter {
public:
  OffsetRewriter(const Program& program, OffsetProduct product)
      : program_(program), product_(std::move(product)),
        text_(program.statements[product_.update]) {}

  Program run() {
    const auto* binary = as<scalar::Binary>(text_.value);
    const Expr& moved = product_.moves_left ? binary->lhs : binary->rhs;
    const Expr& stays = product_.moves_left ? binary->rhs : binary->lhs;
    const uint32_t sums = sums_of(stays);
    const Expr offset = copied(moved, Elem::U8, kOffset);
    // A copy, so that the product is the only reader: it may then be packed for it alone.
    const Expr other = copied(stays, Elem::I8, 0);
    program_.statements[product_.update].value =
        product_.moves_left ? offset * other : other * offset;
    std::vector<Expr> element;
    for (const uint32_t it : product_.kept)
      element.push_back(scalar::iter(it));
    program_.statements[product_.begin].value =
        scalar::load(sums, element, kI32) * int_lit(-kOffset, kI32);
    program_.body.insert(program_.body.begin() + static_cast<std::ptrdiff_t>(product_.root),
                         added_.begin(), added_.end());
    number_statements(program_);
    return std::move(program_);
  }

private:
  struct Dim {
    std::string name;
    Expr length;
  };

  uint32_t add_tensor(const std::string& name, Elem elem, std::vector<Expr> shape) {
    Tensor tensor;
    tensor.name = name + "_offset";
    while (std::any_of(program_.tensors.begin(), program_.tensors.end(),
                       [&](const Tensor& other) { return other.name == tensor.name; }))
      tensor.name += "_";
    tensor.elem = elem;
    tensor.shape = std::move(shape);
    tensor.is_hidden = true;
    tensor.where = text_.where;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(program_.tensors.size() - 1);
  }

  void add_nest(const std::vector<Dim>& dims, uint32_t tensor, std::vector<Expr> index, ReduceOp op,
                Expr value) {
    Statement text;
    for (const Dim& dim : dims)
      text.iters.push_back(dim.name);
    text.tensor = tensor;
    text.index = std::move(index);
    text.op = op;
    text.value = std::move(value);
    text.where = text_.where;
    program_.statements.push_back(std::move(text));
    Body inside;
    inside.emplace_back(StatementRef{static_cast<uint32_t>(program_.statements.size() - 1)});
    for (size_t d = dims.size(); d-- > 0;) {
      Loop loop;
      loop.name = dims[d].name;
      loop.lo = int_lit(0);
      loop.hi = dims[d].length;
      loop.where = text_.where;
      loop.body = std::exchange(inside, {});
      inside.emplace_back(std::move(loop));
    }
    added_.push_back(std::move(inside.front()));
  }

  /// The operand as a load of a copy of its tensor.
  Expr copied(const Expr& operand, Elem elem, int64_t offset) {
    const Expr& element = as<scalar::Cast>(operand)->arg;
    const uint32_t copy = copy_of(element, elem, offset);
    return scalar::cast(scalar::load(copy, as<scalar::Load>(element)->index, {elem, 1}), kI32);
  }

  uint32_t copy_of(const Expr& element, Elem elem, int64_t offset) {
    const uint32_t source = as<scalar::Load>(element)->tensor;
    const Tensor& tensor = program_.tensors[source];
    std::vector<Dim> dims;
    std::vector<Expr> at;
    for (const Expr& extent : tensor.shape) {
      at.push_back(scalar::iter(static_cast<uint32_t>(dims.size())));
      dims.push_back({"d" + std::to_string(dims.size()), extent});
    }
    const std::vector<Expr> shape = tensor.shape;
    const bool is_constant = tensor.is_constant;
    const uint32_t copy = add_tensor(tensor.name, elem, shape);
    program_.tensors[copy].is_constant = is_constant;
    const Expr value = scalar::cast(scalar::load(source, at, element.type()), kI32);
    add_nest(dims, copy, at, ReduceOp::None, offset != 0 ? value + int_lit(offset, kI32) : value);
    return copy;
  }

  uint32_t sums_of(const Expr& stays) {
    std::vector<Dim> dims;
    std::vector<Expr> shape, element, places(product_.loops.size(), int_lit(0));
    const auto add = [&](uint32_t it) {
      places[it] = scalar::iter(static_cast<uint32_t>(dims.size()));
      dims.push_back({product_.loops[it]->name, int_lit(*length_of(*product_.loops[it]))});
    };
    for (const uint32_t it : product_.kept) {
      add(it);
      shape.push_back(dims.back().length);
      element.push_back(places[it]);
    }
    const uint32_t sums = add_tensor(program_.tensors[text_.tensor].name, Elem::I32, shape);
    add_nest(dims, sums, element, ReduceOp::None, int_lit(0, kI32));
    for (const uint32_t it : product_.summed)
      add(it);
    add_nest(dims, sums, element, ReduceOp::Sum, scalar::substitute_iters(stays, places));
    return sums;
  }

  Program program_;
  OffsetProduct product_;
  const Statement text_;
  Body added_;
};

} // namespace

std::optional<Program> with_offset_products(const Program& program, int64_t most_uses) {
  for (size_t root = 0; root < program.body.size(); ++root)
    if (auto product = OffsetFinder(program, root, most_uses).run())
      return OffsetRewriter(program, *std::move(product)).run();
  return std::nullopt;
}

} // namespace kawara::program
