#include "estimate/boxes.h"

#include "kernel/analysis/extents.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::estimate {

using kernel::Block;
using kernel::For;
using scalar::as;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::optional<Interval> interval_of_binary(BinaryOp op, const Interval& a, const Interval& b) {
  switch (op) {
  case BinaryOp::Add:
    return Interval{a.lo + b.lo, a.hi + b.hi};
  case BinaryOp::Sub:
    return Interval{a.lo - b.hi, a.hi - b.lo};
  case BinaryOp::Mul: {
    const auto [low, high] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
    return Interval{low, high};
  }
  case BinaryOp::Min:
    return Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  case BinaryOp::Max:
    return Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  case BinaryOp::FloorDiv:
    if (b.lo != b.hi || b.lo <= 0)
      return std::nullopt;
    return Interval{floor_div(a.lo, b.lo), floor_div(a.hi, b.lo)};
  case BinaryOp::Mod: {
    if (b.lo != b.hi || b.lo <= 0)
      return std::nullopt;
    const int64_t block = floor_div(a.lo, b.lo);
    if (block == floor_div(a.hi, b.lo))
      return Interval{a.lo - block * b.lo, a.hi - block * b.lo};
    return Interval{0, b.lo - 1};
  }
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<Interval> interval_of(const Expr& e, const Environment& at,
                                    std::span<const int64_t> params) {
  if (const auto* n = as<scalar::IntLit>(e))
    return Interval{n->value, n->value};
  if (const auto* n = as<scalar::Param>(e))
    return Interval{params[n->index], params[n->index]};
  if (const auto* n = as<scalar::Var>(e)) {
    const auto found = at.find(n->id);
    return found == at.end() ? std::nullopt : std::optional(found->second);
  }
  if (const auto* n = as<scalar::Select>(e)) {
    const auto a = interval_of(n->then, at, params), b = interval_of(n->otherwise, at, params);
    if (!a || !b)
      return std::nullopt;
    return Interval{std::min(a->lo, b->lo), std::max(a->hi, b->hi)};
  }
  const auto* n = as<scalar::Binary>(e);
  if (n == nullptr)
    return std::nullopt;
  const auto a = interval_of(n->lhs, at, params), b = interval_of(n->rhs, at, params);
  return a && b ? interval_of_binary(n->op, *a, *b) : std::nullopt;
}

Boxes::Boxes(const kernel::Kernel& kernel, std::span<const int64_t> params)
    : kernel_(&kernel), params_(params) {
  const std::vector<int64_t> values(params.begin(), params.end());
  for (const kernel::Buffer& buffer : kernel.buffers)
    extents_.push_back(kernel::extents_of(buffer, values));
}

void Boxes::add(const For& loop, Environment at) {
  const auto lo = interval_of(loop.lo, at, params_), hi = interval_of(loop.hi, at, params_);
  if (lo && hi && hi->hi <= lo->lo)
    return;
  if (lo && hi)
    at[loop.var] = {lo->lo, hi->hi - 1};
  else
    at.erase(loop.var);
  add(loop.body, std::move(at));
}

void Boxes::add(const Block& block, Environment at) {
  for (const kernel::Stmt& stmt : block) {
    if (const auto* loop = std::get_if<For>(&stmt))
      add(*loop, at);
    else
      kernel::for_blocks(stmt, [&](const Block& inside) { add(inside, at); });
    if (const auto* store = std::get_if<kernel::Store>(&stmt)) {
      add_reads(store->value, at);
      if (store->op != scalar::ReduceOp::None)
        add_box(store->buffer, store->index, at, false);
      add_box(store->buffer, store->index, at, true);
    } else if (const auto* define = std::get_if<kernel::Define>(&stmt)) {
      add_reads(define->value, at);
      if (const auto value = interval_of(define->value, at, params_))
        at[define->var] = *value;
    } else if (const auto* assign = std::get_if<kernel::Assign>(&stmt))
      add_reads(assign->value, at);
    else if (const auto* zero = std::get_if<kernel::Zero>(&stmt))
      add_box(zero->buffer, {}, at, true);
  }
}

double Boxes::bytes(uint32_t buffer, int64_t line) const {
  const auto found = touched_.find(buffer);
  double sum = 0;
  if (found != touched_.end())
    for (const Box& box : found->second.boxes)
      sum += bytes_of(box, buffer, line);
  Box whole;
  for (const int64_t extent : extents_[buffer])
    whole.push_back({0, extent - 1});
  return std::min(sum, bytes_of(whole, buffer, line));
}

double Boxes::bytes(int64_t line) const {
  double sum = 0;
  for (const auto& [buffer, touched] : touched_)
    sum += bytes(buffer, line);
  return sum;
}

std::vector<uint32_t> Boxes::buffers() const {
  std::vector<uint32_t> list;
  for (const auto& [buffer, touched] : touched_)
    list.push_back(buffer);
  return list;
}

bool Boxes::is_read(uint32_t buffer) const { return touched_.at(buffer).is_read; }
bool Boxes::is_written(uint32_t buffer) const { return touched_.at(buffer).is_written; }

void Boxes::add_reads(const Expr& value, const Environment& at) {
  scalar::visit(value, [&](const Expr& e) {
    if (const auto* load = as<scalar::Load>(e))
      add_box(load->tensor, load->index, at, false);
  });
}

/// An index that cannot be bounded may be anywhere in its dimension.
void Boxes::add_box(uint32_t buffer, const std::vector<Expr>& index, const Environment& at,
                    bool is_write) {
  const std::vector<int64_t>& extents = extents_[buffer];
  Box box;
  for (size_t d = 0; d < extents.size(); ++d) {
    const auto found =
        index.size() == extents.size() ? interval_of(index[d], at, params_) : std::nullopt;
    Interval interval = found.value_or(Interval{0, extents[d] - 1});
    interval.lo = std::clamp<int64_t>(interval.lo, 0, std::max<int64_t>(extents[d] - 1, 0));
    interval.hi = std::clamp(interval.hi, interval.lo, std::max(interval.lo, extents[d] - 1));
    box.push_back(interval);
  }
  Touched& touched = touched_[buffer];
  (is_write ? touched.is_written : touched.is_read) = true;
  insert(touched.boxes, std::move(box), buffer);
}

void Boxes::insert(std::vector<Box>& boxes, Box box, uint32_t buffer) {
  constexpr double kSlack = 1.25; // of the hull over the two boxes
  for (size_t b = 0; b < boxes.size(); ++b) {
    Box hull = box;
    for (size_t d = 0; d < box.size(); ++d)
      hull[d] = {std::min(box[d].lo, boxes[b][d].lo), std::max(box[d].hi, boxes[b][d].hi)};
    if (bytes_of(hull, buffer, 1) <=
        kSlack * (bytes_of(box, buffer, 1) + bytes_of(boxes[b], buffer, 1))) {
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(b));
      insert(boxes, std::move(hull), buffer);
      return;
    }
  }
  boxes.push_back(std::move(box));
}

/// Rows of the last dimension, each a line at least; dimensions that are covered whole join those
/// rows.
double Boxes::bytes_of(const Box& box, uint32_t buffer, int64_t line) const {
  auto row = static_cast<double>(scalar::bytes_of(kernel_->buffers[buffer].elem));
  double rows = 1;
  bool is_one_run = true;
  for (size_t d = box.size(); d-- > 0;) {
    const auto extent = static_cast<double>(box[d].extent());
    (is_one_run ? row : rows) *= extent;
    is_one_run = is_one_run && box[d].extent() == extents_[buffer][d];
  }
  return rows * std::max(row, static_cast<double>(line));
}

} // namespace kawara::estimate
