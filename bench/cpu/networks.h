#pragma once

#include "cpu/case.h"

namespace kawara::bench {

/// The convolutions of a network in the order in which it runs them, repeats included.
struct Network {
  std::string name;
  std::vector<Conv> convolutions;
};

/// 53 convolutions for an image of 224 x 224; the stride of a stage is on its first 3x3.
Network resnet50();

/// 52 convolutions for an image of 224 x 224, width multiplier 1.
Network mobilenet_v2();

} // namespace kawara::bench
