#include "graph/optimise/attention/recognise_attention.h"

#include "graph/optimise/attention/attention_form.h"
#include "graph/optimise/attention/find_attention.h"

namespace kawara::graph::optimise {
namespace {

using rewrite::Type;

/// Attention in which a query that is shown no key gives zeros.
constexpr const char* kZeroingAttention = "ZeroingAttention";

class AttentionPass {
public:
  AttentionPass(Graph graph, AttentionUse use, const rewrite::Cost& cost)
      : types_(graph), edit_(std::move(graph)), use_(use), cost_(cost) {}

  Attentions run() {
    Attentions out;
    const size_t nodes = edit_.nodes();
    const bool looks = use_ != AttentionUse::Never && may_write_views(edit_.graph());
    for (size_t n = 0; n < nodes && looks; ++n) {
      if (edit_.is_removed(n))
        continue;
      if (const auto parts = find_attention(edit_, types_, n))
        if (const auto form = attention_form(edit_, types_, *parts))
          out.choices.push_back(decide(*parts, *form));
    }
    out.graph = std::move(edit_).done();
    return out;
  }

private:
  AttentionChoice decide(const AttentionParts& parts, const AttentionForm& form) {
    AttentionChoice choice;
    choice.node = edit_.node(parts.last).name;
    choice.is_flat = form.is_flat;
    for (const std::vector<size_t>* gone : {&parts.gone, &form.behind})
      for (const size_t n : *gone)
        choice.apart += cost_of(edit_.node(n));
    const std::vector<Node> nodes = nodes_of(parts, form);
    for (const Node& node : nodes)
      choice.whole += cost_of(node);
    choice.is_taken = use_ == AttentionUse::Always || choice.whole < choice.apart;
    if (choice.is_taken)
      put(parts, form, nodes);
    return choice;
  }

  void put(const AttentionParts& parts, const AttentionForm& form, const std::vector<Node>& nodes) {
    for (const std::vector<size_t>* gone : {&parts.gone, &form.behind})
      for (const size_t n : *gone)
        if (!edit_.is_removed(n))
          edit_.remove(n);
    for (const Node& node : nodes)
      edit_.add_node(node);
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

  std::vector<Node> nodes_of(const AttentionParts& parts, const AttentionForm& form) {
    std::vector<Node> nodes;
    const std::string& name = edit_.node(parts.last).name;
    Node whole{name, parts.zeroes_nan ? kZeroingAttention : "Attention",
               "",   {},
               {},   {{"scale", parts.scale}}};
    for (const FormedOperand* operand : {&form.query, &form.key, &form.value})
      whole.inputs.push_back(
          write_view(edit_, types_, nodes, operand->base, operand->ops, name + ".operand"));
    if (const ValueId mask = mask_of(parts, form, name, nodes); mask != kAbsent)
      whole.inputs.push_back(mask);
    if (form.is_flat)
      whole.attributes.insert({{"q_num_heads", form.query_heads}, {"kv_num_heads", form.heads}});
    if (parts.is_causal)
      whole.attributes["is_causal"] = int64_t{1};
    const ValueId final = edit_.node(form.last).outputs[0];
    const DataType elem = types_.of(final)->elem;
    whole.outputs = {form.result.empty() ? final : edit_.add_value(name + ".heads")};
    tell_extents(types_, whole.outputs[0], elem, form.result_shape);
    nodes.push_back(std::move(whole));
    if (!form.result.empty())
      write_view(edit_, types_, nodes, nodes.back().outputs[0], form.result, name + ".result",
                 final);
    return nodes;
  }

  /// All masks in one: added, and a choice as 0 where scores are kept and a number that hides them
  /// elsewhere.
  ValueId mask_of(const AttentionParts& parts, const AttentionForm& form, const std::string& name,
                  std::vector<Node>& nodes) {
    ValueId sum = kAbsent;
    Shape extents;
    const auto add = [&](ValueId mask, const Shape& shape, DataType elem) {
      extents = sum == kAbsent ? shape : *rewrite::broadcast_shapes(extents, shape);
      if (sum != kAbsent) {
        const ValueId both = edit_.add_value(name + ".masks");
        tell_extents(types_, both, elem, extents);
        nodes.push_back({edit_.graph().values[both].name, "Add", "", {sum, mask}, {both}, {}});
        mask = both;
      }
      sum = mask;
    };
    const DataType elem = types_.of(parts.value.base)->elem;
    for (const FormedOperand& mask : form.masks)
      add(write_view(edit_, types_, nodes, mask.base, mask.ops, name + ".mask"), mask.shape, elem);
    if (form.chosen) {
      const ValueId chosen =
          write_view(edit_, types_, nodes, form.chosen->base, form.chosen->ops, name + ".chosen");
      add(choice(parts, chosen, form.chosen->shape, elem, name, nodes), form.chosen->shape, elem);
    }
    return sum;
  }

  ValueId choice(const AttentionParts& parts, ValueId chosen, const Shape& shape, DataType elem,
                 const std::string& name, std::vector<Node>& nodes) {
    const ValueId zero = edit_.add_constant(name + ".kept", Tensor(elem, {})),
                  mask = edit_.add_value(name + ".mask");
    types_.tell(zero, {elem, {}});
    tell_extents(types_, mask, elem, shape);
    std::vector<ValueId> inputs{chosen, zero, parts.otherwise};
    if (parts.keeps_false)
      std::swap(inputs[1], inputs[2]);
    nodes.push_back({edit_.graph().values[mask].name, "Where", "", std::move(inputs), {mask}, {}});
    return mask;
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
