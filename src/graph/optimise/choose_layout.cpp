#include "graph/optimise/choose_layout.h"

#include "graph/optimise/layout_labels.h"
#include "graph/optimise/transpose_tensor.h"

#include <algorithm>
#include <map>

namespace kawara::graph::optimise {
namespace {

using rewrite::Type;

/// Dimension j of `to` is dimension order[j] of `from`; both have the same numbers.
DimOrder order_between(const DimOrder& from, const DimOrder& to) {
  return after(inverse(from), to);
}

/// The constant as it is broadcast in another order of the `order.size()` dimensions of its reader.
Tensor transposed_constant(const Tensor& given, const DimOrder& order) {
  Shape wide(order.size() - given.shape().size(), 1);
  wide.insert(wide.end(), given.shape().begin(), given.shape().end());
  return transposed_tensor(given.with_shape(wide), order);
}

/// Gives the nodes of one region their layouts.
class RegionChange {
public:
  RegionChange(Edit& edit, const LayoutRegion& region, const LayoutLabels& labels)
      : edit_(edit), region_(region), labels_(labels) {}

  void run() {
    // Readers with an order of their own may read what free nodes read, too, and get another value.
    for (const FreeNode& free : region_.nodes)
      written_.push_back(edit_.node(free.node));
    for (size_t s = 0; s < region_.sources.size(); ++s) {
      for (const LayoutDemand& demand : region_.sources[s].demands)
        source_of_[demand.seen] = s;
      bases_.push_back(base_of(region_.sources[s]));
    }
    for (size_t s = 0; s < region_.sources.size(); ++s)
      serve(s);
    for (size_t n = 0; n < region_.nodes.size(); ++n)
      change(n);
    for (Node& node : added_)
      edit_.add_node(std::move(node));
  }

private:
  DimOrder label_of(const LayoutSource& source) const {
    return source.maker ? labels_.of_nodes[*source.maker] : source.dims;
  }
  bool is_transposed(const LayoutSource& source) const { return label_of(source) != source.dims; }

  /// A result of the graph that has this layout already: a value of that name must be made.
  ValueId pinned_in(const LayoutSource& source, const DimOrder& layout) const {
    for (const LayoutDemand& demand : source.demands)
      if (edit_.is_pinned(demand.seen) && after(source.dims, demand.order) == layout)
        return demand.seen;
    return kAbsent;
  }

  /// The value that holds the source in its layout.
  ValueId base_of(const LayoutSource& source) {
    if (!is_transposed(source))
      return source.value;
    const ValueId pinned = pinned_in(source, label_of(source));
    return pinned != kAbsent
               ? free_again(pinned)
               : edit_.add_value(edit_.graph().values[source.value].name + ".transposed");
  }

  /// A result that another node will make.
  ValueId free_again(ValueId id) {
    if (edit_.maker_named(id, "Transpose"))
      edit_.remove(*edit_.maker(id));
    return id;
  }

  ValueId in_layout(size_t s, const DimOrder& layout) {
    const LayoutSource& source = region_.sources[s];
    if (layout == label_of(source))
      return bases_[s];
    const auto [at, is_new] = made_.emplace(std::pair{s, layout}, kAbsent);
    if (!is_new)
      return at->second;
    const ValueId pinned = pinned_in(source, layout);
    const bool is_free = pinned != kAbsent && pinned != bases_[s];
    const ValueId id = is_free
                           ? free_again(pinned)
                           : edit_.add_value(edit_.graph().values[source.value].name + ".in_order");
    at->second = id;
    added_.push_back({edit_.graph().values[id].name,
                      "Transpose",
                      "",
                      {bases_[s]},
                      {id},
                      {{"perm", order_between(label_of(source), layout)}}});
    return id;
  }

  /// Readers with an order of their own.
  void serve(size_t s) {
    const LayoutSource& source = region_.sources[s];
    for (const LayoutDemand& demand : source.demands) {
      if (demand.reader)
        continue;
      const ValueId id = in_layout(s, after(source.dims, demand.order));
      if (id == demand.seen)
        continue;
      if (!edit_.is_pinned(demand.seen)) {
        edit_.replace(demand.seen, id);
        continue;
      }
      if (named_.insert(demand.seen).second) { // a second result of the same elements
        free_again(demand.seen);
        added_.push_back(
            {edit_.graph().values[demand.seen].name, "Identity", "", {id}, {demand.seen}, {}});
      }
    }
  }

