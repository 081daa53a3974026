#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

#include <algorithm>
#include <cmath>

namespace kawara::graph::optimise {
namespace {

/// y = x * scale + shift for each channel; one entry stands for all channels.
struct Affine {
  std::vector<double> scale{1}, shift{0};
  double scale_of(size_t c) const { return scale[scale.size() == 1 ? 0 : c]; }
  double shift_of(size_t c) const { return shift[shift.size() == 1 ? 0 : c]; }
};

/// One number for each of `channels` in dimension 1 of `rank`, or one for all of them.
std::optional<std::vector<double>> per_channel(const Tensor* tensor, int64_t rank,
                                               int64_t channels) {
  if (!tensor || !is_float(tensor->type()) || tensor->rank() > rank)
    return std::nullopt;
  const int64_t missing = rank - tensor->rank();
  for (int64_t d = 0; d < tensor->rank(); ++d) {
    const int64_t extent = tensor->shape()[static_cast<size_t>(d)];
    if (extent != 1 && (d + missing != 1 || extent != channels))
      return std::nullopt;
  }
  std::vector<double> values;
  for (int64_t k = 0; k < tensor->elements(); ++k)
    values.push_back(tensor->get_double(k));
  return values;
}

std::optional<Affine> affine_of_normalization(const Edit& edit, const Node& node,
                                              int64_t channels) {
  if (node.inputs.size() != 5 || integer_of(node, "training_mode", 0) != 0 ||
      version_of(edit.graph()) < 7 || (node.outputs.size() > 1 && node.outputs[1] != kAbsent))
    return std::nullopt;
  const Tensor* given[4];
  for (size_t k = 0; k < 4; ++k) {
    given[k] = edit.constant(node.inputs[k + 1]);
    if (!given[k] || given[k]->elements() != channels)
      return std::nullopt;
  }
  Affine affine{{}, {}};
  const double epsilon = real_of(node, "epsilon", 1e-5);
  for (int64_t c = 0; c < channels; ++c) {
    const double scale = given[0]->get_double(c) / std::sqrt(given[3]->get_double(c) + epsilon);
    affine.scale.push_back(scale);
    affine.shift.push_back(given[1]->get_double(c) - given[2]->get_double(c) * scale);
  }
  return affine;
}

/// The node as such a function of `x`, which has that rank and those channels.
std::optional<Affine> affine_of(const Edit& edit, const Node& node, ValueId x, int64_t rank,
                                int64_t channels) {
  if (is_op(node, "BatchNormalization") && node.inputs[0] == x)
    return affine_of_normalization(edit, node, channels);
  const bool is_product = is_op(node, "Mul"), is_sum = is_op(node, "Add"),
             is_quotient = is_op(node, "Div"), is_difference = is_op(node, "Sub");
  if (!(is_product || is_sum || is_quotient || is_difference) || node.inputs.size() != 2 ||
      version_of(edit.graph()) < 7)
    return std::nullopt;
  const bool is_first = node.inputs[0] == x;
  if (!is_first && (is_quotient || is_difference))
    return std::nullopt;
  auto values = per_channel(edit.constant(node.inputs[is_first ? 1 : 0]), rank, channels);
  if (!values)
    return std::nullopt;
  for (double& value : *values)
    value = is_quotient ? 1 / value : is_difference ? -value : value;
  Affine affine;
  (is_product || is_quotient ? affine.scale : affine.shift) = *std::move(values);
  return affine;
}

/// Weights and bias of a Conv or ConvTranspose, both constants.
struct Weights {
  Tensor weight, bias;
  int64_t groups = 1, filters = 1, rank = 4;
  bool is_transposed = false;

