#include "program/window_rows.h"

#include "program/find_convolution.h"
#include "program/resolver.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <set>

namespace kawara::program {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kWholeGroup = 8; ///< cells of 16 bits in 16 bytes

Expr below(const Expr& a, int64_t b) { return scalar::binary(BinaryOp::Lt, a, int_lit(b)); }
Expr both_hold(const Expr& a, const Expr& b) { return scalar::binary(BinaryOp::And, a, b); }
Expr scaled(const Expr& e, int64_t by) { return by == 1 ? e : int_lit(by) * e; }

const scalar::Load* load_below_casts(Expr e) {
  while (const auto* cast = as<scalar::Cast>(e))
    e = cast->arg;
  return as<scalar::Load>(e);
}

/// A direction of the window: places of the image are stride * result + dilation * window.
struct WindowSide {
  uint32_t result = 0;            ///< iterator
  std::optional<uint32_t> window; ///< none: one cell
  int64_t stride = 1, dilation = 1;
  int64_t length = 0, taps = 1; ///< of the result and of the window
  int64_t extent = 0;           ///< of the image
  int64_t shift() const { return dilation * (taps - 1) / stride; }
  int64_t phases() const { return window ? stride : 1; }
};

/// What is around a statement.
struct Path {
  size_t root = 0;
  std::vector<const Loop*> loops;
};

bool walk_to(const Body& body, uint32_t statement, std::vector<const Loop*>& loops) {
  for (const BodyNode& node : body) {
    if (const auto* ref = std::get_if<StatementRef>(&node); ref && ref->statement == statement)
      return true;
    if (const auto* loop = std::get_if<Loop>(&node)) {
      loops.push_back(loop);
      if (walk_to(loop->body, statement, loops))
        return true;
      loops.pop_back();
    }
  }
  return false;
}

void statements_in(const Body& body, std::set<uint32_t>& found) {
  for (const BodyNode& node : body) {
    if (const auto* ref = std::get_if<StatementRef>(&node))
      found.insert(ref->statement);
    else if (const auto* loop = std::get_if<Loop>(&node))
      statements_in(loop->body, found);
    else {
      statements_in(std::get<If>(node).then, found);
      statements_in(std::get<If>(node).otherwise, found);
    }
  }
}

class Flattener {
public:
  Flattener(const Program& program, uint32_t statement)
      : program_(program), statement_(statement), text_(program.statements[statement]) {}

  std::optional<FlatConvolution> run(int64_t least_channels) {
    if (!is_product() || !find_root() || !(has_roles() || has_roles_turned()) ||
        length(channel_) < least_channels)
      return std::nullopt;
    measure();
    flatten_image();
    reorder_weights();
    rewrite_update();
    rewrite_readers();
    number_statements(program_);
    return FlatConvolution{std::move(program_), weights_->tensor, order_};
  }

private:
  const Tensor& tensor(uint32_t t) const { return program_.tensors[t]; }
  int64_t length(uint32_t it) const { return *length_of(*path_.loops[it]); }

  bool is_product() {
    const auto* product = as<scalar::Binary>(text_.value);
    if (text_.op != ReduceOp::Sum || product == nullptr || product->op != BinaryOp::Mul)
      return false;
    image_ = load_below_casts(product->lhs);
    weights_ = load_below_casts(product->rhs);
    return image_ != nullptr && weights_ != nullptr && image_->tensor != weights_->tensor &&
           tensor(text_.tensor).role == Role::Temp && text_.index.size() >= 3;
  }

  /// The outermost loop holds the update and one statement that begins the cells.
  bool find_root() {
    for (size_t n = 0; n < program_.body.size(); ++n) {
      const Body one{program_.body[n]};
      std::set<uint32_t> inside;
      statements_in(one, inside);
      if (!inside.contains(statement_))
        continue;
      path_.root = n;
      inside.erase(statement_);
      if (inside.size() != 1 || std::get_if<Loop>(&program_.body[n]) == nullptr)
        return false;
      start_ = *inside.begin();
    }
    const Statement& start = program_.statements[start_];
    // The path points into the given program's body, which changes last.
    return walk_to(program_.body, statement_, path_.loops) && start.tensor == text_.tensor &&
           start.op == ReduceOp::None && as<scalar::FloatLit>(start.value) != nullptr &&
           std::all_of(path_.loops.begin(), path_.loops.end(),
                       [](const Loop* loop) { return length_of(*loop).has_value(); });
  }

  bool has_roles_turned() {
    std::swap(image_, weights_);
    return has_roles();
  }

