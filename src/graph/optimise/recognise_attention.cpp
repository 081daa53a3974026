#include "graph/optimise/recognise_attention.h"

#include "graph/optimise/find_attention.h"

namespace kawara::graph::optimise {
namespace {

using rewrite::Type;

/// Order that exchanges heads and rows, and the one that also turns keys.
const std::vector<int64_t> kSwapped{0, 2, 1, 3}, kSwappedTransposed{0, 2, 3, 1};

/// Operands with all heads of a row side by side.
struct FlatForm {
  ValueId query = kAbsent, key = kAbsent, value = kAbsent; ///< [batch, rows, heads, elements]
  size_t joined = 0;                                       ///< the Reshape of the result
  std::vector<size_t> gone;                                ///< besides the parts
};

class AttentionPass {
public:
  AttentionPass(Graph graph, AttentionUse use, const rewrite::Cost& cost)
      : types_(graph), edit_(std::move(graph)), use_(use), cost_(cost) {}

  Attentions run() {
    Attentions out;
    const size_t nodes = edit_.nodes();
    for (size_t n = 0; n < nodes && use_ != AttentionUse::Never; ++n)
      if (const auto parts = find_attention(edit_, types_, n))
        out.choices.push_back(decide(*parts));
    out.graph = std::move(edit_).done();
    return out;
  }

private:
  AttentionChoice decide(const AttentionParts& parts) {
    AttentionChoice choice;
    choice.node = edit_.node(parts.last).name;
    const auto flat = flat_form(parts);
    choice.is_flat = flat.has_value();
    for (const size_t n : parts.gone)
      choice.apart += cost_of(edit_.node(n));
    const std::vector<size_t> more = flat ? flat->gone : std::vector<size_t>{};
    for (const size_t n : more)
      choice.apart += cost_of(edit_.node(n));
    std::vector<Node> nodes = flat ? flat_nodes(parts, *flat) : plain_nodes(parts);
    for (const Node& node : nodes)
      choice.whole += cost_of(node);
    choice.is_taken = use_ == AttentionUse::Always || choice.whole < choice.apart;
    if (choice.is_taken)
      put(parts, more, std::move(nodes));
    return choice;
  }

  void put(const AttentionParts& parts, const std::vector<size_t>& more, std::vector<Node> nodes) {
    for (const std::vector<size_t>* gone : {&parts.gone, &more})
      for (const size_t n : *gone)
        if (!edit_.is_removed(n))
          edit_.remove(n);
    for (Node& node : nodes)
      edit_.add_node(std::move(node));
  }

  double cost_of(const Node& node) const {
    std::vector<const Type*> operands;
    std::vector<bool> constant;
    for (const ValueId id : node.inputs) {
      if (id == kAbsent)
        continue;
      operands.push_back(types_.of(id));
      constant.push_back(edit_.constant(id) != nullptr);
    }
    rewrite::Attrs attributes;
    for (const char* name : {"q_num_heads", "kv_num_heads"})
      if (const int64_t count = integer_of(node, name, 0); count > 0)
        attributes[name] = count;
    return cost_({node.op, attributes, operands, constant, types_.of(node.outputs[0])});
  }

  /// [batch, rows, heads, elements], if the value has heads and rows exchanged; noted if that is its only use.
  ValueId swapped_from(ValueId id, const std::vector<int64_t>& order, FlatForm& form) const {
    const Node* node = transposed(edit_, id, order);
    if (!node || !types_.of(node->inputs[0]))
      return kAbsent;
    const auto& shape = types_.of(node->inputs[0])->shape;
    if (rewrite::is_symbol(shape[2]) || rewrite::is_symbol(shape[3]))
      return kAbsent;
    if (edit_.is_private(id))
      form.gone.push_back(*edit_.maker(id));
    return node->inputs[0];
  }

