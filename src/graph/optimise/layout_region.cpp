#include "graph/optimise/layout_region.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace kawara::graph::optimise {
namespace {

using rewrite::Type;

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool works_by_element(const Node& node) {
  return is_one_of(node.op, {"Abs",         "Add",       "Cast",     "Ceil",      "Clip",    "Cos",
                             "Div",         "Elu",       "Erf",      "Exp",       "Floor",   "Gelu",
                             "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log",     "Max",
                             "Min",         "Mish",      "Mul",      "Neg",       "PRelu",   "Pow",
                             "Reciprocal",  "Relu",      "Round",    "Selu",      "Sigmoid", "Sign",
                             "Sin",         "Softplus",  "Softsign", "Sqrt",      "Sub",     "Sum",
                             "Swish",       "Tanh",      "Where"});
}

bool works_along_an_axis(const Graph& graph, const Node& node) {
  return (node.op == "Concat" && node.attributes.count("axis") > 0) ||
         (node.op == "Softmax" && version_of(graph) >= 13);
}

class RegionFinder {
public:
  RegionFinder(const Edit& edit, const ValueTypes& types,
               const std::function<double(const Type&)>& seconds)
      : edit_(edit), types_(types), seconds_(seconds) {}

  std::vector<LayoutRegion> run() {
    for (size_t n = 0; n < edit_.nodes(); ++n)
      if (!edit_.is_removed(n) && is_free(edit_.node(n)))
        free_.insert(n);
    std::vector<LayoutRegion> regions;
    for (const size_t n : free_) {
      if (seen_.count(n) > 0)
        continue;
      region_ = {};
      numbers_.clear();
      is_consistent_ = true;
      grow(n);
      if (is_consistent_ && region_.transposes > 0)
        regions.push_back(std::move(region_));
    }
    return regions;
  }

private:
  size_t rank_of(ValueId id) const {
    const Type* type = id == kAbsent ? nullptr : types_.of(id);
    return type ? type->shape.size() : 0;
  }

