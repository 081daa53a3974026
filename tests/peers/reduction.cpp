#include "peers/maker.h"

#include <algorithm>

namespace kawara::peers {
namespace {

void add_reduction(Maker& m) {
  static const std::vector<std::string> kOps = {
      "ReduceSum", "ReduceMean",   "ReduceMax",       "ReduceMin",
      "ReduceMax", "ReduceMin",    "ReduceProd",      "ReduceL1",
      "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};
  const std::string op = m.word(kOps);
  const Val a = m.chance(70) ? m.floats(0, 4) : m.anything(0, 4);
  Ints axes;
  for (int64_t k = 0; k < a.rank(); ++k)
    if (m.chance(45))
      axes.push_back(m.chance(30) && m.opset() >= 11 ? k - a.rank() : k);
  Attributes attributes;
  if (m.chance(60))
    attributes["keepdims"] = m.pick(2);
  const bool is_operand = m.opset() >= (op == "ReduceSum" ? 13 : 18);
  if (is_operand && m.chance(30))
    attributes["noop_with_empty_axes"] = m.pick(2);
  if (axes.empty() && !(is_operand && m.chance(50))) {
    m.add(op, {a}, attributes);
    return;
  }
  if (is_operand) {
    m.add(op, {a, m.ints(axes)}, attributes);
    return;
  }
  attributes["axes"] = axes;
  m.add(op, {a}, attributes);
}

void add_softmax(Maker& m) {
  const Val a = m.floats(1, 4);
  Attributes attributes;
  if (m.chance(75))
    attributes["axis"] = m.axis_of(a);
  m.add(m.word({"Softmax", "Softmax", "LogSoftmax", "Hardmax"}), {a}, attributes);
}

void add_arg(Maker& m) {
  Val a = m.chance(70) ? m.floats(1, 4) : m.anything(1, 4);
  if (!a.is_exact && m.chance(80))
    a = m.fresh(m.chance(80) ? m.float_type() : m.int_type(), m.shape(1, 4, false));
  Attributes attributes;
  if (m.chance(75))
    attributes["axis"] = m.axis_of(a);
  if (m.chance(50))
    attributes["keepdims"] = m.pick(2);
  if (m.opset() >= 12 && m.chance(40))
    attributes["select_last_index"] = m.pick(2);
  m.add(m.word({"ArgMax", "ArgMin"}), {a}, attributes);
}

void add_cumsum(Maker& m) {
  const Val a = m.anything(1, 3);
  Tensor axis(m.chance(50) ? DataType::I64 : DataType::I32, {});
  axis.set_int(0, m.axis_of(a));
  Attributes attributes;
  if (m.chance(50))
    attributes["exclusive"] = m.pick(2);
  if (m.chance(50))
    attributes["reverse"] = m.pick(2);
  m.add("CumSum", {a, m.chance(25) ? m.given(axis) : m.constant(axis)}, attributes);
}

void add_global_pool(Maker& m) {
  const Val a = m.operand(
      [](const Val& v) { return graph::is_float(v.type()) && v.rank() >= 3 && v.rank() <= 5; },
      m.float_type(), m.shape(3, 5));
  Attributes attributes;
  const std::string op = m.word({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"});
  if (op == "GlobalLpPool" && m.chance(60))
    attributes["p"] = m.between(1, 3);
  m.add(op, {a}, attributes);
}

Val per_channel(Maker& m, const Val& a, Elements kind = {Elements::Kind::Plain, 2}) {
  return m.fresh(a.type(), {a.extent(1)}, kind);
}

void add_normalisation(Maker& m) {
  const Val a = m.floats(2, 4);
  Attributes attributes;
  if (m.chance(60))
    attributes["epsilon"] = m.chance(50) ? 1e-3 : 1e-2;
  switch (m.pick(7)) {
  case 0:
    m.add("BatchNormalization",
          {a, per_channel(m, a), per_channel(m, a), per_channel(m, a),
           per_channel(m, a, {Elements::Kind::Positive, 2})},
          attributes);
    return;
  case 1:
    m.add("InstanceNormalization", {a, per_channel(m, a), per_channel(m, a)}, attributes);
    return;
  case 2:
  case 3: {
    const bool has_no_bias = m.chance(30);
    const int64_t axis = m.axis_of(a);
    attributes["axis"] = axis;
    const Shape tail(a.shape().begin() + (axis < 0 ? axis + a.rank() : axis), a.shape().end());
    const bool is_rms = m.chance(30);
    std::vector<Val> all{a, m.fresh(a.type(), tail, {Elements::Kind::Plain, 2})};
    if (!has_no_bias && !is_rms)
      all.push_back(m.fresh(a.type(), tail, {Elements::Kind::Plain, 2}));
    m.add(is_rms ? "RMSNormalization" : "LayerNormalization", all, attributes,
          is_rms || m.chance(70) ? 1 : 3);
    return;
  }
  case 4: {
    const int64_t groups = m.chance(50) ? a.extent(1) : 1;
    if (m.opset() < 21 || groups == 0)
      return;
    attributes["num_groups"] = groups;
    m.add("GroupNormalization", {a, per_channel(m, a), per_channel(m, a)}, attributes);
    return;
  }
  case 5: {
    Ints axes;
    for (int64_t k = 0; k < a.rank(); ++k)
      if (m.chance(50))
        axes.push_back(k);
    if (axes.empty())
      return;
    m.add("MeanVarianceNormalization", {a}, {{"axes", axes}});
    return;
  }
  default:
    m.add("LpNormalization", {a}, {{"axis", m.axis_of(a)}, {"p", m.between(1, 2)}});
  }
}

void add_lrn(Maker& m) {
  const Val a = m.operand([](const Val& v) { return v.type() == DataType::F32 && v.rank() == 4; },
                          DataType::F32, m.shape(4, 4));
  m.add("LRN", {a},
        {{"size", 2 * m.between(0, 2) + 1},
         {"alpha", m.real(0, 1)},
         {"beta", m.real(0.25, 1)},
         {"bias", m.real(0.5, 2)}});
}

void add_loss(Maker& m) {
  const int64_t classes = m.between(1, 5);
  Shape shape{m.between(1, 3), classes}, target{shape[0]};
  for (int64_t more = m.pick(3); more > 0; --more) {
    shape.push_back(m.between(1, 3));
    target.push_back(shape.back());
  }
  Tensor labels(m.chance(50) ? DataType::I64 : DataType::I32, target);
  for (int64_t k = 0; k < labels.elements(); ++k)
    labels.set_int(k, m.pick(classes));
  Attributes attributes;
  if (m.chance(70))
    attributes["reduction"] = m.word({"none", "sum", "mean"});
  if (m.chance(30))
    attributes["ignore_index"] = m.pick(classes);
  std::vector<Val> all{m.fresh(m.chance(85) ? DataType::F32 : m.float_type(), shape),
                       m.chance(50) ? m.given(labels) : m.constant(labels)};
  if (m.chance(40))
    all.push_back(m.fresh(all[0].type(), {classes}, {Elements::Kind::Positive, 2}));
  if (m.chance(50))
    m.add("NegativeLogLikelihoodLoss", all, attributes);
  else
    m.add("SoftmaxCrossEntropyLoss", all, attributes, m.chance(50) ? 1 : 2);
}

} // namespace

std::vector<Family> reduction_families() {
  return {{"reduction", add_reduction, 5},
          {"softmax", add_softmax, 2},
          {"arg", add_arg, 2},
          {"cumsum", add_cumsum, 1},
          {"global_pool", add_global_pool, 1},
          {"normalisation", add_normalisation, 3},
          {"lrn", add_lrn, 1},
          {"loss", add_loss, 1}};
}

} // namespace kawara::peers