  std::optional<FlatForm> flat_form(const AttentionParts& parts) const {
    FlatForm form;
    if (types_.of(parts.value)->shape.size() != 4)
      return std::nullopt;
    form.query = swapped_from(parts.query, kSwapped, form);
    form.key =
        swapped_from(parts.key, parts.is_key_transposed ? kSwappedTransposed : kSwapped, form);
    form.value = swapped_from(parts.value, kSwapped, form);
    if (form.query == kAbsent || form.key == kAbsent || form.value == kAbsent)
      return std::nullopt;
    ValueId result = edit_.node(parts.last).outputs[0];
    for (const char* op : {"Transpose", "Reshape"}) {
      if (!edit_.is_private(result))
        return std::nullopt;
      const size_t reader = edit_.readers(result).front();
      if (!is_op(edit_.node(reader), op) || edit_.node(reader).inputs[0] != result)
        return std::nullopt;
      form.gone.push_back(form.joined = reader);
      result = edit_.node(reader).outputs[0];
    }
    const Node& back = edit_.node(form.gone[form.gone.size() - 2]);
    const Type *whole = types_.of(back.outputs[0]), *joined = types_.of(result);
    if (integers_of(back, "perm") != kSwapped || !whole || !joined ||
        joined->shape != joined_shape(whole->shape))
      return std::nullopt;
    return form;
  }

  /// [batch, rows, heads * elements]
  static Shape joined_shape(const Shape& shape) {
    return {shape[0], shape[1], shape[2] * shape[3]};
  }

  std::vector<Node> flat_nodes(const AttentionParts& parts, const FlatForm& form) {
    std::vector<Node> nodes;
    const std::string& name = edit_.node(parts.last).name;
    Node whole{name, "Attention", "", {}, edit_.node(form.joined).outputs, {}};
    for (const ValueId id : {form.query, form.key, form.value})
      whole.inputs.push_back(flattened(id, name, nodes));
    const int64_t heads = types_.of(form.query)->shape[2];
    whole.attributes = {{"q_num_heads", heads}, {"kv_num_heads", heads}};
    finish(parts, std::move(whole), nodes);
    return nodes;
  }

  /// The value that a Reshape took apart, or a Reshape that puts it together.
  ValueId flattened(ValueId id, const std::string& name, std::vector<Node>& nodes) {
    const Shape wanted = joined_shape(types_.of(id)->shape);
    const Node* split = edit_.maker_named(id, "Reshape");
    const Type* before = split ? types_.of(split->inputs[0]) : nullptr;
    if (before && before->shape == wanted)
      return split->inputs[0];
    Tensor shape(DataType::I64, {3}); // as it is, as it is, and all the rest
    shape.as<int64_t>()[2] = -1;
    return added(nodes, "Reshape", name + ".flat", {id, constant(name + ".rows", shape)}, {},
                 {types_.of(id)->elem, wanted});
  }

  std::vector<Node> plain_nodes(const AttentionParts& parts) {
    std::vector<Node> nodes;
    const Node& last = edit_.node(parts.last);
    const bool has_batch = types_.of(parts.value)->shape.size() == 4;
    const ValueId key =
        parts.is_key_transposed ? key_by_rows(parts.key, last.name, nodes) : parts.key;
    Node whole{last.name, "Attention", "", {}, last.outputs, {}};
    for (const ValueId id : {parts.query, key, parts.value})
      whole.inputs.push_back(has_batch ? id : unsqueezed(id, last.name, nodes));
    if (!has_batch) {
      const Type result = with_batch(*types_.of(last.outputs[0]));
      whole.outputs = {edit_.add_value(last.name + ".heads")};
      types_.tell(whole.outputs[0], result);
    }
    finish(parts, whole, nodes);
    if (!has_batch)
      nodes.push_back(change_of_rank("Squeeze", whole.outputs[0], last.outputs[0], last.name));
    return nodes;
  }