  bool is_free(const Node& node) const {
    const Graph& graph = edit_.graph();
    if (!node.domain.empty() || node.outputs.size() != 1 || node.inputs.empty() ||
        (!works_by_element(node) && !works_along_an_axis(graph, node)))
      return false;
    const size_t rank = rank_of(node.outputs[0]);
    const auto moving = moving_operands(edit_, node);
    const bool has_rank = std::all_of(moving.begin(), moving.end(),
                                      [&](size_t k) { return rank_of(node.inputs[k]) == rank; });
    const bool has_small_constants =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
          const Tensor* constant = id == kAbsent ? nullptr : edit_.constant(id);
          return !constant || static_cast<size_t>(constant->rank()) <= rank;
        });
    return rank >= 2 && !moving.empty() && has_rank && has_small_constants;
  }

  /// The value that transpositions begin with, and the order that they bring it into.
  std::pair<ValueId, DimOrder> source_of(ValueId id) const {
    DimOrder order(rank_of(id));
    std::iota(order.begin(), order.end(), 0);
    for (const Node* node = edit_.maker_named(id, "Transpose"); node;
         node = edit_.maker_named(id, "Transpose")) {
      const DimOrder perm = integers_of(*node, "perm");
      if (perm.size() != order.size())
        break;
      order = after(perm, order);
      id = node->inputs[0];
    }
    return {id, order};
  }

  /// Adds a free node and all that is reached from it.
  void grow(size_t first) {
    DimOrder dims(rank_of(edit_.node(first).outputs[0]));
    std::iota(dims.begin(), dims.end(), 0);
    std::vector<size_t> open{first};
    place(first, dims);
    while (!open.empty() && is_consistent_) {
      const size_t n = open.back();
      open.pop_back();
      for (const size_t found : reach(n))
        open.push_back(found);
    }
  }

  void place(size_t node, const DimOrder& dims) {
    numbers_[node] = region_.nodes.size();
    seen_.insert(node);
    region_.nodes.push_back({node, dims});
  }

  /// Sources on both sides of a free node; free nodes that are new.
  std::vector<size_t> reach(size_t n) {
    const DimOrder dims = region_.nodes[numbers_[n]].dims;
    std::vector<size_t> found;
    for (const size_t k : moving_operands(edit_, edit_.node(n))) {
      const auto [value, order] = source_of(edit_.node(n).inputs[k]);
      visit(value, after(dims, inverse(order)), found);
    }
    visit(edit_.node(n).outputs[0], dims, found);
    return found;
  }

  /// A source whose dimensions have these numbers, its maker and its readers.
  void visit(ValueId value, const DimOrder& dims, std::vector<size_t>& found) {
    for (const LayoutSource& known : region_.sources)
      if (known.value == value) {
        is_consistent_ = is_consistent_ && known.dims == dims;
        return;
      }
    if (rank_of(value) != dims.size()) {
      is_consistent_ = false;
      return;
    }
    const size_t at = region_.sources.size();
    region_.sources.push_back({value, {}, dims, seconds_(*types_.of(value)), {}});
    const auto maker = edit_.maker(value);
    if (maker && free_.count(*maker) > 0) {
      meet(*maker, dims, found);
      region_.sources[at].maker = numbers_[*maker];
    }
    DimOrder same(dims.size());
    std::iota(same.begin(), same.end(), 0);
    add_demands(at, value, same, found);
  }

  void meet(size_t node, const DimOrder& dims, std::vector<size_t>& found) {
    if (const auto known = numbers_.find(node); known != numbers_.end()) {
      is_consistent_ = is_consistent_ && region_.nodes[known->second].dims == dims;
      return;
    }
    place(node, dims);
    found.push_back(node);
  }

  /// Readers of a value that is the source in this order.
  void add_demands(size_t source, ValueId value, const DimOrder& order,
                   std::vector<size_t>& found) {
    if (edit_.is_pinned(value))
      region_.sources[source].demands.push_back({std::nullopt, order, value});
    for (const size_t n : edit_.readers(value)) {
      const Node& node = edit_.node(n);
      const DimOrder perm = integers_of(node, "perm");
      if (is_op(node, "Transpose") && perm.size() == order.size()) {
        ++region_.transposes;
        add_demands(source, node.outputs[0], after(order, perm), found);
      } else if (free_.count(n) > 0) {
        meet(n, after(region_.sources[source].dims, order), found);
        region_.sources[source].demands.push_back({numbers_[n], order, value});
      } else {
        region_.sources[source].demands.push_back({std::nullopt, order, value});
      }
    }
  }

  const Edit& edit_;
  const ValueTypes& types_;
  const std::function<double(const Type&)>& seconds_;
  std::set<size_t> free_, seen_;
  LayoutRegion region_;
  std::map<size_t, size_t> numbers_; ///< of free nodes in the region
  bool is_consistent_ = true;
};

} // namespace

DimOrder after(const DimOrder& first, const DimOrder& second) {
  DimOrder both;
  for (const int64_t k : second)
    both.push_back(first[static_cast<size_t>(k)]);
  return both;
}

DimOrder inverse(const DimOrder& order) {
  DimOrder out(order.size());
  for (size_t k = 0; k < order.size(); ++k)
    out[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
  return out;
}

std::vector<size_t> moving_operands(const Edit& edit, const Node& node) {
  std::vector<size_t> out;
  for (size_t k = 0; k < node.inputs.size(); ++k)
    if (node.inputs[k] != kAbsent && !edit.constant(node.inputs[k]))
      out.push_back(k);
  return out;
}

std::vector<LayoutRegion> layout_regions(const Edit& edit, const ValueTypes& types,
                                         const std::function<double(const Type&)>& seconds) {
  return RegionFinder(edit, types, seconds).run();
}

} // namespace kawara::graph::optimise