  std::optional<WindowSide> side_of(const Expr& result, const Expr& place) const {
    const auto own = single_iterator(result);
    const scalar::AffineSum sum = scalar::affine_sum(place);
    if (!own || sum.constant != 0 || sum.terms.empty() || sum.terms.size() > 2)
      return std::nullopt;
    WindowSide side;
    side.result = *own;
    side.length = length(*own);
    bool is_found = false;
    for (const auto& [term, factor] : sum.terms) {
      const auto it = single_iterator(term);
      if (!it || factor <= 0)
        return std::nullopt;
      if (*it == *own) {
        side.stride = factor;
        is_found = true;
      } else {
        side.window = *it;
        side.dilation = factor;
        side.taps = length(*it);
      }
    }
    return is_found ? std::optional(side) : std::nullopt;
  }

  /// Result [images, filters, y, x], image [images, channels, ...], weights in any order.
  bool has_roles() {
    const Tensor& weights = tensor(weights_->tensor);
    const size_t rank = text_.index.size();
    if (image_->index.size() != rank || !weights.is_constant || weights.role != Role::Input)
      return false;
    const auto y = side_of(text_.index[rank - 2], image_->index[rank - 2]);
    const auto x = side_of(text_.index[rank - 1], image_->index[rank - 1]);
    const auto m = single_iterator(text_.index[rank - 3]),
               c = single_iterator(image_->index[rank - 3]);
    if (!y || !x || !m || !c || *m == *c || (!y->window && !x->window && y->stride == 1))
      return false;
    y_ = *y, x_ = *x, filter_ = *m, channel_ = *c;
    outer_.clear();
    for (size_t d = 0; d + 3 < rank; ++d) {
      const auto a = single_iterator(text_.index[d]), b = single_iterator(image_->index[d]);
      if (!a || a != b)
        return false;
      outer_.push_back(*a);
    }
    for (size_t d = rank - 2; d < rank; ++d) {
      const auto extent = scalar::constant_of(scalar::simplify(tensor(image_->tensor).shape[d]));
      if (!extent)
        return false;
      (d + 2 == rank ? y_ : x_).extent = *extent;
    }
    return has_plain_weights();
  }

  /// Every reduced loop moves the weights, and nothing else but the filters does.
  bool has_plain_weights() {
    std::vector<uint32_t> wanted;
    for (const WindowSide* side : {&y_, &x_})
      if (side->window)
        wanted.push_back(*side->window);
    wanted.insert(wanted.end(), {filter_, channel_});
    order_.clear();
    for (const uint32_t it : wanted)
      for (size_t d = 0; d < weights_->index.size(); ++d)
        if (single_iterator(weights_->index[d]) == it)
          order_.push_back(d);
    return order_.size() == wanted.size() && weights_->index.size() == wanted.size() &&
           path_.loops.size() == outer_.size() + 3 + wanted.size() - 1;
  }

  void measure() {
    width_ = x_.length + x_.shift();
    const auto whole = [](int64_t n) { return (n + kWholeGroup - 1) / kWholeGroup * kWholeGroup; };
    cells_ = whole(y_.length * width_);
    rows_ = (cells_ + y_.shift() * width_ + x_.shift() + width_ - 1) / width_;
    while (rows_ * width_ % kWholeGroup != 0)
      ++rows_;
  }

  Loop loop_of(const std::string& name, int64_t hi, Body body) const {
    Loop loop;
    loop.name = name;
    loop.lo = int_lit(0);
    loop.hi = int_lit(hi);
    loop.where = text_.where;
    loop.body = std::move(body);
    return loop;
  }

  /// How the image's cells come to be: under a condition, in loops over its dimensions; otherwise zero.
  struct Source {
    Expr condition, value, zero;
    std::optional<size_t> root; ///< of the nest that made them so far
  };

  Source source_of_image() const {
    const Tensor& image = tensor(image_->tensor);
    const scalar::Type type{scalar::compute_type(image.elem), 1};
    std::vector<Expr> cell;
    for (uint32_t d = 0; d < image.shape.size(); ++d)
      cell.push_back(scalar::iter(d));
    Source plain{Expr(), scalar::cast(scalar::load(image_->tensor, cell, {image.elem, 1}), type),
                 scalar::zero_of(type), std::nullopt};
    if (image.role != Role::Temp)
      return plain;
    for (size_t n = 0; n < program_.body.size(); ++n) {
      const Body* body = &program_.body;
      const BodyNode* node = &(*body)[n];
      size_t depth = 0;
      while (const auto* loop = std::get_if<Loop>(node)) {
        if (loop->body.size() != 1)
          break;
        ++depth;
        node = &loop->body.front();
      }
      const auto* branch = std::get_if<If>(node);
      if (branch == nullptr || depth != image.shape.size() || branch->then.size() != 1 ||
          branch->otherwise.size() != 1)
        continue;
      const auto* then = std::get_if<StatementRef>(&branch->then.front());
      const auto* otherwise = std::get_if<StatementRef>(&branch->otherwise.front());
      if (then == nullptr || otherwise == nullptr)
        continue;
      const Statement &a = program_.statements[then->statement],
                      &b = program_.statements[otherwise->statement];
      if (is_cell_of_image(a) && is_cell_of_image(b) && readers_of_image() == 1)
        return {branch->cond, a.value, b.value, n};
    }
    return plain;
  }

