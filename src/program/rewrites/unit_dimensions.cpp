#include "program/rewrites/unit_dimensions.h"

#include "program/contraction.h"
#include "program/rewrites/find_convolution.h"
#include "program/rewrites/unit_loops.h"

#include <algorithm>

namespace kawara::program {
namespace {

using scalar::as;

/// Which loops of one iteration stay, for each statement by depth.
class UnitLoopChooser {
public:
  explicit UnitLoopChooser(const Program& program)
      : program_(program), around_(program.statements.size()) {
    walk(program.body);
  }

  std::set<size_t> kept() {
    for (uint32_t s = 0; s < program_.statements.size(); ++s) {
      keep_rows(s);
      keep_last(s);
    }
    while (follow_results()) {}
    return std::move(kept_);
  }

private:
  struct Around {
    size_t number = 0; ///< of the loop, in text order
    bool is_unit = false;
  };

  const Statement& text(uint32_t s) const { return program_.statements[s]; }
  bool stays(const Around& loop) const { return !loop.is_unit || kept_.contains(loop.number); }

  void walk(const Body& body) {
    for (const BodyNode& node : body)
      if (const auto* loop = std::get_if<Loop>(&node)) {
        path_.push_back({count_++, length_of(*loop) == 1});
        walk(loop->body);
        path_.pop_back();
      } else if (const auto* branch = std::get_if<If>(&node)) {
        walk(branch->then);
        walk(branch->otherwise);
      } else
        around_[std::get<StatementRef>(node).statement] = path_;
  }

  static bool moves(const std::vector<Expr>& index, uint32_t depth) {
    bool found = false;
    for (const Expr& e : index)
      scalar::visit(e, [&](const Expr& part) {
        const auto* it = as<scalar::Iter>(part);
        found = found || (it != nullptr && it->index == depth);
      });
    return found;
  }

  /// Of the loops that move the result and this operand of a sum of two's products alone, one.
  void keep_rows(uint32_t s) {
    const auto pair = summed_pair_of(text(s));
    if (!pair)
      return;
    for (const auto& [own, other] :
         {std::pair(pair->first, pair->second), std::pair(pair->second, pair->first)}) {
      std::optional<uint32_t> unit;
      bool has_rows = false;
      for (uint32_t depth = 0; depth < around_[s].size(); ++depth) {
        if (!moves(text(s).index, depth) || !moves(own->index, depth) || moves(other->index, depth))
          continue;
        has_rows = has_rows || stays(around_[s][depth]);
        unit = depth;
      }
      if (unit && !has_rows)
        kept_.insert(around_[s][*unit].number);
    }
  }

  /// A statement keeps a loop.
  void keep_last(uint32_t s) {
    const std::vector<Around>& around = around_[s];
    if (!around.empty() &&
        std::none_of(around.begin(), around.end(), [&](const Around& loop) { return stays(loop); }))
      kept_.insert(around.back().number);
  }

  /// What is made of a product's elements has its loops.
  bool follow_results() {
    const size_t before = kept_.size();
    for (uint32_t s = 0; s < program_.statements.size(); ++s)
      for (uint32_t reader = 0; reader < program_.statements.size(); ++reader)
        if (text(reader).op == ReduceOp::None) {
          follow(s, reader, text(reader).tensor, text(reader).index);
          scalar::visit(text(reader).value, [&](const Expr& e) {
            if (const auto* load = as<scalar::Load>(e))
              follow(s, reader, load->tensor, load->index);
          });
        }
    return kept_.size() > before;
  }

  void follow(uint32_t s, uint32_t reader, uint32_t tensor, const std::vector<Expr>& index) {
    if (tensor != text(s).tensor)
      return;
    for (size_t d = 0; d < index.size(); ++d) {
      const auto made = single_iterator(text(s).index[d]), read = single_iterator(index[d]);
      if (made && read && kept_.contains(around_[s][*made].number) &&
          around_[reader][*read].is_unit)
        kept_.insert(around_[reader][*read].number);
    }
  }

  const Program& program_;
  std::vector<std::vector<Around>> around_; ///< by statement: its loops
  std::vector<Around> path_;
  size_t count_ = 0;
  std::set<size_t> kept_;
};

/// Drops dimensions of one element that are never indexed by a loop.
class UnitDimensionRemover {
public:
  explicit UnitDimensionRemover(Program program) : program_(std::move(program)) {
    for (const Tensor& tensor : program_.tensors) {
      dropped_.emplace_back();
      for (const Expr& extent : tensor.shape)
        dropped_.back().push_back(scalar::constant_of(scalar::simplify(extent)) == 1);
    }
    for (const Statement& s : program_.statements) {
      keep_walked(s.tensor, s.index);
      scalar::visit(s.value, [&](const Expr& e) {
        if (const auto* load = as<scalar::Load>(e))
          keep_walked(load->tensor, load->index);
      });
    }
    for (std::vector<bool>& dropped : dropped_)
      if (std::find(dropped.begin(), dropped.end(), false) == dropped.end() && !dropped.empty())
        dropped.back() = false;
  }

  Program run() {
    for (Statement& s : program_.statements) {
      s.value = scalar::rewrite(s.value, [&](const Expr& e) {
        const auto* load = as<scalar::Load>(e);
        return load == nullptr
                   ? Expr()
                   : scalar::load(load->tensor, shorter(load->tensor, load->index), e.type());
      });
      s.index = shorter(s.tensor, s.index);
    }
    for (uint32_t t = 0; t < program_.tensors.size(); ++t)
      program_.tensors[t].shape = shorter(t, program_.tensors[t].shape);
    return std::move(program_);
  }

private:
  void keep_walked(uint32_t tensor, const std::vector<Expr>& index) {
    for (size_t d = 0; d < index.size(); ++d)
      if (scalar::constant_of(scalar::simplify(index[d])) != 0)
        dropped_[tensor][d] = false;
  }

  std::vector<Expr> shorter(uint32_t tensor, const std::vector<Expr>& list) const {
    std::vector<Expr> result;
    for (size_t d = 0; d < list.size(); ++d)
      if (!dropped_[tensor][d])
        result.push_back(list[d]);
    return result;
  }

  Program program_;
  std::vector<std::vector<bool>> dropped_; ///< by tensor and dimension
};

} // namespace

Program without_unit_dimensions(Program program) {
  const std::set<size_t> kept = UnitLoopChooser(program).kept();
  return UnitDimensionRemover(without_unit_loops(std::move(program), kept)).run();
}

} // namespace kawara::program
