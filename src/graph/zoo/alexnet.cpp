#include "graph/zoo/nets.h"

namespace kawara::graph::zoo {
namespace {

constexpr double kRectifierGain = 1.4; // Relu halves the mean square

Piece rectified_conv(Net& net, const std::string& name, const Piece& x, int64_t channels,
                     Net::Window window, int64_t groups) {
  const Piece y = net.conv(name, x, channels, window, groups, true, kRectifierGain);
  return net.same("Relu", name + ".relu", {y});
}

Piece local_norm(Net& net, const std::string& name, const Piece& x) {
  return net.same("LRN", name, {x},
                  {{"size", int64_t{5}}, {"alpha", 1e-4}, {"beta", 0.75}, {"bias", 1.0}});
}

} // namespace

/// The net of 2012: two halves in some layers, and normalisation over neighbouring channels.
void add_alexnet(Net& net, const Sizes& sizes) {
  Piece x = net.input("image", DataType::F32, {sizes.batch, 3, 227, 227});
  x = rectified_conv(net, "conv1", x, 96, {11, 4, 0}, 1);
  x = net.max_pool("pool1", local_norm(net, "norm1", x), {3, 2, 0});
  x = rectified_conv(net, "conv2", x, 256, {5, 1, 2}, 2);
  x = net.max_pool("pool2", local_norm(net, "norm2", x), {3, 2, 0});
  x = rectified_conv(net, "conv3", x, 384, {3, 1, 1}, 1);
  x = rectified_conv(net, "conv4", x, 384, {3, 1, 1}, 2);
  x = rectified_conv(net, "conv5", x, 256, {3, 1, 1}, 2);
  x = net.flatten("flatten", net.max_pool("pool5", x, {3, 2, 0}));
  x = net.same("Relu", "dense1.relu", {net.gemm("dense1", x, 4096, kRectifierGain)});
  x = net.same("Relu", "dense2.relu", {net.gemm("dense2", x, 4096, kRectifierGain)});
  net.output(net.gemm("classes", x, 1000));
}

} // namespace kawara::graph::zoo