  /// Neighbouring elements of `weight` that belong to the same filter.
  int64_t run() const {
    const Shape& s = weight.shape();
    int64_t elements = is_transposed ? 1 : s[1];
    for (size_t k = 2; k < s.size(); ++k)
      elements *= s[k];
    return elements;
  }
  /// The filter that an element of `weight` belongs to.
  int64_t filter_of(int64_t element) const {
    const Shape& s = weight.shape();
    int64_t rest = 1;
    for (size_t k = 2; k < s.size(); ++k)
      rest *= s[k];
    const int64_t first = element / (rest * s[1]), second = element / rest % s[1];
    return is_transposed ? first / (s[0] / groups) * s[1] + second : first;
  }
};

std::optional<Weights> weights_of(const Edit& edit, const Node& node) {
  Weights w;
  w.is_transposed = is_op(node, "ConvTranspose");
  if ((!w.is_transposed && !is_op(node, "Conv")) || node.inputs.size() < 2)
    return std::nullopt;
  const Tensor* weight = edit.constant(node.inputs[1]);
  if (!weight || weight->rank() < 3 ||
      (weight->type() != DataType::F32 && weight->type() != DataType::F64))
    return std::nullopt;
  w.groups = integer_of(node, "group", 1);
  w.rank = weight->rank();
  if (w.groups < 1 || weight->elements() == 0 || weight->shape()[0] % w.groups != 0)
    return std::nullopt;
  w.filters = w.is_transposed ? weight->shape()[1] * w.groups : weight->shape()[0];
  w.weight = *weight;
  w.bias = Tensor(weight->type(), {w.filters});
  if (node.inputs.size() > 2 && node.inputs[2] != kAbsent) {
    const Tensor* bias = edit.constant(node.inputs[2]);
    if (!bias || bias->elements() != w.filters)
      return std::nullopt;
    w.bias = *bias;
  }
  return w;
}

template <class T> void scale_filters(const Weights& w, const Affine& f, Tensor& scaled) {
  const T* from = w.weight.as<T>();
  T* to = scaled.as<T>();
  const int64_t run = w.run();
  for (int64_t begin = 0; begin < scaled.elements(); begin += run) {
    const double scale = f.scale_of(static_cast<size_t>(w.filter_of(begin)));
    for (int64_t k = begin; k < begin + run; ++k)
      to[k] = static_cast<T>(static_cast<double>(from[k]) * scale);
  }
}

/// The convolution followed by the function.
void apply_after(Weights& w, const Affine& f) {
  Tensor weight(w.weight.type(), w.weight.shape()), bias(w.bias.type(), w.bias.shape());
  if (weight.type() == DataType::F32)
    scale_filters<float>(w, f, weight);
  else
    scale_filters<double>(w, f, weight);
  for (int64_t c = 0; c < w.filters; ++c)
    bias.set_double(c, w.bias.get_double(c) * f.scale_of(static_cast<size_t>(c)) +
                           f.shift_of(static_cast<size_t>(c)));
  w.weight = weight;
  w.bias = bias;
}

bool is_finite(const Affine& f) {
  for (const auto* values : {&f.scale, &f.shift})
    for (const double value : *values)
      if (!std::isfinite(value))
        return false;
  return true;
}

/// Takes the only reader of convolution `n` into it.
bool fold_reader(Edit& edit, size_t n) {
  const ValueId result = edit.node(n).outputs[0];
  const auto weights = weights_of(edit, edit.node(n));
  if (!weights || !edit.is_private(result))
    return false;
  const size_t reader = edit.readers(result).front();
  const auto affine = affine_of(edit, edit.node(reader), result, weights->rank, weights->filters);
  if (!affine || !is_finite(*affine))
    return false;
  Weights w = *weights;
  apply_after(w, *affine);
  Node folded = edit.node(n);
  folded.outputs = {edit.node(reader).outputs[0]};
  folded.inputs.resize(3, kAbsent);
  folded.inputs[1] = edit.add_constant(folded.name + ".weight", w.weight);
  folded.inputs[2] = edit.add_constant(folded.name + ".bias", w.bias);
  edit.remove(reader);
  edit.set(n, std::move(folded));
  return true;
}

bool is_unpadded(const Node& node) {
  for (const int64_t pad : integers_of(node, "pads"))
    if (pad != 0)
      return false;
  const std::string mode = word_of(node, "auto_pad", "NOTSET");
  return mode == "NOTSET" || mode == "VALID";
}

/// Has the operand that many channels, or is it stretched to them by the constants?
bool has_channels(const Edit& edit, const Node& node, size_t operand, const Affine& affine,
                  int64_t channels) {
  if (is_op(node, "BatchNormalization") || (affine.scale.size() == 1 && affine.shift.size() == 1))
    return true;
  const auto& shape = edit.graph().values[node.inputs[operand]].type.shape;
  return shape && shape->size() > 1 && (*shape)[1].size == channels;
}

/// Takes what makes the image of convolution `n`, if only it reads that, into it. A shift would
/// have to reach the padding, too, so it needs an unpadded convolution.
bool fold_maker(Edit& edit, size_t n) {
  const Node& conv = edit.node(n);
  const auto weights = weights_of(edit, conv);
  if (!weights || weights->is_transposed || !edit.is_private(conv.inputs[0]))
    return false;
  const auto maker = edit.maker(conv.inputs[0]);
  if (!maker)
    return false;
  const Node& before = edit.node(*maker);
  const Shape& s = weights->weight.shape();
  const int64_t channels = s[1] * weights->groups;
  std::optional<Affine> affine;
  size_t operand = 0;
  for (size_t k = 0; k < before.inputs.size() && k < 2 && !affine; ++k)
    if (before.inputs[k] != kAbsent && !edit.constant(before.inputs[k])) {
      affine = affine_of(edit, before, before.inputs[k], weights->rank, channels);
      operand = k;
    }
  if (!affine || !is_finite(*affine) || !has_channels(edit, before, operand, *affine, channels))
    return false;
  const bool has_shift = std::any_of(affine->shift.begin(), affine->shift.end(),
                                     [](double value) { return value != 0; });
  if (has_shift && !is_unpadded(conv))
    return false;
  Tensor weight(weights->weight.type(), s), bias(weights->bias.type(), weights->bias.shape());
  std::vector<double> shifts(static_cast<size_t>(weights->filters));
  int64_t rest = 1;
  for (size_t k = 2; k < s.size(); ++k)
    rest *= s[k];
  for (int64_t k = 0; k < weight.elements(); ++k) {
    const int64_t filter = weights->filter_of(k);
    const auto channel =
        static_cast<size_t>(filter / (weights->filters / weights->groups) * s[1] + k / rest % s[1]);
    const double old = weights->weight.get_double(k);
    weight.set_double(k, old * affine->scale_of(channel));
    shifts[static_cast<size_t>(filter)] += old * affine->shift_of(channel);
  }
  for (int64_t c = 0; c < weights->filters; ++c)
    bias.set_double(c, weights->bias.get_double(c) + shifts[static_cast<size_t>(c)]);
  Node folded = conv;
  folded.inputs.resize(3, kAbsent);
  folded.inputs[0] = before.inputs[operand];
  folded.inputs[1] = edit.add_constant(folded.name + ".weight", weight);
  folded.inputs[2] = edit.add_constant(folded.name + ".bias", bias);
  edit.remove(*maker);
  edit.set(n, std::move(folded));
  return true;
}

} // namespace

Graph fold_affine(Graph graph, const Evaluate&) {
  Edit edit(std::move(graph));
  for (size_t n = 0; n < edit.nodes(); ++n) {
    if (edit.is_removed(n) || edit.node(n).outputs.empty() || edit.node(n).outputs[0] == kAbsent)
      continue;
    while (fold_reader(edit, n) || fold_maker(edit, n)) {}
  }
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