  bool is_cell_of_image(const Statement& s) const {
    bool is_plain = s.tensor == image_->tensor && s.op == ReduceOp::None;
    for (size_t d = 0; is_plain && d < s.index.size(); ++d)
      is_plain = single_iterator(s.index[d]) == d;
    return is_plain;
  }

  size_t readers_of_image() const {
    size_t readers = 0;
    for (const Statement& s : program_.statements)
      scalar::visit(s.value, [&](const Expr& e) {
        const auto* load = as<scalar::Load>(e);
        readers += load != nullptr && load->tensor == image_->tensor;
      });
    return readers;
  }

  /// The nest that fills `flat`, in the place of the one that filled the image, or before the convolution.
  void flatten_image() {
    const Source source = source_of_image();
    const Tensor image = tensor(image_->tensor);
    Tensor flat = image;
    flat.role = Role::Temp;
    flat.is_constant = false;
    flat.shape.clear();
    std::vector<std::pair<std::string, int64_t>> loops;
    const auto add = [&](const std::string& name, int64_t extent) {
      loops.emplace_back(name, extent);
      return scalar::iter(static_cast<uint32_t>(loops.size() - 1));
    };
    std::vector<Expr> index, old;
    std::vector<Expr> phase(2, int_lit(0));
    for (const auto& [at, side, name] :
         {std::tuple{size_t{0}, &y_, "py"}, std::tuple{size_t{1}, &x_, "px"}})
      if (side->phases() > 1) {
        phase[at] = add(name, side->phases());
        index.push_back(phase[at]);
        flat.shape.push_back(int_lit(side->phases()));
      }
    for (size_t d = 0; d + 2 < image.shape.size(); ++d) {
      old.push_back(
          add("d" + std::to_string(d), *scalar::constant_of(scalar::simplify(image.shape[d]))));
      index.push_back(old.back());
      flat.shape.push_back(image.shape[d]);
    }
    const Expr row = add("i", rows_), column = add("j", width_);
    index.push_back(scaled(row, width_) + column);
    flat.shape.push_back(int_lit(rows_ * width_));
    old.push_back(scalar::simplify(scaled(row, y_.stride) + phase[0]));
    old.push_back(scalar::simplify(scaled(column, x_.stride) + phase[1]));
    Expr inside = both_hold(below(old[old.size() - 2], y_.extent), below(old.back(), x_.extent));
    if (source.condition)
      inside = both_hold(inside, scalar::substitute_iters(source.condition, old));
    if (source.root) {
      flat_ = image_->tensor;
      program_.tensors[flat_] = flat;
    } else {
      flat.name = free_name(image.name + "_flat");
      flat.is_hidden = false;
      flat_ = static_cast<uint32_t>(program_.tensors.size());
      program_.tensors.push_back(flat);
    }
    If branch;
    branch.cond = inside;
    branch.where = text_.where;
    const auto add_statement = [&](Body& body, const Expr& value) {
      Statement s;
      for (const auto& [name, extent] : loops)
        s.iters.push_back(name);
      s.tensor = flat_;
      s.index = index;
      s.value = value;
      s.where = text_.where;
      program_.statements.push_back(std::move(s));
      body.emplace_back(StatementRef{static_cast<uint32_t>(program_.statements.size() - 1)});
    };
    add_statement(branch.then, scalar::substitute_iters(source.value, old));
    add_statement(branch.otherwise, source.zero);
    Body nest;
    nest.emplace_back(std::move(branch));
    for (size_t k = loops.size(); k-- > 0;) {
      Body around;
      around.emplace_back(loop_of(loops[k].first, loops[k].second, std::move(nest)));
      nest = std::move(around);
    }
    filling_ = std::move(nest.front());
    filled_at_ = source.root;
  }

  std::string free_name(std::string name) const {
    while (std::any_of(program_.tensors.begin(), program_.tensors.end(),
                       [&](const Tensor& other) { return other.name == name; }))
      name += "_";
    return name;
  }

  void reorder_weights() {
    Tensor& weights = program_.tensors[weights_->tensor];
    const std::vector<Expr> shape = weights.shape;
    for (size_t d = 0; d < order_.size(); ++d)
      weights.shape[d] = shape[order_[d]];
  }

