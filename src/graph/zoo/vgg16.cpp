#include "graph/zoo/nets.h"

namespace kawara::graph::zoo {

void add_vgg16(Net& net, const Sizes& sizes) {
  constexpr double gain = 1.4; // Relu halves the mean square
  constexpr int64_t convolutions[] = {2, 2, 3, 3, 3};
  constexpr int64_t channels[] = {64, 128, 256, 512, 512};
  Piece x = net.input("image", DataType::F32, {sizes.batch, 3, 224, 224});
  for (size_t stage = 0; stage < 5; ++stage) {
    const std::string name = "stage" + std::to_string(stage + 1);
    for (int64_t k = 0; k < convolutions[stage]; ++k) {
      const std::string layer = name + ".conv" + std::to_string(k + 1);
      x = net.conv(layer, x, channels[stage], {3, 1, 1}, 1, true, gain);
      x = net.same("Relu", layer + ".relu", {x});
    }
    x = net.max_pool(name + ".pool", x, {2, 2, 0});
  }
  x = net.flatten("flatten", x);
  x = net.same("Relu", "dense1.relu", {net.gemm("dense1", x, 4096, gain)});
  x = net.same("Relu", "dense2.relu", {net.gemm("dense2", x, 4096, gain)});
  net.output(net.gemm("classes", x, 1000));
}

} // namespace kawara::graph::zoo
