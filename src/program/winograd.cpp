#include "program/winograd.h"

#include "program/find_convolution.h"
#include "program/resolver.h"
#include "program/winograd_matrices.h"

#include <algorithm>
#include <cmath>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr scalar::Type kF32{scalar::Elem::F32, 1};

class WinogradRewriter {
public:
  WinogradRewriter(const Program& program, const Convolution& conv, int64_t m,
                   WinogradMatrices matrices)
      : program_(program), conv_(conv), text_(program.statements[conv.statement]), m_(m), t_(m + 2),
        down_((conv.height + m - 1) / m), across_((conv.width + m - 1) / m),
        matrices_(std::move(matrices)) {}

  Program run() {
    image_ = conv_.height % m_ == 0 && conv_.width % m_ == 0 ? conv_.image : padded_image();
    u_ = add_tensor("_windows", {t(), t()}, conv_.of_weights, {conv_.c}, {});
    v_ = add_tensor("_tiles", {t(), t()}, {conv_.c}, conv_.of_image, {tiles()});
    p_ = add_tensor("_products", {t(), t()}, conv_.of_weights, conv_.of_image, {tiles()});
    for (int64_t a = 0; a < t_; ++a)
      for (int64_t b = 0; b < t_; ++b)
        transform_window(a, b);
    for (int64_t a = 0; a < t_; ++a)
      for (int64_t b = 0; b < t_; ++b)
        transform_tile(a, b);
    multiply();
    for (int64_t y = 0; y < m_; ++y)
      for (int64_t x = 0; x < m_; ++x)
        transform_back(y, x);
    return finished();
  }

private:
  using Iterators = std::vector<uint32_t>;
  Expr t() const { return int_lit(t_); }
  Expr tiles() const { return int_lit(down_ * across_); }
  Expr length(uint32_t it) const { return int_lit(*length_of(*conv_.loops[it])); }
  const std::vector<Expr>& image_index() const { return load_of(conv_.image).index; }
  const std::vector<Expr>& weights_index() const { return load_of(conv_.weights).index; }
  const scalar::Load& load_of(uint32_t tensor) const {
    const auto* product = as<scalar::Binary>(text_.value);
    const auto* lhs = as<scalar::Load>(product->lhs);
    return lhs->tensor == tensor ? *lhs : *as<scalar::Load>(product->rhs);
  }

  uint32_t add_tensor(const std::string& suffix, std::vector<Expr> shape, const Iterators& first,
                      const Iterators& second, const std::vector<Expr>& last) {
    Tensor tensor;
    tensor.name = program_.tensors[conv_.result].name + suffix;
    while (std::any_of(program_.tensors.begin(), program_.tensors.end(),
                       [&](const Tensor& other) { return other.name == tensor.name; }))
      tensor.name += "_";
    for (const Iterators* list : {&first, &second})
      for (const uint32_t it : *list)
        shape.push_back(length(it));
    shape.insert(shape.end(), last.begin(), last.end());
    tensor.shape = std::move(shape);
    tensor.is_hidden = true;
    tensor.where = text_.where;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(program_.tensors.size() - 1);
  }

  /// One nest: loops over these lengths, and inside them what `make` gives for the loops' values.
  struct Dim {
    std::string name;
    Expr length;
  };
  using Dims = std::vector<Dim>;
  struct Made {
    uint32_t tensor;
    std::vector<Expr> index;
    ReduceOp op;
    Expr value;
    Expr condition = Expr(); ///< none: always
  };

  Dims dims_of(std::initializer_list<const Iterators*> lists) const {
    Dims dims;
    for (const Iterators* list : lists)
      for (const uint32_t it : *list)
        dims.push_back({conv_.loops[it]->name, length(it)});
    return dims;
  }

  BodyNode statement(const Dims& dims, Made made) {
    Statement text;
    for (const Dim& dim : dims)
      text.iters.push_back(dim.name);
    text.tensor = made.tensor;
    text.index = std::move(made.index);
    text.op = made.op;
    text.value = std::move(made.value);
    text.where = text_.where;
    program_.statements.push_back(std::move(text));
    BodyNode leaf = StatementRef{static_cast<uint32_t>(program_.statements.size() - 1)};
    if (!made.condition)
      return leaf;
    If branch;
    branch.cond = std::move(made.condition);
    branch.where = text_.where;
    branch.then.push_back(std::move(leaf));
    return branch;
  }

  BodyNode around(const Dims& dims, size_t from, Body inside) const {
    for (size_t d = dims.size(); d-- > from;) {
      Loop loop;
      loop.name = dims[d].name;
      loop.lo = int_lit(0);
      loop.hi = dims[d].length;
      loop.where = text_.where;
      loop.body = std::move(inside);
      inside.clear();
      inside.emplace_back(std::move(loop));
    }
    return std::move(inside.front());
  }

  void add_nest(const Dims& dims, Made made) {
    Body inside;
    inside.push_back(statement(dims, std::move(made)));
    added_.push_back(around(dims, 0, std::move(inside)));
  }