  static Type with_batch(Type type) {
    type.shape.insert(type.shape.begin(), 1);
    return type;
  }

  ValueId unsqueezed(ValueId id, const std::string& name, std::vector<Node>& nodes) {
    const ValueId out = edit_.add_value(name + ".batch");
    types_.tell(out, with_batch(*types_.of(id)));
    nodes.push_back(change_of_rank("Unsqueeze", id, out, name));
    return out;
  }

  /// Squeeze or Unsqueeze of the first dimension.
  Node change_of_rank(const std::string& op, ValueId from, ValueId to, const std::string& name) {
    Node node{name + "." + edit_.graph().values[to].name, op, "", {from}, {to}, {}};
    if (version_of(edit_.graph()) >= 13)
      node.inputs.push_back(constant(name + ".first", Tensor(DataType::I64, {1})));
    else
      node.attributes["axes"] = std::vector<int64_t>{0};
    return node;
  }

  /// Keys one after the other, from a value that has their elements in columns.
  ValueId key_by_rows(ValueId id, const std::string& name, std::vector<Node>& nodes) {
    Type type = *types_.of(id);
    const Node* twice = transposed(edit_, id, kSwappedTransposed);
    const bool has_batch = type.shape.size() == 4;
    std::swap(type.shape[type.shape.size() - 1], type.shape[type.shape.size() - 2]);
    const std::vector<int64_t> order = twice       ? kSwapped
                                       : has_batch ? std::vector<int64_t>{0, 1, 3, 2}
                                                   : std::vector<int64_t>{0, 2, 1};
    return added(nodes, "Transpose", name + ".keys", {twice ? twice->inputs[0] : id},
                 {{"perm", order}}, type);
  }

  /// Mask, scale and position among the nodes.
  void finish(const AttentionParts& parts, Node whole, std::vector<Node>& nodes) {
    if (parts.mask != kAbsent)
      whole.inputs.push_back(parts.mask);
    if (parts.chosen != kAbsent)
      whole.inputs.push_back(chosen_mask(parts, whole.name, nodes));
    whole.attributes["scale"] = parts.scale;
    if (parts.is_causal)
      whole.attributes["is_causal"] = int64_t{1};
    nodes.push_back(std::move(whole));
  }

  /// 0 where scores are kept, a number that hides them elsewhere.
  ValueId chosen_mask(const AttentionParts& parts, const std::string& name,
                      std::vector<Node>& nodes) {
    const Type scores{types_.of(parts.value)->elem, types_.of(parts.chosen)->shape};
    const ValueId zero = constant(name + ".kept", Tensor(scores.elem, {}));
    std::vector<ValueId> inputs{parts.chosen, zero, parts.otherwise};
    if (parts.keeps_false)
      std::swap(inputs[1], inputs[2]);
    return added(nodes, "Where", name + ".mask", inputs, {}, scores);
  }

  ValueId constant(const std::string& name, const Tensor& tensor) {
    const ValueId id = edit_.add_constant(name, tensor);
    types_.tell(id, {tensor.type(), tensor.shape()});
    return id;
  }

  ValueId added(std::vector<Node>& nodes, const std::string& op, const std::string& name,
                std::vector<ValueId> inputs, Attributes attributes, Type type) {
    const ValueId id = edit_.add_value(name);
    types_.tell(id, std::move(type));
    nodes.push_back(
        {edit_.graph().values[id].name, op, "", std::move(inputs), {id}, std::move(attributes)});
    return id;
  }

  ValueTypes types_;
  Edit edit_;
  AttentionUse use_;
  const rewrite::Cost& cost_;
};

} // namespace

Attentions recognise_attention(Graph graph, AttentionUse use, const rewrite::Cost& cost) {
  AttentionPass pass(std::move(graph), use, cost);
  Attentions out = pass.run();
  out.graph = remove_dead(std::move(out.graph), {});
  return out;
}

} // namespace kawara::graph::optimise
