#include "peers/maker.h"

#include <algorithm>

namespace kawara::peers {
namespace {

struct Net {
  std::string op;
  int64_t gates = 1;
  size_t results = 2, activations = 1; ///< of one direction
};

/// Names, with their parameters where they have some.
void add_activations(Maker& m, const Net& net, int64_t directions, Attributes& attributes) {
  std::vector<std::string> names;
  std::vector<double> alphas, betas;
  for (int64_t k = 0; k < directions * static_cast<int64_t>(net.activations); ++k) {
    names.push_back(m.word({"Tanh", "Sigmoid", "Relu", "HardSigmoid", "LeakyRelu", "Softsign",
                            "Softplus", "Elu", "ThresholdedRelu", "Affine", "ScaledTanh"}));
    const std::string& name = names.back();
    if (name == "HardSigmoid" || name == "Affine" || name == "ScaledTanh") {
      alphas.push_back(m.real(0.125, 1));
      betas.push_back(m.real(0.125, 1));
    } else if (name == "LeakyRelu" || name == "Elu" || name == "ThresholdedRelu") {
      alphas.push_back(m.real(0.125, 1));
    }
  }
  attributes["activations"] = names;
  if (!alphas.empty())
    attributes["activation_alpha"] = alphas;
  if (!betas.empty())
    attributes["activation_beta"] = betas;
}

void add_recurrent(Maker& m) {
  const std::vector<Net> nets = {{"RNN", 1, 2, 1}, {"GRU", 3, 2, 2}, {"LSTM", 4, 3, 3}};
  const Net net = m.one_of(nets);
  const int64_t steps = m.between(1, 4), batch = m.between(1, 3), size = m.between(1, 5),
                hidden = m.between(1, 5);
  const std::string direction = m.word({"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  Attributes attributes{{"hidden_size", hidden}};
  if (direction != "forward" || m.chance(50))
    attributes["direction"] = direction;
  if (m.chance(35))
    add_activations(m, net, directions, attributes);
  if (m.chance(15))
    attributes["clip"] = m.real(0.5, 3);
  if (net.op == "GRU" && m.chance(40))
    attributes["linear_before_reset"] = m.pick(2);
  if (net.op == "LSTM" && m.chance(15))
    attributes["input_forget"] = m.pick(2);
  const DataType type = m.chance(93) ? DataType::F32 : m.float_type();
  const Elements plain{Elements::Kind::Plain, 1};
  const Val none;
  std::vector<Val> all{m.of(type, {steps, batch, size}),
                       m.fresh(type, {directions, net.gates * hidden, size}, plain),
                       m.fresh(type, {directions, net.gates * hidden, hidden}, plain)};
  all.push_back(m.chance(60) ? m.fresh(type, {directions, 2 * net.gates * hidden}, plain) : none);
  if (m.chance(25)) {
    Tensor lengths(DataType::I32, {batch});
    for (int64_t k = 0; k < batch; ++k)
      lengths.set_int(k, m.between(1, steps));
    all.push_back(m.chance(50) ? m.given(lengths) : m.constant(lengths));
  } else {
    all.push_back(none);
  }
  all.push_back(m.chance(50) ? m.fresh(type, {directions, batch, hidden}, plain) : none);
  if (net.op == "LSTM") {
    all.push_back(m.chance(50) ? m.fresh(type, {directions, batch, hidden}, plain) : none);
    if (m.chance(25))
      all.push_back(m.fresh(type, {directions, 3 * hidden}, plain));
  }
  while (all.back().id == kAbsent)
    all.pop_back();
  m.add(net.op, all, attributes, m.chance(40) ? 1 : net.results);
}

} // namespace

std::vector<Family> recurrent_families() { return {{"recurrent", add_recurrent, 3}}; }

} // namespace kawara::peers
