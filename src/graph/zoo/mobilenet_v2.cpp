#include "graph/zoo/nets.h"

namespace kawara::graph::zoo {
namespace {

struct Relu6 {
  ValueId low, high;
};

Piece clipped_conv(Net& net, const Relu6& relu, const std::string& name, const Piece& x,
                   int64_t channels, Net::Window window, int64_t groups = 1) {
  const Piece y = net.conv(name + ".conv", x, channels, window, groups, false, 1.4);
  const Piece z = net.batch_norm(name + ".norm", y);
  return net.same("Clip", name + ".relu6", {z, {relu.low, {}}, {relu.high, {}}});
}

/// Widened by `expansion`, filtered channel by channel, narrowed again.
Piece inverted_residual(Net& net, const Relu6& relu, const std::string& name, const Piece& x,
                        int64_t expansion, int64_t channels, int64_t stride) {
  const int64_t width = x.channels() * expansion;
  Piece y = x;
  if (expansion != 1)
    y = clipped_conv(net, relu, name + ".expand", y, width, {1, 1, 0});
  y = clipped_conv(net, relu, name + ".depthwise", y, width, {3, stride, 1}, width);
  y = net.conv(name + ".project.conv", y, channels, {1, 1, 0}, 1, false);
  y = net.batch_norm(name + ".project.norm", y, 0.6);
  return stride == 1 && channels == x.channels() ? net.same("Add", name + ".add", {x, y}) : y;
}

} // namespace

void add_mobilenet_v2(Net& net, const Sizes& sizes) {
  struct Stage {
    int64_t expansion, channels, blocks, stride;
  };
  constexpr Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                              {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  Piece x = net.input("image", DataType::F32, {sizes.batch, 3, 224, 224});
  const Relu6 relu{net.scalar("zero", 0), net.scalar("six", 6)};
  x = clipped_conv(net, relu, "stem", x, 32, {3, 2, 1});
  int64_t number = 0;
  for (const Stage& stage : stages)
    for (int64_t k = 0; k < stage.blocks; ++k)
      x = inverted_residual(net, relu, "block" + std::to_string(number++), x, stage.expansion,
                            stage.channels, k == 0 ? stage.stride : 1);
  x = clipped_conv(net, relu, "head", x, 1280, {1, 1, 0});
  x = net.flatten("flatten", net.global_average_pool("pool", x));
  net.output(net.gemm("classes", x, 1000));
}

} // namespace kawara::graph::zoo
