#include "graph/zoo/nets.h"

#include <cmath>

// Nets of a few layers, for lessons: what the passes over a graph do can be read off them.

namespace kawara::graph::zoo {

void add_one_attention(Net& net, const Sizes& sizes) {
  constexpr int64_t hidden = 256, heads = 4;
  const Shape apart{sizes.batch, sizes.sequence, heads, hidden / heads};
  const Piece x = net.input("tokens", DataType::F32, {sizes.batch, sizes.sequence, hidden});
  const Piece root{net.scalar("root", std::sqrt(static_cast<double>(hidden / heads))), {}};
  const auto split = [&](const std::string& name, const std::vector<int64_t>& order) {
    const Piece rows = net.reshape(name + ".heads", net.linear(name, x, hidden), apart);
    return net.transpose(name + ".transposed", rows, order);
  };
  const Piece query = split("query", {0, 2, 1, 3}), key = split("key", {0, 2, 3, 1}),
              value = split("value", {0, 2, 1, 3});
  Piece scores = net.same("Div", "scaled", {net.matmul("scores", query, key), root});
  scores = net.same("Softmax", "weights", {scores}, {{"axis", int64_t{-1}}});
  const Piece mixed =
      net.transpose("mixed.transposed", net.matmul("mixed", scores, value), {0, 2, 1, 3});
  net.output(net.linear("result", net.reshape("joined", mixed, x.shape), hidden));
}

void add_channels_last(Net& net, const Sizes& sizes) {
  Piece x = net.input("image", DataType::F32, {sizes.batch, 32, 32, 16});
  for (int64_t k = 1; k <= 3; ++k) {
    const std::string name = "conv" + std::to_string(k);
    const Piece transposed = net.transpose(name + ".before", x, {0, 3, 1, 2});
    const Piece y = net.conv(name, transposed, 16, {}, 1, false);
    const Piece back = net.transpose(name + ".after", y, {0, 2, 3, 1});
    const Piece shift{net.weight(name + ".shift", {16}, 0.05), {}};
    const Piece sum = net.same("Add", name + ".sum", {back, shift});
    x = net.same("Relu", name + ".relu", {k == 2 ? net.same("Add", "residual", {sum, x}) : sum});
  }
  net.output(x);
}

} // namespace kawara::graph::zoo
