#include "cpu/networks.h"

namespace kawara::bench {
namespace {

/// Appends convolutions to a network and follows the shape of the image.
class Builder {
public:
  Builder(std::string name, int64_t channels, int64_t size)
      : network_{std::move(name), {}}, channels_(channels), size_(size) {}

  int64_t channels() const { return channels_; }

  /// Same size of the image, divided by the stride.
  Builder& conv(int64_t filters, int64_t window, int64_t stride = 1, bool is_depthwise = false) {
    const Conv c{channels_, size_, filters, window, stride, window / 2, is_depthwise};
    network_.convolutions.push_back(c);
    channels_ = filters;
    size_ = c.out_size();
    return *this;
  }
  /// A convolution beside the path: the image stays what it was.
  Builder& branch(int64_t filters, int64_t window, int64_t stride) {
    network_.convolutions.push_back({channels_, size_, filters, window, stride, window / 2, false});
    return *this;
  }
  Builder& halve() {
    size_ /= 2;
    return *this;
  }
  Network done() { return std::move(network_); }

private:
  Network network_;
  int64_t channels_, size_;
};

} // namespace

Network resnet50() {
  Builder b("ResNet-50", 3, 224);
  b.conv(64, 7, 2).halve(); // the max-pool
  struct Stage {
    int64_t width, blocks, stride;
  };
  for (const Stage stage : {Stage{64, 3, 1}, Stage{128, 4, 2}, Stage{256, 6, 2}, Stage{512, 3, 2}})
    for (int64_t block = 0; block < stage.blocks; ++block) {
      const int64_t stride = block == 0 ? stage.stride : 1;
      if (block == 0)
        b.branch(4 * stage.width, 1, stride);
      b.conv(stage.width, 1).conv(stage.width, 3, stride).conv(4 * stage.width, 1);
    }
  return b.done();
}

Network mobilenet_v2() {
  Builder b("MobileNetV2", 3, 224);
  b.conv(32, 3, 2);
  struct Stage {
    int64_t expansion, filters, blocks, stride;
  };
  for (const Stage stage :
       {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
        Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}})
    for (int64_t block = 0; block < stage.blocks; ++block) {
      if (stage.expansion > 1)
        b.conv(stage.expansion * b.channels(), 1);
      b.conv(b.channels(), 3, block == 0 ? stage.stride : 1, true).conv(stage.filters, 1);
    }
  b.conv(1280, 1);
  return b.done();
}

} // namespace kawara::bench
