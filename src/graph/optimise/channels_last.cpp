#include "graph/optimise/channels_last.h"

#include "graph/optimise/edit.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

namespace kawara::graph {
namespace {

using optimise::integer_of;
using optimise::integers_of;
using optimise::is_op;

constexpr int64_t kFewChannels = 16; ///< fewer are too few for a step of a product
constexpr int64_t kChannelsOfBlock = 8;
constexpr int64_t kMostTaps = 64; ///< of a window that is written out
/// Channels of narrow floats in 128 bytes, and of groups that are multiplied together at most
/// (docs/notes/grouped_convolutions.md).
constexpr int64_t kChannelsOfLine = 64, kWidestTogether = 192;
constexpr int64_t kFewGroups = 4, kWidestOfThin = 512;
constexpr int64_t kOnnxBf16 = 16, kOnnxF16 = 10;

/// Computed element by element, of one image.
bool is_unary(const Node& node) {
  static constexpr std::array<std::string_view, 20> kUnary = {
      "Relu", "Clip",  "Sigmoid",  "HardSwish", "HardSigmoid", "LeakyRelu", "Elu",
      "Tanh", "Gelu",  "Mish",     "Cast",      "Abs",         "Neg",       "Exp",
      "Sqrt", "Swish", "Softplus", "Selu",      "Identity",    "Erf"};
  return node.domain.empty() && std::find(kUnary.begin(), kUnary.end(), node.op) != kUnary.end();
}

/// Computed element by element, of several.
bool is_nary(const Node& node) {
  static constexpr std::array<std::string_view, 7> kNary = {"Add", "Sub", "Mul", "Div",
                                                            "Max", "Min", "Sum"};
  return node.domain.empty() && std::find(kNary.begin(), kNary.end(), node.op) != kNary.end();
}

/// `element(at)` for every element of a shape, in order.
template <class F> void each_index(const Shape& shape, const F& element) {
  int64_t elements = 1;
  for (const int64_t n : shape)
    elements *= n;
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t k = 0; k < elements; ++k) {
    element(k, at);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
  }
}

/// Elements of `from`, by the place that `place(at)` names; negative: zero.
template <class F> Tensor gathered(const Tensor& from, const Shape& shape, const F& place) {
  Tensor out(from.type(), shape);
  const auto bytes = static_cast<size_t>(bytes_of(from.type()));
  each_index(shape, [&](int64_t k, const std::vector<int64_t>& at) {
    const int64_t source = place(at);
    std::byte* to = out.data() + static_cast<size_t>(k) * bytes;
    if (source < 0)
      std::memset(to, 0, bytes);
    else
      std::memcpy(to, from.data() + static_cast<size_t>(source) * bytes, bytes);
  });
  return out;
}

class LayoutChanger {
public:
  LayoutChanger(Graph graph, ChannelsLastForm form, int64_t fewest_filters)
      : graph_(std::move(graph)), form_(form), fewest_filters_(fewest_filters) {
    for (const Value& value : graph_.values)
      names_.insert(value.name);
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.inputs)
        ++readers_[id];
      for (const auto& [name, attribute] : node.attributes)
        if (const auto* sub = std::get_if<GraphPtr>(&attribute))
          for (const Capture& capture : (*sub)->captures)
            ++readers_[capture.outer];
    }
    for (const ValueId id : graph_.outputs)
      ++readers_[id];
  }

  ChannelsLastEffect run() {
    const std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (const Node& node : nodes)
      if (!change(node))
        keep(node);
    for (const ValueId id : graph_.outputs)
      turn_back(id);
    return {std::move(graph_), convolutions_, transpositions_};
  }