  void change(size_t n) {
    const FreeNode& free = region_.nodes[n];
    const DimOrder& label = labels_.of_nodes[n];
    const DimOrder order = order_between(free.dims, label);
    Node node = written_[n];
    const auto moving = moving_operands(edit_, node);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == kAbsent)
        continue;
      if (std::find(moving.begin(), moving.end(), k) == moving.end())
        node.inputs[k] = transposed(node.inputs[k], order);
      else if (const auto at = source_of_.find(node.inputs[k]); at != source_of_.end())
        node.inputs[k] = in_layout(at->second, label);
    }
    if (const auto axis = node.attributes.find("axis"); axis != node.attributes.end()) {
      const int64_t rank = static_cast<int64_t>(order.size()),
                    given = std::get<int64_t>(axis->second);
      axis->second = inverse(order)[static_cast<size_t>(given < 0 ? given + rank : given)];
    }
    for (ValueId& id : node.outputs)
      for (size_t s = 0; s < region_.sources.size(); ++s)
        if (region_.sources[s].value == id && region_.sources[s].maker) {
          id = bases_[s];
          break;
        }
    edit_.set(free.node, std::move(node));
  }

  ValueId transposed(ValueId id, const DimOrder& order) {
    const Tensor& constant = *edit_.constant(id);
    if (constant.elements() <= 1 || std::is_sorted(order.begin(), order.end()))
      return id;
    const std::string name = edit_.graph().values[id].name + ".transposed";
    return edit_.add_constant(name, transposed_constant(constant, order));
  }

  Edit& edit_;
  const LayoutRegion& region_;
  const LayoutLabels& labels_;
  std::vector<Node> written_;           ///< the free nodes, as they were
  std::vector<ValueId> bases_;          ///< by source
  std::map<ValueId, size_t> source_of_; ///< of what is read
  std::map<std::pair<size_t, DimOrder>, ValueId> made_;
  std::set<ValueId> named_;
  std::vector<Node> added_;
};

bool has_known_axis(const Node& node, size_t rank) {
  const auto at = node.attributes.find("axis");
  if (at == node.attributes.end())
    return true;
  const auto* axis = std::get_if<int64_t>(&at->second);
  const auto most = static_cast<int64_t>(rank);
  return axis && *axis >= -most && *axis < most;
}

/// Joining along the first dimension that counts puts values one behind the other, without a copy.
double seconds_of_join(const Node& node, const FreeNode& free, const DimOrder& layout,
                       const Type& type, double copy) {
  if (node.op != "Concat")
    return 0;
  const auto rank = static_cast<int64_t>(layout.size());
  const int64_t given = integer_of(node, "axis", 0), axis = given < 0 ? given + rank : given;
  for (const int64_t dim : layout) {
    const int64_t own = inverse(free.dims)[static_cast<size_t>(dim)];
    if (own == axis)
      return 0;
    if (type.shape[static_cast<size_t>(own)] != 1)
      return copy;
  }
  return copy;
}

/// Less than any transposition: among equals, nodes work in the order of the operators whose
/// kernels they can join.
constexpr double kPreference = 5e-9;

/// Layouts that operators with an order of their own make.
std::set<DimOrder> made_layouts(const Edit& edit, const LayoutRegion& region) {
  std::set<DimOrder> layouts;
  for (const LayoutSource& source : region.sources)
    if (!source.maker && edit.maker(source.value))
      layouts.insert(source.dims);
  return layouts;
}

} // namespace

Layouts choose_layout(Graph graph, const rewrite::Cost& cost) {
  Layouts out;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                   [](const Node& node) { return is_op(node, "Transpose"); })) {
    out.graph = std::move(graph);
    return out;
  }
  const ValueTypes types(graph);
  Edit edit(std::move(graph));
  const auto seconds = [&](const Type& type) {
    const auto moved = std::count_if(type.shape.begin(), type.shape.end(),
                                     [](int64_t extent) { return extent != 1; });
    return moved > 1 ? cost({"Transpose", {}, {&type}, {false}, &type}) : 0;
  };
  for (const LayoutRegion& region : layout_regions(edit, types, seconds)) {
    const std::set<DimOrder> made = made_layouts(edit, region);
    const NodeSeconds node_seconds = [&](const FreeNode& free, const DimOrder& layout) {
      const Node& node = edit.node(free.node);
      const Type& type = *types.of(node.outputs[0]);
      return seconds_of_join(node, free, layout, type, seconds(type)) +
             (made.empty() || made.count(layout) > 0 ? 0 : kPreference);
    };
    if (std::any_of(region.nodes.begin(), region.nodes.end(), [&](const FreeNode& free) {
          return !has_known_axis(edit.node(free.node), free.dims.size());
        }))
      continue;
    const LayoutLabels written = written_labels(region, node_seconds);
    const LayoutLabels best = cheapest_labels(region, node_seconds);
    if (best.seconds >= written.seconds && region.transposes <= best.transposes)
      continue;
    LayoutChoice choice{edit.node(region.nodes[0].node).name,
                        region.nodes.size(),
                        region.transposes,
                        best.transposes,
                        written.seconds,
                        best.seconds,
                        0};
    for (size_t n = 0; n < region.nodes.size(); ++n)
      choice.moved += best.of_nodes[n] != region.nodes[n].dims ? 1 : 0;
    RegionChange(edit, region, best).run();
    out.choices.push_back(std::move(choice));
  }
  out.graph = remove_dead(std::move(edit).done(), {});
  return out;
}

} // namespace kawara::graph::optimise