  /// Loops over images, filters and cells, and inside over the window and the channels.
  void rewrite_update() {
    std::vector<std::pair<std::string, int64_t>> loops;
    std::vector<Expr> at(path_.loops.size()); // where the old iterators are now
    const auto add = [&](uint32_t it, int64_t extent, const std::string& name) {
      loops.emplace_back(name, extent);
      return at[it] = scalar::iter(static_cast<uint32_t>(loops.size() - 1));
    };
    const auto name = [&](uint32_t it) { return path_.loops[it]->name; };
    std::vector<Expr> result;
    for (const uint32_t it : outer_)
      result.push_back(add(it, length(it), name(it)));
    result.push_back(add(filter_, length(filter_), name(filter_)));
    const Expr q = add(x_.result, cells_, "q");
    result.push_back(q);
    const size_t cells_at = loops.size();
    std::vector<Expr> phases;
    Expr place = q;
    for (const WindowSide* side : {&y_, &x_}) {
      if (!side->window)
        continue;
      const Expr tap = add(*side->window, side->taps, name(*side->window));
      const Expr whole = scaled(tap, side->dilation), stride = int_lit(side->stride);
      if (side->stride > 1)
        phases.push_back(scalar::binary(BinaryOp::Mod, whole, stride));
      const Expr steps =
          side->stride > 1 ? scalar::binary(BinaryOp::FloorDiv, whole, stride) : whole;
      place = place + scaled(steps, side == &y_ ? width_ : 1);
    }
    const Expr c = add(channel_, length(channel_), name(channel_));
    std::vector<Expr> image = phases;
    for (const uint32_t it : outer_)
      image.push_back(at[it]);
    image.push_back(c);
    image.push_back(place);
    std::vector<Expr> weights;
    for (const size_t d : order_)
      weights.push_back(at[*single_iterator(weights_->index[d])]);
    program_.tensors[text_.tensor].shape.pop_back();
    program_.tensors[text_.tensor].shape.back() = int_lit(cells_);
    Statement& update = program_.statements[statement_];
    Statement& start = program_.statements[start_];
    const uint32_t old_image = image_->tensor, old_weights = weights_->tensor;
    update.value = scalar::rewrite(text_.value, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr)
        return Expr();
      return load->tensor == old_weights ? scalar::load(old_weights, weights, e.type())
             : load->tensor == old_image ? scalar::load(flat_, image, e.type())
                                         : Expr();
    });
    update.index = start.index = result;
    update.iters.clear();
    for (const auto& [n, extent] : loops)
      update.iters.push_back(n);
    start.iters.assign(update.iters.begin(),
                       update.iters.begin() + static_cast<std::ptrdiff_t>(cells_at));
    Body nest;
    nest.emplace_back(StatementRef{statement_});
    for (size_t k = loops.size(); k-- > 0;) {
      Body around;
      around.emplace_back(loop_of(loops[k].first, loops[k].second, std::move(nest)));
      if (k == cells_at)
        around.insert(around.begin(), StatementRef{start_});
      nest = std::move(around);
    }
    Body body;
    for (size_t n = 0; n < program_.body.size(); ++n) {
      const bool is_filling = filled_at_ ? n == *filled_at_ : n == path_.root;
      if (is_filling)
        body.push_back(filling_);
      if (n == path_.root)
        body.push_back(nest.front());
      else if (!is_filling)
        body.push_back(program_.body[n]);
    }
    program_.body = std::move(body);
  }

  /// Everything else finds the result's cells in the long row.
  void rewrite_readers() {
    for (uint32_t s = 0; s < program_.statements.size(); ++s) {
      if (s == statement_)
        continue;
      program_.statements[s].value =
          scalar::rewrite(program_.statements[s].value, [&](const Expr& e) {
            const auto* load = as<scalar::Load>(e);
            if (load == nullptr || load->tensor != text_.tensor)
              return Expr();
            std::vector<Expr> index(load->index.begin(), load->index.end() - 1);
            index.back() = scalar::simplify(scaled(index.back(), width_) + load->index.back());
            return scalar::load(text_.tensor, index, e.type());
          });
    }
  }

  Program program_;
  uint32_t statement_, start_ = 0;
  const Statement text_;
  const scalar::Load *image_ = nullptr, *weights_ = nullptr;
  Path path_;
  WindowSide y_, x_;
  uint32_t filter_ = 0, channel_ = 0, flat_ = 0;
  std::vector<uint32_t> outer_;
  std::vector<size_t> order_;
  int64_t width_ = 0, rows_ = 0, cells_ = 0; ///< of the long row: its rows, and the result's cells
  BodyNode filling_;
  std::optional<size_t> filled_at_;
};

} // namespace

std::optional<FlatConvolution> with_flat_convolution(const Program& program,
                                                     int64_t least_channels) {
  for (uint32_t s = 0; s < program.statements.size(); ++s)
    if (auto flat = Flattener(program, s).run(least_channels))
      return flat;
  return std::nullopt;
}

} // namespace kawara::program