private:
  ValueId add_value(const std::string& name) {
    std::string unique = name;
    while (!names_.insert(unique).second)
      unique += "_";
    graph_.values.push_back({unique, {}});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }
  std::string name_of_value(ValueId id) const { return graph_.values[id].name; }

  const Tensor* constant(ValueId id) const {
    const auto at = graph_.initializers.find(id);
    return at == graph_.initializers.end() ? nullptr : &at->second;
  }

  ValueId add_constant(const std::string& name, Tensor tensor) {
    const ValueId id = add_value(name);
    graph_.initializers[id] = std::move(tensor);
    return id;
  }

  ValueId add_node(const Node& like, std::string op, std::vector<ValueId> inputs,
                   Attributes attributes) {
    const ValueId out = add_value(name_of_value(like.outputs[0]) + ".last");
    graph_.nodes.push_back(
        {like.name, std::move(op), "", std::move(inputs), {out}, std::move(attributes)});
    return out;
  }

  bool is_transposed(ValueId id) const { return id != kAbsent && transposed_.count(id) > 0; }

  /// The image with its channels last.
  ValueId transposed(ValueId id) {
    if (const auto at = transposed_.find(id); at != transposed_.end())
      return at->second;
    const ValueId out = add_value(name_of_value(id) + ".last");
    transpositions_ += single_elements_.count(id) > 0 ? 0 : 1;
    graph_.nodes.push_back({name_of_value(out),
                            "Transpose",
                            "",
                            {id},
                            {out},
                            {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}});
    transposed_[id] = out;
    return out;
  }

  /// The image as it was, for whoever wants it so.
  void turn_back(ValueId id) {
    if (!is_transposed(id) || !is_gone_.count(id))
      return;
    is_gone_.erase(id);
    transpositions_ += single_elements_.count(id) > 0 ? 0 : 1;
    graph_.nodes.push_back({name_of_value(id) + ".first",
                            "Transpose",
                            "",
                            {transposed_[id]},
                            {id},
                            {{"perm", std::vector<int64_t>{0, 3, 1, 2}}}});
  }

  /// From here on `id` is there with its channels last only.
  void set_transposed(ValueId id, ValueId last) {
    transposed_[id] = last;
    is_gone_.insert(id);
  }

  void keep(const Node& node) {
    for (const ValueId id : node.inputs)
      if (id != kAbsent)
        turn_back(id);
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* sub = std::get_if<GraphPtr>(&attribute))
        for (const Capture& capture : (*sub)->captures)
          turn_back(capture.outer);
    graph_.nodes.push_back(node);
  }

  bool change(const Node& node) {
    if (node.outputs.size() != 1 || node.inputs.empty() || node.inputs[0] == kAbsent)
      return false;
    if (is_op(node, "Conv"))
      return change_convolution(node);
    if (is_op(node, "Concat"))
      return change_concatenation(node);
    if (is_unary(node) || is_nary(node))
      return change_map(node);
    if (!is_transposed(node.inputs[0]))
      return false;
    const std::vector<int64_t> window = integers_of(node, "kernel_shape");
    const bool is_padded = form_ == ChannelsLastForm::Padded;
    if (is_op(node, "MaxPool") && window.size() == 2 &&
        (is_padded || window[0] * window[1] <= kMostTaps)) {
      set_transposed(node.outputs[0],
                     add_node(node, is_padded ? "ChannelsLastPaddedMaxPool" : "ChannelsLastMaxPool",
                              {transposed(node.inputs[0])}, node.attributes));
      return true;
    }
    if (is_padded && is_op(node, "Resize"))
      return change_resize(node);
    if (is_op(node, "GlobalAveragePool")) { // its elements are in the same order either way
      single_elements_.insert(node.outputs[0]);
      graph_.nodes.push_back({node.name,
                              "ChannelsLastGlobalAveragePool",
                              "",
                              {transposed(node.inputs[0])},
                              node.outputs,
                              {}});
      return true;
    }
    return false;
  }

  bool change_convolution(const Node& node) {
    const Tensor* weights = constant(node.inputs[1]);
    if (weights == nullptr || weights->shape().size() != 4)
      return false;
    const Shape& shape = weights->shape(); // m, c, r, s
    const std::vector<int64_t> window = integers_of(node, "kernel_shape");
    if (!window.empty() && window != std::vector<int64_t>{shape[2], shape[3]})
      return false; // refused by the rule of the operator
    const int64_t groups = integer_of(node, "group", 1);
    if (groups == shape[0] && shape[1] == 1 && groups != 1)
      return change_depthwise(node, *weights);
    if (groups != 1)
      return change_grouped(node, *weights, groups);
    if (shape[0] < fewest_filters_)
      return false;
    ++convolutions_;
    if (form_ == ChannelsLastForm::Padded)
      return change_padded_convolution(node, shape);
    if (shape[1] < kFewChannels)
      return change_first_convolution(node, *weights);
    if (shape[1] % kChannelsOfBlock != 0)
      return false;
    const ValueId image = transposed(node.inputs[0]);
    const ValueId reordered = add_constant(
        name_of_value(node.inputs[1]) + ".last",
        gathered(*weights, {shape[2], shape[3], shape[0], shape[1]},
                 [&](const std::vector<int64_t>& at) {
                   return ((at[2] * shape[1] + at[3]) * shape[2] + at[0]) * shape[3] + at[1];
                 }));
    finish_convolution(node, "ChannelsLastConv", {image, reordered}, node.attributes);
    return true;
  }

  /// Groups of narrow floats are products of their own on tensor cores. Several that make a line of
  /// channels are one, whose filters have zeros for the channels of the others: these cost less
  /// than rows that tensor cores cannot fill.
  bool change_grouped(const Node& node, const Tensor& weights, int64_t groups) {
    const Shape& shape = weights.shape(); // m, c of a group, r, s
    const bool is_narrow = weights.type() == DataType::F16 || weights.type() == DataType::BF16;
    if (form_ != ChannelsLastForm::Windows || !is_narrow || groups < 1 || shape[0] % groups != 0)
      return false;
    const int64_t together = groups_together(groups, shape[1]);
    const int64_t filters = shape[0] / groups * together, channels = shape[1] * together;
    if (filters % kChannelsOfBlock != 0 || channels % kChannelsOfBlock != 0 ||
        filters * channels < kFewChannels * kFewChannels)
      return false;
    ++convolutions_;
    Shape wanted = {shape[2], shape[3], groups / together, filters, channels};
    const auto place = [&](const std::vector<int64_t>& at) {
      const size_t last = at.size() - 1;
      const int64_t whole = at.size() == 5 ? at[2] : 0;
      const int64_t filter = whole * filters + at[last - 1], channel = whole * channels + at[last];
      if (filter / (shape[0] / groups) != channel / shape[1])
        return int64_t{-1};
      return ((filter * shape[1] + channel % shape[1]) * shape[2] + at[0]) * shape[3] + at[1];
    };
    if (groups == together)
      wanted.erase(wanted.begin() + 2);
    const ValueId reordered =
        add_constant(name_of_value(node.inputs[1]) + ".last", gathered(weights, wanted, place));
    finish_convolution(node, "ChannelsLastConv", {transposed(node.inputs[0]), reordered},
                       node.attributes);
    return true;
  }

  /// The fewest groups whose channels fill lines that TMA brings at once, where these are narrow;
  /// all of a few, or of some too narrow to be rows of a product; else each by itself.
  static int64_t groups_together(int64_t groups, int64_t channels) {
    for (int64_t n = 1; n <= groups && n * channels <= kWidestTogether; ++n)
      if (groups % n == 0 && n * channels % kChannelsOfLine == 0)
        return n;
    const bool are_few = groups <= kFewGroups;
    const bool are_thin = channels < kFewChannels && groups * channels <= kWidestOfThin;
    return are_few || are_thin ? groups : 1;
  }

  /// An image of few channels is read as it is.
  bool change_padded_convolution(const Node& node, const Shape& weights) {
    Attributes how = node.attributes;
    const bool is_first = weights[1] < kFewChannels && !is_transposed(node.inputs[0]);
    if (is_first)
      how["channels_first"] = int64_t{1};
    const ValueId image = is_first ? node.inputs[0] : transposed(node.inputs[0]);
    if (single_elements_.count(node.inputs[0]) > 0)
      single_elements_.insert(node.outputs[0]);
    finish_convolution(node, "ChannelsLastPaddedConv", {image, node.inputs[1]}, std::move(how));
    return true;
  }

  /// By constant factors or sizes, or by an image's own.
  bool change_resize(const Node& node) {
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = transposed(node.inputs[0]);
    for (size_t k = 1; k < inputs.size(); ++k) {
      const Tensor* values = inputs[k] == kAbsent ? nullptr : constant(inputs[k]);
      if (inputs[k] == kAbsent || (values != nullptr && values->elements() == 0))
        continue;
      if (values == nullptr || values->elements() != 4 || node.attributes.count("axes") > 0)
        return false;
      inputs[k] = add_constant(name_of_value(inputs[k]) + ".last",
                               gathered(*values, {4}, [](const std::vector<int64_t>& at) {
                                 static constexpr std::array<int64_t, 4> kFrom = {0, 2, 3, 1};
                                 return kFrom[static_cast<size_t>(at[0])];
                               }));
    }
    set_transposed(node.outputs[0], add_node(node, "Resize", inputs, node.attributes));
    return true;
  }

  /// One filter a channel.
  bool change_depthwise(const Node& node, const Tensor& weights) {
    const Shape& shape = weights.shape(); // c, 1, r, s
    const bool is_padded = form_ == ChannelsLastForm::Padded;
    if (!is_transposed(node.inputs[0]) || (!is_padded && shape[2] * shape[3] > kMostTaps))
      return false;
    ++convolutions_;
    const ValueId reordered = add_constant(
        name_of_value(node.inputs[1]) + ".last",
        gathered(weights, {shape[2], shape[3], shape[0]}, [&](const std::vector<int64_t>& at) {
          return (at[2] * shape[2] + at[0]) * shape[3] + at[1];
        }));
    finish_convolution(node, is_padded ? "ChannelsLastPaddedDepthwise" : "ChannelsLastDepthwise",
                       {transposed(node.inputs[0]), reordered}, node.attributes);
    return true;
  }

  void finish_convolution(const Node& node, std::string op, std::vector<ValueId> inputs,
                          Attributes attributes) {
    for (const char* name : {"group", "kernel_shape"})
      attributes.erase(name);
    if (node.inputs.size() > 2 && node.inputs[2] != kAbsent)
      inputs.push_back(node.inputs[2]);
    set_transposed(node.outputs[0],
                   add_node(node, std::move(op), std::move(inputs), std::move(attributes)));
  }

  /// Blocks of stride x stride elements with all their channels become the elements of another
  /// image, of which the window has whole ones.
  bool change_first_convolution(const Node& node, const Tensor& weights) {
    const Shape& shape = weights.shape();
    std::vector<int64_t> strides = integers_of(node, "strides");
    if (strides.empty())
      strides = {1, 1};
    const std::vector<int64_t> dilations = integers_of(node, "dilations");
    const bool is_dilated =
        std::any_of(dilations.begin(), dilations.end(), [](int64_t n) { return n != 1; });
    const std::string pad = optimise::word_of(node, "auto_pad", "NOTSET");
    if (is_dilated || pad != "NOTSET" || strides.size() != 2)
      return false;
    const int64_t used = strides[0] * strides[1] * shape[1];
    const int64_t elements = (used + kChannelsOfBlock - 1) / kChannelsOfBlock * kChannelsOfBlock;
    const int64_t rows = (shape[2] + strides[0] - 1) / strides[0],
                  columns = (shape[3] + strides[1] - 1) / strides[1];
    Attributes how = node.attributes;
    how.erase("group");
    turn_back(node.inputs[0]);
    how["kernel_shape"] = std::vector<int64_t>{shape[2], shape[3]};
    const ValueId image = without_cast(node.inputs[0], how);
    const ValueId blocks = add_node(node, "ChannelsLastBlocks", {image}, std::move(how));
    const Tensor sorted = gathered(
        weights, {rows, 1, shape[0], columns * elements}, [&](const std::vector<int64_t>& at) {
          const int64_t element = at[3] % elements;
          const int64_t c = element % shape[1], beside = element / shape[1];
          const int64_t r = at[0] * strides[0] + beside / strides[1],
                        s = at[3] / elements * strides[1] + beside % strides[1];
          if (element >= used || r >= shape[2] || s >= shape[3])
            return int64_t{-1};
          return ((at[2] * shape[1] + c) * shape[2] + r) * shape[3] + s;
        });
    finish_convolution(node, "ChannelsLastConv",
                       {blocks, add_constant(name_of_value(node.inputs[1]) + ".last", sorted)}, {});
    return true;
  }

  /// What a conversion to narrow floats that nobody else reads is made of; the type is an attribute
  /// of the reader then.
  ValueId without_cast(ValueId id, Attributes& reader) {
    const auto cast = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& made) {
      return is_op(made, "Cast") && made.outputs[0] == id;
    });
    const int64_t to = cast != graph_.nodes.end() ? integer_of(*cast, "to", 0) : 0;
    if ((to != kOnnxBf16 && to != kOnnxF16) || readers_[id] != 1)
      return id;
    reader["type"] = std::string(to == kOnnxBf16 ? "bf16" : "f16");
    const ValueId wide = cast->inputs[0];
    graph_.nodes.erase(cast);
    return wide;
  }

  bool change_concatenation(const Node& node) {
    const int64_t axis = integer_of(node, "axis", 0);
    const bool are_transposed = std::all_of(node.inputs.begin(), node.inputs.end(),
                                            [&](ValueId id) { return is_transposed(id); });
    if (!are_transposed || (axis != 1 && axis != -3))
      return false;
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs)
      inputs.push_back(transposed(id));
    set_transposed(node.outputs[0], add_node(node, "Concat", inputs, {{"axis", int64_t{3}}}));
    return true;
  }

  /// Operands are such images, or numbers; constants of one value a channel are numbers for each.
  bool change_map(const Node& node) {
    std::vector<ValueId> inputs;
    bool has_image = false;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId id = node.inputs[k];
      const Tensor* number = id == kAbsent ? nullptr : constant(id);
      if (is_transposed(id)) {
        has_image = true;
        inputs.push_back(transposed(id));
      } else if (id == kAbsent ||
                 (number != nullptr && number->elements() == 1 && number->shape().size() <= 4))
        inputs.push_back(id);
      else if (number != nullptr && is_nary(node) && is_per_channel(number->shape()))
        inputs.push_back(
            add_constant(name_of_value(id) + ".last", number->with_shape({number->elements()})));
      else
        return false;
    }
    if (!has_image || (is_unary(node) && !is_transposed(node.inputs[0])))
      return false;
    set_transposed(node.outputs[0], add_node(node, node.op, inputs, node.attributes));
    return true;
  }

  /// [1, c, 1, 1] or [c, 1, 1].
  static bool is_per_channel(const Shape& shape) {
    return (shape.size() == 4 && shape[0] == 1 && shape[2] == 1 && shape[3] == 1) ||
           (shape.size() == 3 && shape[1] == 1 && shape[2] == 1);
  }

  Graph graph_;
  ChannelsLastForm form_;
  int64_t fewest_filters_;                        ///< fewer are too few for a vector of them
  int64_t convolutions_ = 0, transpositions_ = 0; ///< changed, added
  std::set<ValueId> single_elements_; ///< images of one element: nothing is to be transposed
  std::set<std::string> names_;
  std::map<ValueId, int64_t> readers_;    ///< in the given graph
  std::map<ValueId, ValueId> transposed_; ///< images that are there with their channels last
  std::set<ValueId> is_gone_;             ///< and only so
};

} // namespace

ChannelsLastEffect try_channels_last(Graph graph, ChannelsLastForm form, int64_t fewest_filters) {
  return LayoutChanger(std::move(graph), form, fewest_filters).run();
}

Graph with_channels_last(Graph graph, ChannelsLastForm form) {
  return try_channels_last(std::move(graph), form).graph;
}

} // namespace kawara::graph
