#include "graph/optimise/passes.h"
#include "graph/optimise/value_view.h"

#include <algorithm>

namespace kawara::graph::optimise {
namespace {

bool is_reshape(const Node& node) {
  return is_op(node, "Reshape") || is_op(node, "Flatten") || is_op(node, "Squeeze") ||
         is_op(node, "Unsqueeze") || is_op(node, "Identity") || is_op(node, "Cast");
}

/// Nodes that move elements, and all of them.
struct Length {
  size_t moves = 0, nodes = 0;
  friend auto operator<=>(const Length&, const Length&) = default;
};

class ViewJoiner {
public:
  explicit ViewJoiner(Graph graph) : types_(graph), edit_(std::move(graph)) {}

  Graph run() {
    const size_t nodes = edit_.nodes();
    for (size_t n = 0; n < nodes; ++n)
      if (!edit_.is_removed(n) && edit_.node(n).outputs.size() == 1 && ends_chain(n))
        shorten(n);
    return std::move(edit_).done();
  }

private:
  /// Somebody wants the result for something else than another view of it.
  bool ends_chain(size_t n) const {
    const ValueId value = edit_.node(n).outputs[0];
    if (value == kAbsent)
      return false;
    const std::vector<size_t>& readers = edit_.readers(value);
    return edit_.is_pinned(value) || std::any_of(readers.begin(), readers.end(), [&](size_t r) {
             const auto own = view_of(edit_, types_, value);
             const Node& reader = edit_.node(r);
             return !own || reader.inputs.empty() || reader.inputs[0] != value ||
                    !std::all_of(reader.outputs.begin(), reader.outputs.end(), [&](ValueId id) {
                      const auto next = view_of(edit_, types_, id);
                      return next && next->base == own->base;
                    });
           });
  }

  void shorten(size_t n) {
    const ValueId value = edit_.node(n).outputs[0];
    const auto seen = view_of(edit_, types_, value);
    if (!seen || seen->through.empty() || seen->through.back() != n)
      return;
    const auto steps = views::steps_of(seen->view);
    if (!steps)
      return;
    if (views::is_whole(seen->view) && *extents_of(types_, seen->base) == steps->result &&
        !edit_.is_pinned(value)) {
      edit_.replace(value, seen->base);
      edit_.remove(n);
      return;
    }
    Length before;
    before.nodes = seen->through.size();
    for (const size_t k : seen->through)
      before.moves += is_reshape(edit_.node(k)) ? 0 : 1;
    const Shape base = *extents_of(types_, seen->base);
    const auto ops = view_ops(*steps, base);
    if (!ops || ops->empty() || !(Length{steps->moves(), ops->size()} < before))
      return;
    std::vector<Node> made;
    write_view(edit_, types_, made, seen->base, *ops, edit_.graph().values[value].name, value);
    edit_.set(n, std::move(made.back()));
    made.pop_back();
    for (Node& node : made)
      edit_.add_node(std::move(node));
  }

  ValueTypes types_;
  Edit edit_;
};

} // namespace

Graph join_views(Graph graph, const Evaluate&) {
  if (!may_write_views(graph))
    return graph;
  return ViewJoiner(std::move(graph)).run();
}

} // namespace kawara::graph::optimise
