#include "program/rewrites/winograd.h"

#include "program/rewrites/find_convolution.h"
#include "program/rewrites/winograd_matrices.h"
#include "program/text/resolver.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

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
        matrices_(std::move(matrices)), images_(dims_of(conv.of_image)),
        filters_(dims_of(conv.of_weights)) {}

  Program run() {
    image_ = image_by_tiles();
    transform_windows();
    transform_tiles();
    multiply();
    transform_back();
    return finished();
  }

private:
  using Iterators = std::vector<uint32_t>;
  struct Dim {
    std::string name;
    int64_t length = 1;
  };
  using Dims = std::vector<Dim>;
  /// What a statement does, in terms of the loops around it.
  struct Made {
    uint32_t tensor = 0;
    std::vector<Expr> index;
    Expr value;
    ReduceOp op = ReduceOp::None;
    Expr condition = Expr(); ///< none: always
  };

  int64_t length(uint32_t it) const { return *length_of(*conv_.loops[it]); }
  Dim channel() const { return {conv_.loops[conv_.c]->name, length(conv_.c)}; }
  Dims dims_of(const Iterators& list) const {
    Dims dims;
    for (const uint32_t it : list)
      dims.push_back({conv_.loops[it]->name, length(it)});
    return dims;
  }
  /// A loop of its own name.
  Dim dim(std::string name, int64_t length) const {
    while (std::any_of(conv_.loops.begin(), conv_.loops.end(),
                       [&](const Loop* loop) { return loop->name == name; }))
      name += "_";
    return {name, length};
  }
  static int64_t elements_of(const Dims& dims) {
    int64_t elements = 1;
    for (const Dim& d : dims)
      elements *= d.length;
    return elements;
  }
  static Dims joined(std::initializer_list<Dims> lists) {
    Dims all;
    for (const Dims& list : lists)
      all.insert(all.end(), list.begin(), list.end());
    return all;
  }
  int64_t tiles() const { return elements_of(images_) * down_ * across_; }
  int64_t height() const { return down_ * m_ + 2; }
  int64_t width() const { return across_ * m_ + 2; }

  const scalar::Load& load_of(uint32_t tensor) const {
    const auto* product = as<scalar::Binary>(text_.value);
    const scalar::Load* lhs = factor_of(product->lhs);
    return lhs->tensor == tensor ? *lhs : *factor_of(product->rhs);
  }
  /// An element in f32, whatever it is stored in.
  Expr element_of(uint32_t tensor, std::vector<Expr> index) const {
    const scalar::Type stored{program_.tensors[tensor].elem, 1};
    return scalar::cast(scalar::load(tensor, std::move(index), stored), kF32);
  }

  uint32_t add_tensor(const std::string& suffix, const std::vector<int64_t>& shape) {
    Tensor tensor;
    tensor.name = program_.tensors[conv_.result].name + suffix;
    while (std::any_of(program_.tensors.begin(), program_.tensors.end(),
                       [&](const Tensor& other) { return other.name == tensor.name; }))
      tensor.name += "_";
    for (const int64_t extent : shape)
      tensor.shape.push_back(int_lit(extent));
    tensor.is_hidden = true;
    tensor.where = text_.where;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(program_.tensors.size() - 1);
  }

  static Expr at(size_t depth) { return scalar::iter(static_cast<uint32_t>(depth)); }
  static std::vector<Expr> elements(size_t first, size_t count) {
    std::vector<Expr> list;
    for (size_t k = 0; k < count; ++k)
      list.push_back(at(first + k));
    return list;
  }
  /// The iteration of the loops `dims`, the first of which is at depth `first`.
  static Expr number_of(const Dims& dims, size_t first) {
    Expr number = int_lit(0);
    for (size_t k = 0; k < dims.size(); ++k)
      number = k == 0 ? at(first) : number * int_lit(dims[k].length) + at(first + k);
    return number;
  }

  BodyNode statement(const Dims& around, Made made) {
    Statement text;
    for (const Dim& d : around)
      text.iters.push_back(d.name);
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

  Body inside(const Dims& dims, Body body) const {
    for (size_t d = dims.size(); d-- > 0;) {
      Loop loop;
      loop.name = dims[d].name;
      loop.lo = int_lit(0);
      loop.hi = int_lit(dims[d].length);
      loop.where = text_.where;
      loop.body = std::move(body);
      body.clear();
      body.emplace_back(std::move(loop));
    }
    return body;
  }

  void add(Body body) {
    for (BodyNode& node : body)
      added_.push_back(std::move(node));
  }
  void add_nest(const Dims& dims, Made made) {
    Body body;
    body.push_back(statement(dims, std::move(made)));
    add(inside(dims, std::move(body)));
  }

  /// Half of a transform: below `around`, in loops over `inner`, one statement a matrix row.
  Body pass(const Dims& around, const Dims& inner, size_t rows,
            const std::function<Made(size_t)>& row) {
    const Dims all = joined({around, inner});
    Body body;
    for (size_t r = 0; r < rows; ++r)
      body.push_back(statement(all, row(r)));
    return inside(inner, std::move(body));
  }

  /// An index of the source with its iterators at other places.
  static std::vector<Expr> moved(std::vector<Expr> index, const std::vector<Expr>& places) {
    for (Expr& e : index)
      if (const auto it = single_iterator(e))
        e = places[*it];
    return index;
  }
  /// Where the source's iterators are: those of each list at depths from the one beside it.
  std::vector<Expr> places(std::initializer_list<std::pair<const Iterators*, size_t>> lists) const {
    std::vector<Expr> found(conv_.loops.size(), int_lit(0));
    for (const auto& [list, first] : lists)
      for (size_t k = 0; k < list->size(); ++k)
        found[(*list)[k]] = at(first + k);
    return found;
  }

  /// Whether the image is a temp of just these rows and columns that only the convolution reads.
  bool owns_image() const {
    if (program_.tensors[conv_.image].role != Role::Temp ||
        image_extent(conv_.image_rows) != conv_.height + 2 ||
        image_extent(conv_.image_columns) != conv_.width + 2)
      return false;
    for (uint32_t s = 0; s < program_.statements.size(); ++s)
      if (s != conv_.statement && reads_image(program_.statements[s].value))
        return false;
    return true;
  }
  bool reads_image(const Expr& value) const {
    bool reads = false;
    scalar::visit(value, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      reads = reads || (load != nullptr && load->tensor == conv_.image);
    });
    return reads;
  }

  std::optional<int64_t> image_extent(size_t dim) const {
    return scalar::constant_of(program_.tensors[conv_.image].shape[dim]);
  }

  /// Whether the image lies in the order of tiles already, and all of them within it.
  bool has_image_by_tiles() const {
    return std::is_sorted(conv_.image_order.begin(), conv_.image_order.end()) &&
           image_extent(conv_.image_rows).value_or(0) >= height() &&
           image_extent(conv_.image_columns).value_or(0) >= width();
  }

  /// The image with its channels last, filled with zeros to whole tiles: in place, or as a copy.
  uint32_t image_by_tiles() {
    const size_t n = images_.size();
    uint32_t image = conv_.image;
    if (has_image_by_tiles())
      return image;
    if (owns_image())
      turn_image();
    else {
      std::vector<int64_t> shape;
      for (const Dim& d : images_)
        shape.push_back(d.length);
      shape.insert(shape.end(), {height(), width(), length(conv_.c)});
      image = add_tensor("_image", shape);
      const Dims dims =
          joined({images_, {channel(), dim("y", conv_.height + 2)}, {dim("x", conv_.width + 2)}});
      const Iterators channel_only{conv_.c};
      std::vector<Expr> to = elements(0, n);
      for (const size_t depth : {n + 1, n + 2, n})
        to.push_back(at(depth));
      const std::vector<Expr> of_element = places({{&conv_.of_image, 0}, {&channel_only, n}});
      std::vector<Expr> from = moved(load_of(conv_.image).index, of_element);
      from[conv_.image_rows] = at(n + 1);
      from[conv_.image_columns] = at(n + 2);
      add_nest(dims, {image, to, element_of(conv_.image, from)});
    }
    fill(image, {conv_.height + 2, height()}, {0, width()});
    fill(image, {0, conv_.height + 2}, {conv_.width + 2, width()});
    return image;
  }

  /// Zeros in rows and columns of the image, from first to before last.
  void fill(uint32_t image, std::pair<int64_t, int64_t> rows, std::pair<int64_t, int64_t> columns) {
    if (rows.first == rows.second || columns.first == columns.second)
      return;
    const size_t n = images_.size();
    const Dims dims = joined({images_,
                              {dim("y", rows.second - rows.first)},
                              {dim("x", columns.second - columns.first)},
                              {channel()}});
    std::vector<Expr> index = elements(0, n + 3);
    index[n] = index[n] + int_lit(rows.first);
    index[n + 1] = index[n + 1] + int_lit(columns.first);
    add_nest(dims, {image, index, scalar::float_lit(0, kF32)});
  }

  /// Moves the channels behind rows and columns, wherever the image is written.
  void turn_image() {
    const std::vector<size_t>& order = conv_.image_order;
    const auto transposed = [&](const std::vector<Expr>& index) {
      std::vector<Expr> result;
      for (const size_t d : order)
        result.push_back(index[d]);
      return result;
    };
    Tensor& tensor = program_.tensors[conv_.image];
    tensor.shape = transposed(tensor.shape);
    tensor.shape[order.size() - 3] = int_lit(height());
    tensor.shape[order.size() - 2] = int_lit(width());
    for (Statement& statement : program_.statements)
      if (statement.tensor == conv_.image)
        statement.index = transposed(statement.index);
  }

  void transform_windows() {
    const int64_t channels = length(conv_.c), filters = elements_of(filters_);
    const auto t = static_cast<size_t>(t_);
    const uint32_t rows = add_tensor("_window_rows", {t_, 3, channels, filters});
    u_ = add_tensor("_windows", {t_ * t_, channels, filters});
    const Dims around{channel()};
    const Iterators channel_only{conv_.c};
    const std::vector<Expr> from = places({{&channel_only, 0}, {&conv_.of_weights, 2}});
    const Expr filter = number_of(filters_, 2);
    Body first = pass(around, joined({{dim("s", 3)}, filters_}), t, [&](size_t a) -> Made {
      const auto tap = [&](size_t r) {
        std::vector<Expr> window = from;
        window[conv_.r] = literal(r);
        window[conv_.s] = at(1);
        return element_of(conv_.weights, moved(load_of(conv_.weights).index, window));
      };
      return {rows, {literal(a), at(1), at(0), filter}, transformed_row(matrices_.window, a, tap)};
    });
    Body second = pass(around, joined({{dim("a", t_)}, filters_}), t, [&](size_t b) -> Made {
      const auto element = [&](size_t s) {
        return scalar::load(rows, {at(1), literal(s), at(0), filter}, kF32);
      };
      return {u_,
              {at(1) * int_lit(t_) + literal(b), at(0), filter},
              transformed_row(matrices_.window, b, element)};
    });
    first.push_back(std::move(second.front()));
    add(inside(around, std::move(first)));
  }

  /// Rows of tiles are outermost: those of all images together can be computed apart.
  Dims over_tiles() const {
    return joined({{dim("down", down_)}, images_, {dim("across", across_)}});
  }
  /// A temp of so many elements for each tile and each of `lanes`.
  uint32_t add_rows(const std::string& suffix, int64_t rows, int64_t columns, int64_t lanes) {
    std::vector<int64_t> shape{rows, columns};
    for (const Dim& d : over_tiles())
      shape.push_back(d.length);
    shape.push_back(lanes);
    return add_tensor(suffix, shape);
  }
  std::vector<Expr> of_tile(const Expr& row, const Expr& column, const Expr& lane) const {
    std::vector<Expr> index{row, column};
    for (const Expr& loop : elements(0, images_.size() + 2))
      index.push_back(loop);
    index.push_back(lane);
    return index;
  }
  static Expr literal(size_t value) { return int_lit(static_cast<int64_t>(value)); }

  void transform_tiles() {
    const int64_t channels = length(conv_.c);
    const auto t = static_cast<size_t>(t_);
    const uint32_t rows = add_rows("_tile_rows", t_, t_, channels);
    v_ = add_tensor("_tiles", {t_ * t_, tiles(), channels});
    const Dims around = over_tiles();
    const size_t n = images_.size(), middle = n + 2, lane = n + 3;
    Body first = pass(around, {dim("j", t_), channel()}, t, [&](size_t a) -> Made {
      const auto element = [&](size_t i) {
        std::vector<Expr> index = elements(1, n);
        index.push_back(at(0) * int_lit(m_) + literal(i));
        index.push_back(at(n + 1) * int_lit(m_) + at(middle));
        index.push_back(at(lane));
        return element_of(image_, index);
      };
      return {rows, of_tile(literal(a), at(middle), at(lane)),
              transformed_row(matrices_.image, a, element)};
    });
    Body second = pass(around, {dim("a", t_), channel()}, t, [&](size_t b) -> Made {
      const auto element = [&](size_t j) {
        return scalar::load(rows, of_tile(at(middle), literal(j), at(lane)), kF32);
      };
      return {v_,
              {at(middle) * int_lit(t_) + literal(b), number_of(around, 0), at(lane)},
              transformed_row(matrices_.image, b, element)};
    });
    first.push_back(std::move(second.front()));
    add(inside(around, std::move(first)));
  }

  void multiply() {
    const int64_t filters = elements_of(filters_);
    p_ = add_tensor("_products", {t_ * t_, tiles(), filters});
    const Dims dims{dim("ab", t_ * t_), dim("tile", tiles()), dim("filter", filters)};
    const Dims deeper = joined({dims, {channel()}});
    Body body;
    body.push_back(statement(dims, {p_, elements(0, 3), scalar::float_lit(0, kF32)}));
    Body update;
    update.push_back(statement(deeper, {p_, elements(0, 3),
                                        scalar::load(v_, {at(0), at(1), at(3)}, kF32) *
                                            scalar::load(u_, {at(0), at(3), at(2)}, kF32),
                                        ReduceOp::Sum}));
    body.push_back(std::move(inside({channel()}, std::move(update)).front()));
    add(inside(dims, std::move(body)));
  }

  void transform_back() {
    const int64_t filters = elements_of(filters_);
    const auto m = static_cast<size_t>(m_);
    const uint32_t rows = add_rows("_result_rows", m_, t_, filters);
    const uint32_t results = add_rows("_results", m_, m_, filters);
    const Dims around = over_tiles();
    const size_t middle = images_.size() + 2;
    const Expr tile = number_of(around, 0), filter = number_of(filters_, middle + 1);
    Body first = pass(around, joined({{dim("b", t_)}, filters_}), m, [&](size_t y) -> Made {
      const auto element = [&](size_t a) {
        return scalar::load(p_, {at(middle) + literal(a * static_cast<size_t>(t_)), tile, filter},
                            kF32);
      };
      return {rows, of_tile(literal(y), at(middle), filter),
              transformed_row(matrices_.result, y, element)};
    });
    Body second = pass(around, joined({{dim("y", m_)}, filters_}), m, [&](size_t x) -> Made {
      const auto element = [&](size_t b) {
        return scalar::load(rows, of_tile(at(middle), literal(b), filter), kF32);
      };
      return {results, of_tile(at(middle), literal(x), filter),
              transformed_row(matrices_.result, x, element)};
    });
    first.push_back(std::move(second.front()));
    Body third = pass(around, joined({{dim("y", m_), dim("x", m_)}, filters_}), 1,
                      [&](size_t) { return stored(results); });
    first.push_back(std::move(third.front()));
    add(inside(around, std::move(first)));
  }

  /// An element of a tile's results where it belongs.
  Made stored(uint32_t results) const {
    const size_t n = images_.size(), y = n + 2, x = n + 3;
    const Expr row = at(0) * int_lit(m_) + at(y), column = at(n + 1) * int_lit(m_) + at(x);
    auto to = places({{&conv_.of_image, 1}, {&conv_.of_weights, n + 4}});
    to[conv_.y] = row;
    to[conv_.x] = column;
    Made made{conv_.result, moved(text_.index, to),
              scalar::load(results, of_tile(at(y), at(x), number_of(filters_, n + 4)), kF32),
              conv_.begin ? ReduceOp::None : ReduceOp::Sum};
    if (down_ * m_ != conv_.height || across_ * m_ != conv_.width)
      made.condition =
          scalar::binary(BinaryOp::And, scalar::binary(BinaryOp::Lt, row, int_lit(conv_.height)),
                         scalar::binary(BinaryOp::Lt, column, int_lit(conv_.width)));
    return made;
  }

  static Body without(const Body& body, const std::set<uint32_t>& statements) {
    Body kept;
    for (const BodyNode& node : body) {
      if (const auto* ref = std::get_if<StatementRef>(&node);
          ref && statements.contains(ref->statement))
        continue;
      if (const auto* loop = std::get_if<Loop>(&node)) {
        Loop copy = *loop;
        copy.body = without(loop->body, statements);
        if (!copy.body.empty())
          kept.emplace_back(std::move(copy));
      } else
        kept.push_back(node);
    }
    return kept;
  }

  Program finished() {
    const auto root = static_cast<std::ptrdiff_t>(conv_.root);
    std::set<uint32_t> replaced{conv_.statement};
    if (conv_.begin)
      replaced.insert(*conv_.begin);
    Body body(program_.body.begin(), program_.body.begin() + root);
    for (BodyNode& node : without({program_.body[conv_.root]}, replaced))
      body.push_back(std::move(node));
    for (BodyNode& node : added_)
      body.push_back(std::move(node));
    body.insert(body.end(), program_.body.begin() + root + 1, program_.body.end());
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
  Dims images_, filters_;
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
  const double roundings = std::sqrt(static_cast<double>(channels + 6 * (m + 2)));
  return winograd_error(m, channels) * roundings;
}

double winograd_error(int64_t m, int64_t channels) {
  const double rows = m == 2 ? 8 : 48;
  return std::ldexp(std::sqrt(static_cast<double>(channels + 6 * (m + 2))), -24) * rows * rows;
}

} // namespace kawara::program