  static std::vector<Expr> iters(size_t from, size_t count) {
    std::vector<Expr> list;
    for (size_t k = 0; k < count; ++k)
      list.push_back(scalar::iter(static_cast<uint32_t>(from + k)));
    return list;
  }

  static void append(std::vector<Expr>& to, const std::vector<Expr>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  /// Sum of factor * term over the terms whose factor is not zero.
  static Expr weighted(const std::vector<std::pair<double, Expr>>& terms) {
    Expr sum;
    for (const auto& [factor, term] : terms) {
      const Expr scaled =
          std::abs(factor) == 1 ? term : scalar::float_lit(std::abs(factor), kF32) * term;
      sum = !sum ? (factor < 0 ? scalar::unary(scalar::UnaryOp::Neg, scaled) : scaled)
                 : scalar::binary(factor < 0 ? BinaryOp::Sub : BinaryOp::Add, sum, scaled);
    }
    return sum ? sum : scalar::float_lit(0, kF32);
  }

  /// Sum over i, j of left[a][i] * right[b][j] * cell(i, j).
  template <class Cell>
  static Expr transformed(const Matrix& matrix, int64_t a, int64_t b, const Cell& cell) {
    std::vector<std::pair<double, Expr>> terms;
    const auto& left = matrix[static_cast<size_t>(a)];
    const auto& right = matrix[static_cast<size_t>(b)];
    for (size_t i = 0; i < left.size(); ++i)
      for (size_t j = 0; j < right.size(); ++j)
        if (left[i] * right[j] != 0)
          terms.emplace_back(left[i] * right[j],
                             cell(static_cast<int64_t>(i), static_cast<int64_t>(j)));
    return weighted(terms);
  }

  /// An index of the source with its iterators in other places; the last two are `row` and `column`.
  static std::vector<Expr> moved(std::vector<Expr> index, const std::vector<Expr>& places,
                                 const Expr& row, const Expr& column) {
    for (Expr& e : index)
      if (const auto it = single_iterator(e))
        e = places[*it];
    index[index.size() - 2] = row;
    index[index.size() - 1] = column;
    return index;
  }

  /// Where the loops of a nest over these iterators of the source stand in it.
  std::vector<Expr> places(std::initializer_list<const Iterators*> lists) const {
    std::vector<Expr> found(conv_.loops.size(), int_lit(0));
    uint32_t at = 0;
    for (const Iterators* list : lists)
      for (const uint32_t it : *list)
        found[it] = scalar::iter(at++);
    return found;
  }

  /// A copy of the image, filled up with zeros to whole tiles.
  uint32_t padded_image() {
    const std::vector<Expr>& shape = program_.tensors[conv_.image].shape;
    Dims whole, part;
    for (size_t d = 0; d + 2 < shape.size(); ++d)
      whole.push_back({"d" + std::to_string(d), shape[d]});
    part = whole;
    whole.push_back({"y", int_lit(down_ * m_ + 2)});
    whole.push_back({"x", int_lit(across_ * m_ + 2)});
    part.push_back({"y", int_lit(conv_.height + 2)});
    part.push_back({"x", int_lit(conv_.width + 2)});
    std::vector<Expr> lengths;
    for (const Dim& dim : whole)
      lengths.push_back(dim.length);
    const uint32_t padded = add_tensor("_image", lengths, {}, {}, {});
    const std::vector<Expr> cell = iters(0, whole.size());
    add_nest(whole, {padded, cell, ReduceOp::None, scalar::float_lit(0, kF32)});
    add_nest(part, {padded, cell, ReduceOp::None, scalar::load(conv_.image, cell, kF32)});
    return padded;
  }

  void transform_window(int64_t a, int64_t b) {
    const Iterators channel{conv_.c};
    const Dims dims = dims_of({&conv_.of_weights, &channel});
    const std::vector<Expr> at = places({&conv_.of_weights, &channel});
    std::vector<Expr> index{int_lit(a), int_lit(b)};
    append(index, iters(0, dims.size()));
    add_nest(dims, {u_, index, ReduceOp::None,
                    transformed(matrices_.window, a, b, [&](int64_t r, int64_t s) {
                      return scalar::load(conv_.weights,
                                          moved(weights_index(), at, int_lit(r), int_lit(s)), kF32);
                    })});
  }

  void transform_tile(int64_t a, int64_t b) {
    const Iterators channel{conv_.c};
    Dims dims = dims_of({&channel, &conv_.of_image});
    const std::vector<Expr> at = places({&channel, &conv_.of_image});
    const auto corner = corner_of(scalar::iter(static_cast<uint32_t>(dims.size())));
    dims.push_back({"p", tiles()});
    std::vector<Expr> index{int_lit(a), int_lit(b)};
    append(index, iters(0, dims.size()));
    add_nest(dims, {v_, index, ReduceOp::None,
                    transformed(matrices_.image, a, b, [&](int64_t i, int64_t j) {
                      return scalar::load(image_,
                                          moved(image_index(), at, corner.first + int_lit(i),
                                                corner.second + int_lit(j)),
                                          kF32);
                    })});
  }

  /// First row and column of a tile.
  std::pair<Expr, Expr> corner_of(const Expr& tile) const {
    return {scalar::binary(BinaryOp::FloorDiv, tile, int_lit(across_)) * int_lit(m_),
            scalar::binary(BinaryOp::Mod, tile, int_lit(across_)) * int_lit(m_)};
  }

  void multiply() {
    Dims dims{{"a", t()}, {"b", t()}};
    for (const Dim& dim : dims_of({&conv_.of_weights, &conv_.of_image}))
      dims.push_back(dim);
    dims.push_back({"p", tiles()});
    const size_t result = dims.size(), nk = conv_.of_weights.size(), ni = conv_.of_image.size();
    const std::vector<Expr> cell = iters(0, result);
    const Expr channel = scalar::iter(static_cast<uint32_t>(result));
    Body inside;
    inside.push_back(statement(dims, {p_, cell, ReduceOp::None, scalar::float_lit(0, kF32)}));
    Dims deeper = dims;
    deeper.push_back({conv_.loops[conv_.c]->name, length(conv_.c)});
    std::vector<Expr> u = iters(0, 2), v = iters(0, 2);
    append(u, iters(2, nk));
    u.push_back(channel);
    v.push_back(channel);
    append(v, iters(2 + nk, ni + 1));
    Body update;
    update.push_back(statement(
        deeper, {p_, cell, ReduceOp::Sum, scalar::load(u_, u, kF32) * scalar::load(v_, v, kF32)}));
    inside.push_back(around(deeper, result, std::move(update)));
    added_.push_back(around(dims, 0, std::move(inside)));
  }

  void transform_back(int64_t y, int64_t x) {
    Dims dims = dims_of({&conv_.of_weights, &conv_.of_image});
    const std::vector<Expr> at = places({&conv_.of_weights, &conv_.of_image});
    const auto [row, column] = corner_of(scalar::iter(static_cast<uint32_t>(dims.size())));
    dims.push_back({"p", tiles()});
    const std::vector<Expr> rest = iters(0, dims.size());
    const Expr value = transformed(matrices_.result, y, x, [&](int64_t a, int64_t b) {
      std::vector<Expr> index{int_lit(a), int_lit(b)};
      append(index, rest);
      return scalar::load(p_, index, kF32);
    });
    const Expr to_y = row + int_lit(y), to_x = column + int_lit(x);
    Made made{conv_.result, moved(text_.index, at, to_y, to_x), ReduceOp::Sum, value};
    if (image_ != conv_.image)
      made.condition =
          scalar::binary(BinaryOp::And, scalar::binary(BinaryOp::Lt, to_y, int_lit(conv_.height)),
                         scalar::binary(BinaryOp::Lt, to_x, int_lit(conv_.width)));
    add_nest(dims, std::move(made));
  }

  static Body without(const Body& body, uint32_t statement) {
    Body kept;
    for (const BodyNode& node : body) {
      if (const auto* ref = std::get_if<StatementRef>(&node); ref && ref->statement == statement)
        continue;
      if (const auto* loop = std::get_if<Loop>(&node)) {
        Loop copy = *loop;
        copy.body = without(loop->body, statement);
        if (!copy.body.empty())
          kept.emplace_back(std::move(copy));
      } else
        kept.push_back(node);
    }
    return kept;
  }

  Program finished() {
    Body body(program_.body.begin(),
              program_.body.begin() + static_cast<std::ptrdiff_t>(conv_.root));
    for (BodyNode& node : without({program_.body[conv_.root]}, conv_.statement))
      body.push_back(std::move(node));
    for (BodyNode& node : added_)
      body.push_back(std::move(node));
    body.insert(body.end(), program_.body.begin() + static_cast<std::ptrdiff_t>(conv_.root) + 1,
                program_.body.end());
    program_.body = std::move(body);
    number_statements(program_);
    return std::move(program_);
  }

  Program program_;
  const Convolution& conv_;
  const Statement text_;
  int64_t m_, t_;
  int64_t down_, across_; ///< tiles
  WinogradMatrices matrices_;
  uint32_t image_ = 0, u_ = 0, v_ = 0, p_ = 0;
  Body added_;
};

} // namespace

std::optional<Program> with_winograd(const Program& program, int64_t m) {
  const auto matrices = winograd_matrices(m);
  if (program.numerics != Numerics::Fast || !matrices)
    return std::nullopt;
  const auto found = find_convolution(program);
  return found ? std::optional(WinogradRewriter(program, *found, m, *matrices).run())
               : std::nullopt;
}

double winograd_bound(int64_t m, int64_t channels) {
  const double rows = m == 2 ? 8 : 48;
  return std::ldexp(static_cast<double>(channels + 6 * (m + 2)), -24) * rows * rows;
}

} // namespace kawara::program
