#include "graph/zoo/nets.h"

namespace kawara::graph::zoo {
namespace {

Piece normalized_conv(Net& net, const std::string& name, const Piece& x, int64_t channels,
                      Net::Window window, double scale = 1) {
  const Piece y = net.conv(name + ".conv", x, channels, window, 1, false, 1.4);
  return net.batch_norm(name + ".norm", y, scale);
}

Piece bottleneck(Net& net, const std::string& name, const Piece& x, int64_t width, int64_t stride) {
  constexpr int64_t expansion = 4;
  Piece y =
      net.same("Relu", name + ".relu1", {normalized_conv(net, name + ".1", x, width, {1, 1, 0})});
  y = net.same("Relu", name + ".relu2",
               {normalized_conv(net, name + ".2", y, width, {3, stride, 1})});
  // Small, so that sums along the shortcuts do not grow.
  y = normalized_conv(net, name + ".3", y, width * expansion, {1, 1, 0}, 0.3);
  Piece shortcut = x;
  if (x.channels() != width * expansion || stride != 1)
    shortcut = normalized_conv(net, name + ".shortcut", x, width * expansion, {1, stride, 0}, 0.7);
  return net.same("Relu", name + ".relu3", {net.same("Add", name + ".add", {y, shortcut})});
}

} // namespace

void add_resnet50(Net& net, const Sizes& sizes) {
  Piece x = net.input("image", DataType::F32, {sizes.batch, 3, 224, 224});
  x = net.same("Relu", "stem.relu", {normalized_conv(net, "stem", x, 64, {7, 2, 3})});
  x = net.max_pool("stem.pool", x, {3, 2, 1});
  constexpr int64_t blocks[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage)
    for (int64_t k = 0; k < blocks[stage]; ++k) {
      const std::string name = "stage" + std::to_string(stage + 1) + "." + std::to_string(k);
      x = bottleneck(net, name, x, int64_t{64} << stage, stage > 0 && k == 0 ? 2 : 1);
    }
  x = net.flatten("flatten", net.global_average_pool("pool", x));
  net.output(net.gemm("classes", x, 1000));
}

} // namespace kawara::graph::zoo
